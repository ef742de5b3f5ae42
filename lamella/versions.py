"""Lamella's own version, and that of MindSpore whose surface it follows."""

__version__ = "0.1.0"
MINDSPORE_VERSION = "2.10.0"
