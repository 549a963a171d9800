"""How much memory there is for this process, and no more than that."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def available(root: str = "/") -> int:
    """Bytes that this process may take: of the machine, of its container, by its own limit."""
    return min([_there_is(Path(root)), *_given()])


def _there_is(root: Path) -> int:
    known = [4 * 10**9]
    with suppress(AttributeError, ValueError, OSError):  # another system
        known = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, what, inside = line.split(":", 2)
            if what in ("", "memory"):  # the second and the first version
                base = root / "sys/fs/cgroup" / what
                file = "memory.limit_in_bytes" if what else "memory.max"
                folder = base / inside.strip("/")
                for each in (folder, *folder.parents[: len(folder.parts) - len(base.parts)]):
                    with suppress(OSError, ValueError):  # not there, or "max"
                        known.append(int((each / file).read_text()))
    return min(known)


def _given() -> list[int]:
    """The limit that was set for this process, if one was."""
    with suppress(ImportError, OSError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
        return [soft] * (soft != resource.RLIM_INFINITY)
    return []


def limit(share: float) -> None:
    """Take no more than a share of the memory there is: more is a ``MemoryError`` of ours.

    Without it, a table that asks for too much takes down whatever else runs on the machine. What is
    limited is what a process may write to: addresses that are only reserved do not count.
    """
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        least = min([int(share * _there_is(Path("/"))), *_given()])
        resource.setrlimit(resource.RLIMIT_DATA, (least, most))
