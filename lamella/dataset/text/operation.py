"""The base classes of text operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import boolean
from ..transforms.operation import Streams, TensorOperation, Values


class TextTensorOperation(TensorOperation):
    """The base of text operations."""

    def accept(self, value: Any) -> Any:
        """The input, a string or an array of strings.

        Raises:
            TypeError: if it is neither.
            RuntimeError: if it is bytes.
        """
        if not isinstance(value, (str, bytes, list, tuple, np.ndarray, np.generic)):
            raise TypeError(f"Input should be 1-D list or string or array of strings, got "
                            f"{type(value)}. For '{type(self).__name__}', a text is expected.")
        if isinstance(value, (bytes, np.bytes_)):
            raise RuntimeError(f"{type(self).__name__}: the input shape should be scalar and the "
                               f"type of input should be string, but got bytes.")
        array = np.asarray(value)
        if array.dtype == object:
            raise TypeError(f"Invalid user input. Got {type(value)}: {value}, cannot be converted "
                            f"into tensor. For '{type(self).__name__}', strings are expected.")
        return array

    def give(self, value: Any) -> Any:
        """The output; a single string is a 0-dimensional array."""
        return value

    def text(self, value: np.ndarray) -> str:
        """The one string of the input.

        Raises:
            RuntimeError: if there are several, or it is none.
        """
        if value.ndim and value.size != 1 or value.dtype.kind not in "US":
            raise RuntimeError(f"{type(self).__name__}: the input must be one string, but got "
                               f"{value.dtype} with the shape {list(value.shape)}.")
        return _decoded(value.reshape(-1)[0])

    def texts(self, value: np.ndarray) -> list[str]:
        """All strings of the input.

        Raises:
            RuntimeError: if it has others than strings.
        """
        if value.dtype.kind not in "US":
            raise RuntimeError(f"{type(self).__name__}: the input must be strings, but got "
                               f"{value.dtype}.")
        return [_decoded(word) for word in value.reshape(-1)]


def _decoded(word: Any) -> str:
    return bytes(word).decode("utf-8") if isinstance(word, bytes) else str(word)


class Each(TextTensorOperation):
    """The base of operations that map each string to another."""

    def change(self, text: str) -> str:
        """The new string."""
        raise NotImplementedError(f"'{type(self).__name__}' must define 'change'.")

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The new strings."""
        out = [self.change(text) for text in self.texts(value)]
        return np.array(out).reshape(value.shape)


class Tokenizer(TextTensorOperation):
    """The base of tokenizers. A subclass defines `split`: tokens with their offsets in the text.

    Args:
        with_offsets: whether to add two columns: the byte offsets where tokens start and end.
    """

    def __init__(self, with_offsets: bool = False):
        boolean(self, "with_offsets", with_offsets)
        self.with_offsets = with_offsets

    def split(self, text: str) -> list[tuple[str, int, int]]:
        """The tokens with the offsets in characters where each starts and ends in the text."""
        raise NotImplementedError(f"'{type(self).__name__}' must define 'split'.")

    def run(self, values: Values, streams: Streams) -> Values:
        """The tokens, and their offsets."""
        text = self.text(values[0])
        found = self.split(text) or [("", 0, 0)]
        words = np.array([word for word, _, _ in found])
        if not self.with_offsets:
            return (words,)
        bytes_before = [0]
        for letter in text:
            bytes_before.append(bytes_before[-1] + len(letter.encode()))
        return (words, np.array([bytes_before[a] for _, a, _ in found], np.uint32),
                np.array([bytes_before[b] for _, _, b in found], np.uint32))
