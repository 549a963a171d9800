"""Keep BLAS to one thread where its products are too small to share.

The threads of NumPy's and SciPy's copies of BLAS wait for work by spinning, and on small products
that made whole searches three times slower than with one thread.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ContextDecorator, nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread(wanted: bool = True) -> AbstractContextManager[object]:
    """A context in which BLAS uses one thread, or a context that does nothing."""
    return _controller().limit(limits=1, user_api="blas") if wanted else nullcontext()


class clean_interrupts(ContextDecorator):  # named like one_thread, since it is used like it
    """Let Ctrl-C be a KeyboardInterrupt, also when it comes while a kernel is running.

    Numba then finds the interrupt after the kernel has returned, and reports a SystemError.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, SystemError) and isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
