"""Keep BLAS to one thread where its products are too small to share.

The threads of NumPy's and SciPy's copies of BLAS wait for work by spinning, and on small products
that made whole searches three times slower than with one thread.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread(wanted: bool = True) -> AbstractContextManager[object]:
    """A context in which BLAS uses one thread, or a context that does nothing."""
    return _controller().limit(limits=1, user_api="blas") if wanted else nullcontext()
