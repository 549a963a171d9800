"""Pages and figures as text: every cell with the name of its column, every bar with its own."""

from __future__ import annotations

from html.parser import HTMLParser

from matplotlib.colors import to_hex
from matplotlib.container import BarContainer

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
            self.text += f" [{given['class']}, {given['style']}] "
        elif given.get("class", "").split()[:1] in (["left"], ["status"]):
            self.text += f"[{given['class']}] "
        elif tag == "span":
            self.text += " "
        elif tag == "td" and given.get("style"):
            looks = {"font-weight: 600": "[bold] ", "font-style: italic": "[italic] "}
            self.text += "".join(mark for look, mark in looks.items() if look in given["style"])
            self.text += f"[{given['title']}] " if "title" in given else ""
        elif tag == "svg":
            self.text += f"[{given['aria-labelledby']}] "

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


def drawn(ax):
    """Everything on an axis that carries a number or a name, as lines of text."""
    lines = [f"title: {ax.get_title()}", f"x: {ax.get_xlabel()}", f"y: {ax.get_ylabel()}"]
    lines += [f"x from {_number(ax.get_xlim()[0])} to {_number(ax.get_xlim()[1])}"]
    if ax.get_xscale() != "linear":
        lines += [f"{ax.get_xscale()} x: {[label.get_text() for label in ax.get_xticklabels()]}"]
    names = {}
    if any(label.get_text() for label in ax.get_yticklabels()) and ax.yaxis_inverted():
        places = ax.get_yticks().tolist()
        names = dict(zip(places, [t.get_text() for t in ax.get_yticklabels()], strict=True))
    for container in ax.containers:
        if not isinstance(container, BarContainer):
            continue
        lines.append(f"bars{_label(container)}:")
        for bar in container:
            if names:
                name = names[round(bar.get_y() + bar.get_height() / 2)]
                lines.append(f"  {name}: {_number(bar.get_width())} {to_hex(bar.get_facecolor())}")
            else:
                at, height = bar.get_x() + bar.get_width() / 2, bar.get_height()
                lines.append(f"  {_number(at)}: {_number(height)} {to_hex(bar.get_facecolor())}")
    for line in ax.lines:
        x, y = (list(map(_number, data)) for data in line.get_data())
        points = " ".join(f"({a}, {b})" for a, b in zip(x, y, strict=True))
        style = f"{to_hex(line.get_color())} {line.get_linestyle()}"
        lines.append(f"line{_label(line)}, {style}: {points}")
    for each in ax.collections:
        if hasattr(each, "get_offsets") and len(each.get_offsets()) > 1:
            points = [tuple(map(_number, point)) for point in each.get_offsets()]
        else:
            points = [tuple(map(_number, p)) for path in each.get_paths() for p in path.vertices]
        faces = each.get_facecolor()
        colour = to_hex(faces[0] if len(faces) else each.get_edgecolor()[0])
        lines.append(
            f"points{_label(each)}, {colour}: " + " ".join(f"({a}, {b})" for a, b in points)
        )
    for image in ax.images:
        low, high = image.get_clim()
        lines.append(f"image, {image.get_cmap().name} from {low:g} to {high:g}:")
        lines += ["  " + " ".join(map(_number, row)) for row in image.get_array()]
        lines.append(f"  bar: {image.colorbar.ax.get_ylabel()}")
    for table in ax.tables:
        cells = table.get_celld()
        for row in sorted({row for row, _ in cells}):
            texts = [
                cell.get_text().get_text() for (r, _), cell in sorted(cells.items()) if r == row
            ]
            lines.append("  " + " | ".join(texts))
    lines += [f"text: {text.get_text()}" for text in ax.texts]
    legend = ax.get_legend()
    if legend is not None:
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            lines.append(f"legend: {text.get_text()}, {_colour(handle)}")
    return lines


def _label(artist):
    label = str(artist.get_label())
    return "" if label.startswith("_") else f" {label!r}"


def _colour(handle):
    for ask in ("get_facecolor", "get_color"):
        if hasattr(handle, ask):
            colour = getattr(handle, ask)()
            if not len(colour):  # bars of errors have no face
                continue
            return to_hex(colour[0] if getattr(colour, "ndim", 1) == 2 else colour)


def _number(value):
    return f"{round(float(value), 9) + 0.0:.6g}"
