"""The command line: ``python -m lamella run``, ``msrun``, ``names`` and ``doctor``."""
