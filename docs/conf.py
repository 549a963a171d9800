"""How the site is built: ``make docs``. Offline: no script, font or inventory is fetched."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

import leftout  # noqa: E402

project = "leftout"
author = "the leftout contributors"
copyright = "the leftout contributors"
version = release = leftout.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "examples/*.ipynb", "examples/*.py", "examples/*.md5"]
root_doc = "index"
nitpicky = False

# Pages are Markdown. GitHub shows the same files: headings are anchors there, too.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Every public name has a page of its own: docs/api/index.rst lists them.
autosummary_generate = True
autodoc_typehints = "none"  # docstrings say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = "leftout"
html_static_path = ["_static"]
html_css_files = ["leftout.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "leftout"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"install": [], "quickstart": [], "glossary": [], "changelog": []}

# Examples that need tables which are not part of the package are shown without being run where
# these are not found; nothing else takes their place.
DATA = Path(os.environ.get("LEFTOUT_DATA", HERE.parents[1] / "shared" / "data"))
NEEDED = {
    "students": "students_dropout.csv.gz",
    "paper": "students_dropout.csv.gz",
    "faces": "cmu_faces_32x30.csv.gz",
}
os.environ["LEFTOUT_DATA"] = str(DATA)  # examples are run in their own folder
absent = [name for name, file in NEEDED.items() if not (DATA / file).exists()]
if absent:
    print(
        f"Examples shown but not run: {', '.join(absent)}. Their tables are not in {DATA}; set "
        "LEFTOUT_DATA to the folder that has them."
    )
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "filename_pattern": rf"/(?!({'|'.join(absent) or '_'})\.py)\w+\.py$",
    "within_subsection_order": "gallery.Order",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "image_scrapers": ("matplotlib",),
    "default_thumb_file": str(HERE / "report.png"),
    "plot_gallery": os.environ.get("LEFTOUT_GALLERY", "1") != "0",
}
