"""Operators as objects: classes that hold attributes and call the functions of `lamella.ops`."""
