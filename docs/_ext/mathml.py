"""Formulas as MathML, which browsers draw themselves: no script has to be fetched."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging


def converted(node: nodes.Element, as_block: bool) -> str:
    try:
        return str(tex2mathml(node.astext().strip(), as_block=as_block))
    except MathError as reason:
        logging.getLogger(__name__).warning("%s", reason, location=node)
        return f"<code>{node.astext()}</code>"


def inline(self: Any, node: nodes.math) -> None:
    self.body.append(converted(node, as_block=False))
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(converted(node, as_block=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
