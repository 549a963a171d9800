"""The command line: arguments in, a result people can read out."""

from leftout.cli.main import main

__all__ = ["main"]
