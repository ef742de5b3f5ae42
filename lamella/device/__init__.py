"""The device while a program runs: memory, streams and events, and settings of each kind.

MindSpore's ``mindspore.runtime``, ``mindspore.hal`` and ``mindspore.device_context``.
"""
