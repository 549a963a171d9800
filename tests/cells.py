"""Pages as text: every cell with the name of its column, every bar with its length."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = ("meta", "link", "br", "img")
HEADS = ("h1", "h2", "h3", "caption", "figcaption", "dt")
BLOCKS = (*HEADS, "title", "p", "li", "summary", "dd", "pre")
SKIPPED = ("style", "script")


class Page(HTMLParser):
    """The text of a page: ``lines`` as read from the top, and the ``numbers`` behind the cells."""

    def __init__(self, text):
        super().__init__()
        self.lines, self.numbers, self.open = [], [], []
        self.text, self.heads, self.cells = "", [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        if tag in VOID:
            return
        self.open.append((tag, given))
        if tag == "table":
            self.heads = []
        elif tag == "tr":
            self.cells = []
        if tag in BLOCKS or tag in ("td", "th", "div", "section", "tr"):
            self._end_line()
        if given.get("class", "").startswith("key "):
            self.text += f" [{given['class']}] "
        elif {"fill", "mark"} & set(given.get("class", "").split()):
            at = f"left: {given['x']}" if given["class"] == "mark" else f"width: {given['width']}"
            self.text += f" [{given['class']}, {at}] "
        elif given.get("class", "").split()[:1] in (["left"], ["status"]):
            self.text += f"[{given['class']}] "
        elif tag == "span":
            self.text += " "
        elif tag == "td" and given.get("style"):
            looks = {"font-weight: 600": "[bold] ", "font-style: italic": "[italic] "}
            self.text += "".join(mark for look, mark in looks.items() if look in given["style"])
            self.text += f"[{given['title']}] " if "title" in given else ""

    def handle_data(self, data):
        if not any(tag in SKIPPED for tag, _ in self.open):
            self.text += data

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        opened, given = self.open.pop()
        assert opened == tag, f"</{tag}> ends <{opened}>"
        if tag in ("th", "td"):
            cell = self._taken()
            if tag == "th" and given.get("scope") == "col":
                self.heads.append(cell)
            else:
                self.cells.append(cell)
            if "data-value" in given:
                self.numbers.append((cell, given["data-value"]))
        elif tag == "tr" and self.cells:
            heads = self.heads or [""] * len(self.cells)
            assert len(heads) == len(self.cells), (heads, self.cells)
            pairs = zip(heads, self.cells, strict=True)
            named = [f"{head}: {cell}" if head else cell for head, cell in pairs]
            self.lines.append("  " + " | ".join(named))
        elif tag == "summary":
            parent = self.open[-1][1]
            self.text = f"[{'open' if 'open' in parent else 'closed'}] {self.text}"
            self._end_line(tag)
        elif tag in BLOCKS:
            self._end_line(tag)
        elif tag in ("div", "section"):
            self._end_line()

    def _taken(self):
        text, self.text = " ".join(self.text.split()), ""
        return text

    def _end_line(self, tag=""):
        text = self._taken()
        if text:
            mark = f"{tag} " if tag in HEADS else ""
            self.lines.append(f"{mark}{text}")
