"""The command ``leftout``."""

import errno
import os
import sys
import warnings
from typing import Any, NoReturn

import click

from leftout import __version__
from leftout.cli.commands import audit, compare, demo, fair, groups, harm, serve
from leftout.cli.common import stop
from leftout.errors import GateError, InputError, asked_by
from leftout.settings import as_option

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Of the memory there is, what a command may take.
_MEMORY_SHARE = 0.75


class OneSentence(click.Command):
    """What is wrong with a call is one line, and Ctrl-C ends it at once.

    Characters that a terminal cannot show are spelt out.
    """

    def main(self, *args: Any, **options: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        options["standalone_mode"] = False
        given = args[0] if args else options.get("args")
        if given is None:  # a process of its own
            from leftout.running import limit_memory  # loads joblib

            limit_memory(_MEMORY_SHARE)
        options["obj"] = list(sys.argv[1:] if given is None else given)
        warnings.filterwarnings("ignore", module="openpyxl")  # on what it leaves aside
        try:
            with asked_by(as_option):
                code = super().main(*args, **options)
                sys.stdout.flush()  # what cannot be printed fails here, and not at the very end
                sys.exit(code)
        except click.ClickException as error:
            _refuse(error.format_message())
        except GateError as error:
            for condition in error.conditions:
                click.echo(f"Does not hold: {' '.join(condition.split())}", err=True)
            sys.exit(3)
        except InputError as error:
            _refuse(" ".join(str(error).split()))
        except MemoryError:
            _refuse(
                "The table is too large for this machine's memory. Audit a part of it with "
                "--sample."
            )
        except (click.Abort, SystemError) as error:
            from leftout.running import interrupted

            if isinstance(error, SystemError) and not interrupted(error):
                raise
            stop()
        except OSError as error:
            if error.errno not in _FULL:
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the last flush
            _refuse(f"The results cannot be printed: {error.strerror}.")


def _refuse(sentence: str) -> NoReturn:
    """What is wrong with what people gave; any other error is a bug of ours."""
    click.echo(f"Error: {sentence}", err=True)
    sys.exit(2)


class Commands(OneSentence, click.Group):
    """All commands."""


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="leftout")
def main() -> None:
    """Find out who a shared PCA leaves out, with no group labels."""


@main.command()
def schema() -> None:
    """Print the JSON schema of audit.json."""
    import json

    from leftout.auditing.schema import schema as made

    click.echo(json.dumps(made(), indent=1))


for command in (audit, demo, groups, fair, harm, compare, serve):
    main.add_command(command)
