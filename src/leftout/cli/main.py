"""The command ``leftout``."""

from __future__ import annotations

import click

from leftout import __version__
from leftout.cli.audit import audit, demo
from leftout.cli.fair import fair


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="leftout")
def main() -> None:
    """Find out who a shared PCA leaves out, with no group labels."""


for command in (audit, demo, fair):
    main.add_command(command)
