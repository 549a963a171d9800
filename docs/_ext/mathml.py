"""Formulas as MathML, which browsers draw themselves: no script has to be fetched."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.math import wrap_displaymath


def inline(self: Any, node: nodes.math) -> None:
    self.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    text = wrap_displaymath(node.astext(), None, False) if r"\\" in node.astext() else node.astext()
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(tex2mathml(text.strip(), as_block=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
