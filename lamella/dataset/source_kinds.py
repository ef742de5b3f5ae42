"""What kind of data a source reads, for `isinstance`: pictures, texts or sounds."""

from __future__ import annotations

from abc import ABC
from typing import Any

__all__ = ["AudioBaseDataset", "TextBaseDataset", "VisionBaseDataset"]


class _Kind(ABC):  # noqa: B024  (a hook of isinstance, without methods)
    """Sources of one kind lie in the same files, which a subclass names."""

    _files: frozenset[str] = frozenset()

    @classmethod
    def __subclasshook__(cls, other: type) -> Any:
        room, _, file = other.__module__.rpartition(".")
        own = room == f"{__package__}.sources" and not other.__name__.startswith("_")
        return own and file in cls._files or NotImplemented


class VisionBaseDataset(_Kind):
    """Sources of pictures and videos.

    Examples:
        >>> from lamella.dataset import MnistDataset, NumpySlicesDataset
        >>> from lamella.dataset.source_kinds import VisionBaseDataset
        >>> [issubclass(kind, VisionBaseDataset) for kind in (MnistDataset, NumpySlicesDataset)]
        [True, False]
    """

    _files = frozenset("""
        captioned cifar detection div2k faces images kitti mnist patches photographs segmented
        """.split())


class TextBaseDataset(_Kind):
    """Sources of texts."""

    _files = frozenset("corpora text_files translation understanding".split())


class AudioBaseDataset(_Kind):
    """Sources of sounds."""

    _files = frozenset("sounds speech".split())
