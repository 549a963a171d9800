"""Take the picture of the report that README shows: ``make picture``.

Audits the demo table, opens the report in Debian's Chromium and takes what a reader sees first.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import leftout

HERE = Path(__file__).parent


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("There is no chromium; on Debian: apt-get install chromium")
    table = leftout.datasets.load_demo()
    found = leftout.audit(
        table, target="approve", positive=1, dictionary=leftout.datasets.demo_dictionary(),
        n_restarts=10, n_jobs=-1,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = found.to_html(Path(folder) / "report.html")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1100, "height": 1240}, device_scale_factor=1.25)
        tab.goto(page.as_uri())
        tab.screenshot(path=HERE / "report.png")
        browser.close()
    image = HERE / "report.png"
    _smaller(image)
    print(f"{image.name}: {image.stat().st_size / 1e3:.0f} kB")


def _smaller(image: Path) -> None:
    """A picture of text needs few colours."""
    from PIL import Image

    Image.open(image).convert("RGB").quantize(128).save(image, optimize=True)


if __name__ == "__main__":
    main()
