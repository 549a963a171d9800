"""``python -m leftout`` is the command line."""

from leftout.cli import main

main(prog_name="leftout")
