"""``leftout serve``: the same audits in a browser, on this machine alone."""

from __future__ import annotations

from pathlib import Path

import click

from leftout.cli.common import takes

_NEEDS = ("starlette", "uvicorn", "python_multipart")


@click.command()
@takes("port", "data", "open", "max_upload")
def serve(port: int, data: Path | None, open: bool, max_upload: str) -> None:
    """Audit tables in a browser: choose a file, say what matters, read the report.

    Only this machine, and only who has the address that is printed, can open the page; nothing
    leaves the machine. Ctrl-C stops it; audits are kept.
    """
    try:
        from leftout.data.sources import n_bytes
        from leftout.page.serving import serve as run
        from leftout.page.store import home
        from leftout.page.uploads import Limits
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _NEEDS:
            raise
        raise click.ClickException(
            f"The page needs a package that is not installed ({error.name}). Run: pip install "
            "'leftout[page]'"
        ) from error
    upload = n_bytes(max_upload, "max_upload")
    try:
        run(port, data or home(), Limits(upload=upload), _announce, open)
    except KeyboardInterrupt:
        pass
    click.echo("Stopped. Audits are kept.", err=True)


def _announce(address: str) -> None:
    click.echo(f"Open {address}")
    click.echo("Only this machine can. Ctrl-C stops the server; audits are kept.", err=True)
