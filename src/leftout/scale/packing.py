"""Results of passes as arrays and JSON: reading them from a file runs nothing.

A file is NumPy's archive of arrays, with a text that says how they belong together. What a result
may consist of is listed here; a file that says anything else is not read.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout.core.ceilings import Over
from leftout.core.cutting import Inside, Sorted
from leftout.core.moments import Moments
from leftout.scale.gaps import Between, Gaps
from leftout.scale.means import Sums
from leftout.scale.numbers import Numbers, Tallied
from leftout.scale.recount import Counted
from leftout.scale.survey import Surveyed
from leftout.scale.texts import Gone, Texts
from leftout.search.outcome import Spread

Arrays = dict[str, NDArray[Any]]
_KINDS: tuple[Any, ...] = (
    Between, Counted, Gaps, Gone, Inside, Moments, Numbers, Over, Sorted, Spread, Sums, Surveyed,
    Tallied, Texts,
)  # fmt: skip
_MADE: dict[str, Callable[[Any], Any]] = {
    "list": list, "tuple": tuple, "frozenset": frozenset,
    "dict": lambda both: dict(zip(*both, strict=True)),
    **{kind.__name__: kind._make for kind in _KINDS},
}  # fmt: skip
# The array that holds the text.
_TEXT = "text"


def packed(result: Any) -> bytes:
    """The content of a file with the result of a pass."""
    arrays: Arrays = {}
    text = json.dumps(_told(result, arrays))
    arrays[_TEXT] = np.frombuffer(text.encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def unpacked(content: bytes) -> Any:
    """The reverse of :func:`packed`; an error of some kind if the content is anything else."""
    with np.load(io.BytesIO(content), allow_pickle=False) as held:

        def made(told: dict[str, Any]) -> Any:
            kind, of = told["is"], told["of"]
            if kind == "array":
                return held[of]
            if kind == "number":
                return held[of][()]
            return _table(held[of]) if kind == "table" else _MADE[kind](of)

        return json.loads(held[_TEXT].tobytes(), object_hook=made)


def _told(data: Any, arrays: Arrays) -> Any:
    """A part of a result as JSON, its arrays aside."""
    kind = type(data)
    if data is None or kind in (bool, int, float, str):
        return data
    if isinstance(data, np.ndarray | np.generic) and not data.dtype.hasobject:
        return _aside("array" if kind is np.ndarray else "number", np.asarray(data), arrays)
    if kind.__module__.startswith("pyarrow"):
        return _aside("table", _stream(data), arrays)
    if kind is dict:
        return {"is": "dict", "of": [_each(data, arrays), _each(data.values(), arrays)]}
    if kind in _KINDS or kind in (list, tuple, frozenset):
        return {"is": kind.__name__, "of": _each(data, arrays)}
    raise TypeError(f"The result of a pass cannot hold {kind.__name__}.")


def _each(data: Any, arrays: Arrays) -> list[Any]:
    return [each if type(each) in (int, str) else _told(each, arrays) for each in data]


def _aside(kind: str, array: NDArray[Any], arrays: Arrays) -> dict[str, str]:
    name = str(len(arrays))
    arrays[name] = array
    return {"is": kind, "of": name}


def _stream(table: Any) -> NDArray[np.uint8]:
    """Rows of a sample as Arrow stores them."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def _table(stored: NDArray[np.uint8]) -> Any:
    import pyarrow as pa

    with pa.ipc.open_stream(pa.py_buffer(stored)) as reader:
        return reader.read_all()
