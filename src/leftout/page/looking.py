"""A process that looks at a table, before anybody audits it: ``columns.json``, or a sentence.

``python -m leftout.page.looking`` in the folder of an audit; what is asked comes as JSON on its
standard input.
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

from leftout.data.files.guards import check_size, sheets_of
from leftout.errors import InputError, asked_by, in_python
from leftout.files import plain, write_whole
from leftout.page.columns import Columns
from leftout.page.limits import Limits
from leftout.page.processes import bound_to_server
from leftout.text import shortened, shown

_REFUSED, _FOUND = 2, "columns.json"
# Parameters as the page calls them.
_CALLED = {
    "drop": "'leave out'", "categorical": "'codes or categories'", "numeric": "'numbers'",
    "sensitive": "'sensitive'", "target": "'outcome'", "missing": "'values that stand for nothing'",
}  # fmt: skip


def look(file: str | None, name: str, sheet: str | None, limits: Limits) -> dict[str, Any]:
    """Everything the page shows of a table; None is the demo's.

    Of a workbook with several sheets, where none is chosen yet, these alone: the first may be a
    cover. They stay to choose from if the chosen one is refused.
    """
    sheets: list[str] = []
    if file is not None and file.endswith(".xlsx"):
        sheets = sheets_of(Path(file).read_bytes(), shortened(shown(repr(name))))
        if len(sheets) > 1:
            only = asdict(Columns(0, 0, 0, [], [], sheets))
            if sheet is None:
                return only
            write_whole(_FOUND, json.dumps(only))
    _tell("reading the table", 0.1)
    from leftout.data.reading import Source
    from leftout.page.profile import profiled

    dictionary: Any = None
    if file is None:
        from leftout.datasets import demo_dictionary, load_demo

        try:
            source, dictionary = Source(load_demo()), demo_dictionary()
        except ImportError as error:
            raise InputError(str(error)) from error
    else:
        source = Source.of(file, sheet, name, limits)
        rows, columns = source.table.shape
        check_size(rows, columns, repr(name), limits)
    _check_names(source.table)
    _tell("looking at the columns", 0.6)
    return plain({**profiled(source, dictionary), "sheets": sheets})


def _check_names(table: Any) -> None:
    for name in table.columns:
        if "\0" in str(name) or not str(name).isascii() and _broken(str(name)):
            raise InputError(
                f"The column {str(name)!r} has a name that cannot be written on a command line. "
                "Rename it."
            )


def _broken(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return True
    return False


def _tell(what: str, share: float) -> None:
    print(json.dumps({"event": "progress", "what": what, "share": share}), flush=True)


def main(asked: dict[str, Any]) -> None:
    warnings.filterwarnings("ignore", module="openpyxl")  # on what it leaves aside
    try:
        with asked_by(_in_page):
            found = look(asked["file"], asked["name"], asked["sheet"], Limits(**asked["limits"]))
    except InputError as error:
        sys.exit(_refused(" ".join(str(error).split())))
    except (MemoryError, RecursionError):
        sys.exit(_refused("The table is too large for this machine's memory. Keep a part of it."))
    try:
        write_whole(_FOUND, json.dumps(found))
    except OSError as error:
        sys.exit(_refused(f"What was read cannot be kept: {error.strerror}. Make room, try again."))


def _in_page(name: str, *value: Any) -> str:
    """A parameter, as the page calls what people choose."""
    return _CALLED.get(name) or in_python(name, *value)


def _refused(sentence: str) -> int:
    print(f"Error: {sentence}", file=sys.stderr)
    return _REFUSED


if __name__ == "__main__":
    main(bound_to_server())
