"""``python -m lamella``: the command line."""

from .cli import main

main()
