"""The base classes of text operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..transforms.operation import Streams, TensorOperation, Values

# MindSpore's sentences about inputs that aren't texts, and the operations that have each
_SENTENCES = {name: sentence for sentence, names in {
    "input tensor type should be string.": "ToVectors AddToken",
    "input is not string datatype.": "Lookup CaseFold NormalizeUTF8 RegexReplace",
    "input is not of type string.": "FilterWikipediaXML",
    "input should be string datatype.": "ToNumber",
    "input is not a 1D data with string datatype.": "Ngram",
    "the input should be of type string.": "BasicTokenizer BertTokenizer",
    "The input shape should be 1D scalar the input datatype should be string.":
        "WordpieceTokenizer",
    "the input shape should be scalar and the input datatype should be string.":
        "UnicodeCharTokenizer WhitespaceTokenizer RegexTokenizer UnicodeScriptTokenizer",
}.items() for name in names.split()}
_ANY = "the input shape should be scalar and the type of input should be string."


class TextTensorOperation(TensorOperation):
    """The base of text operations."""

    def _refused(self, what: str) -> RuntimeError:
        """The error for an input that is no text, in MindSpore's words."""
        name = type(self).__name__
        return RuntimeError(f"{name}: {_SENTENCES.get(name, _ANY)} What was given is {what}.")

    def accept(self, value: Any) -> Any:
        """The input, a string or an array of strings.

        Raises:
            TypeError: if it can't be an array.
            RuntimeError: if it is bytes or a number.
        """
        if isinstance(value, (bytes, np.bytes_, bool, int, float)):
            raise self._refused(f"of {type(value)}")
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
            raise self._refused(f"of {value.dtype} with the shape {list(value.shape)}")
        return _decoded(value.reshape(-1)[0])

    def texts(self, value: np.ndarray) -> list[str]:
        """All strings of the input.

        Raises:
            RuntimeError: if it has others than strings.
        """
        if value.dtype.kind not in "US":
            raise self._refused(f"of {value.dtype}")
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
