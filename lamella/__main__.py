"""``python -m lamella``: the command line."""

from .commands.cli import main

main()
