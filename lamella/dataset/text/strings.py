"""Operations on strings: normalization, vocabulary lookup, n-grams, truncation."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import numpy as np

from ...core import dtype as types
from ...core.dtype import Type, dtype_to_nptype
from ...core.require import of_type
from ..checks import integer, no_data_type
from ..errors import needs
from ..transforms.operation import Streams, Values
from .enums import NormalizeForm
from .operation import Each, TextTensorOperation
from .vocab import Vectors, Vocab, of_vocab


def normalized(text: str, form: NormalizeForm) -> str:
    """A text in one of Unicode's normal forms."""
    return text if form is NormalizeForm.NONE else unicodedata.normalize(
        form.name, text)  # type: ignore[arg-type]


def to_str(array: Any, encoding: str = "utf8") -> np.ndarray:
    """An array of bytes as one of strings."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"For 'to_str', 'array' must be a NumPy array, but got "
                        f"{type(array).__name__}.")
    return array if array.dtype.kind == "U" else np.char.decode(array, encoding)


def to_bytes(array: Any, encoding: str = "utf8") -> np.ndarray:
    """An array of strings as one of bytes."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"For 'to_bytes', 'array' must be a NumPy array, but got "
                        f"{type(array).__name__}.")
    return np.char.encode(array, encoding)


# characters that nothing shows, such as joiners and soft hyphens (Default_Ignorable_Code_Point)
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]+")


class CaseFold(Each):
    """Lower case, by Unicode's NFKC_Casefold: one character may become several, or none."""

    @staticmethod
    def folded(text: str) -> str:
        """The text in lower case."""
        seen = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
        return unicodedata.normalize("NFKC", seen.casefold())

    def change(self, text: str) -> str:
        """The string in lower case."""
        return self.folded(text)


class NormalizeUTF8(Each):
    """Strings in one of Unicode's normal forms.

    Args:
        normalize_form: the form.
    """

    def __init__(self, normalize_form: NormalizeForm = NormalizeForm.NFKC):
        of_type(normalize_form, NormalizeForm, "normalize_form", "NormalizeUTF8")
        self.normalize_form = normalize_form

    def change(self, text: str) -> str:
        """The normalized string."""
        return normalized(text, self.normalize_form)


class RegexReplace(Each):
    """Replace the matches of a regular expression.

    Args:
        pattern: the regular expression.
        replace: the replacement, in which ``$1`` is what the first group has matched, ``$0`` all,
            and a character after a backslash itself.
        replace_all: whether to replace all matches; else the first.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if `replace` names a group that `pattern` doesn't have.
    """

    def __init__(self, pattern: str, replace: str, replace_all: bool = True):
        self.pattern, self.replace, self.replace_all = pattern, replace, replace_all
        self._pattern = needs("text", "regex").compile(pattern)
        self._by = re.sub(r"\\u([0-9a-fA-F]{4})|\\(.?)|\$(\d+)", self._part, replace, flags=re.S)

    def _part(self, match: re.Match[str]) -> str:
        """A part of the replacement as Python writes it; a group has as many digits as needed."""
        if match[3] is None:
            return (chr(int(match[1], 16)) if match[1] else match[2]).replace("\\", "\\\\")
        digits = match[3]
        for end in range(len(digits), 0, -1):
            if int(digits[:end]) <= self._pattern.groups:
                return f"\\g<{int(digits[:end])}>{digits[end:]}"
        raise ValueError(f"For 'RegexReplace', 'replace' names the group {match[0]}, but "
                         f"{self.pattern!r} has {self._pattern.groups} groups.")

    def change(self, text: str) -> str:
        """The new string."""
        return self._pattern.sub(self._by, text, 0 if self.replace_all else 1)


_XML = [(re.compile(pattern), by) for pattern, by in (
    (r"<.*>", ""), (r"<ref[^<]*</ref>", ""), (r"<[^>]*>", ""), (r"&[^;]*;", " "))]


class FilterWikipediaXML(Each):
    """The words of Wikipedia pages in XML, in lower case, with digits as words.

    From the first ``<`` of a line to its last ``>`` all is left out, and a page with a redirection
    is empty. As in MindSpore, the words of links, images and templates stay.

    Examples:
        >>> from lamella.dataset import text
        >>> print(text.FilterWikipediaXML()("Born in [[Rome]]&nbsp;<br/>, 1 km"))
        born in rome one km
    """

    def change(self, text: str) -> str:
        """The words."""
        if "#REDIRECT" in text or "#redirect" in text:
            return ""
        for pattern, by in _XML:
            text = pattern.sub(by, text)
        text = re.sub("[A-Z]", lambda letter: letter[0].lower(), text)  # of ASCII only
        for number, word in enumerate("zero one two three four five six seven eight nine".split()):
            text = text.replace(str(number), f" {word} ")
        return " ".join(re.sub(r"[^a-z\n]+", " ", text).replace("\n ", "").split())


class Lookup(TextTensorOperation):
    """Convert words to their ids.

    Args:
        vocab: the vocabulary.
        unknown_token: the word whose id stands for words outside of the vocabulary; None: these
            are an error.
        data_type: the type of the ids.
    """

    def __init__(self, vocab: Vocab, unknown_token: str | None = None, data_type: Any = None):
        of_vocab(vocab, "Lookup")
        data_type = types.int32 if data_type is None else data_type
        if not isinstance(data_type, Type):
            raise TypeError(f"{no_data_type('data_type', data_type)} For 'Lookup', 'data_type' "
                            f"must be a data type, but got {data_type!r}.")
        self.vocab, self.unknown_token, self.data_type = vocab, unknown_token, data_type
        self._ids = vocab.vocab()
        if unknown_token is not None and unknown_token not in self._ids:
            raise ValueError(f"Lookup: unknown_token: [{unknown_token}], doesn't exist in vocab.")

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The numbers."""
        if self.data_type is types.string:
            raise RuntimeError(f"Lookup : The parameter data_type must be numeric including bool. "
                               f"What was given is {self.data_type}.")
        other = None if self.unknown_token is None else self._ids[self.unknown_token]
        out = []
        for word in self.texts(value):
            number = self._ids.get(word, other)
            if number is None:
                raise RuntimeError(f'Lookup: token: "{word}" doesn\'t exist in vocab and no '
                                   f"unknown token is specified. Give an 'unknown_token'.")
            out.append(number)
        return np.array(out, dtype_to_nptype(self.data_type)).reshape(value.shape)


class ToNumber(TextTensorOperation):
    """Parse strings as numbers.

    Args:
        data_type: their type.
    """

    def __init__(self, data_type: Any):
        if not isinstance(data_type, Type):
            raise TypeError(f"{no_data_type('data_type', data_type)} For 'ToNumber', 'data_type' "
                            f"must be a data type, but got {data_type!r}.")
        self.data_type = data_type
        self._kind: np.dtype[Any] = np.dtype(
            str if data_type is types.string else dtype_to_nptype(data_type))
        if self._kind.kind not in "iuf":
            raise TypeError(f"data_type: {data_type} is not numeric data type. For 'ToNumber', "
                            f"'data_type' must be one of numbers.")

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The numbers."""
        out = []
        for word in self.texts(value):
            try:
                if "_" in word or not word.isascii():  # which only Python takes
                    raise ValueError
                number: Any = float(word) if self._kind.kind == "f" else int(word)
            except ValueError:
                raise RuntimeError(f'ToNumber: it is invalid to convert "{word}" to a number of '
                                   f"type {self._kind}.") from None
            limits: Any = np.finfo(self._kind) if self._kind.kind == "f" else np.iinfo(self._kind)
            # as Python's numbers: NumPy would round what they are compared with
            low, high = np.array([limits.min, limits.max], self._kind).tolist()
            if not low <= number <= high and (
                    self._kind.kind != "f" or "inf" not in word.lower()) and number == number:
                raise RuntimeError(
                    f"ToNumber: string input {word} will be out of bounds if cast to {self._kind}; "
                    f"it is outside of valid {self._kind} range, the valid range is: "
                    f"[{limits.min}, {limits.max}].")
            out.append(number)
        return np.array(out, self._kind).reshape(value.shape)


class ToVectors(TextTensorOperation):
    """Convert words to their vectors.

    Args:
        vectors: a `Vectors`.
        unk_init: the vector of unknown words; default: zeros.
        lower_case_backup: whether to look an unknown word up in lower case, too.
    """

    def __init__(self, vectors: Vectors, unk_init: Any = None, lower_case_backup: bool = False):
        of_type(vectors, Vectors, "vectors", "ToVectors")
        self.vectors, self.lower_case_backup = vectors, lower_case_backup
        self.unk_init = unk_init
        self._other = np.zeros(vectors.dim, np.float32) if not unk_init else np.array(
            unk_init, np.float32)
        if self._other.shape != (vectors.dim,):
            raise RuntimeError(f"ToVectors: unk_init must be the same length as vectors, but got "
                               f"unk_init: {self._other.size} and vectors: {vectors.dim}")

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The vectors."""
        out = []
        for word in self.texts(value):
            found = self.vectors.vector(word)
            if found is None and self.lower_case_backup:
                found = self.vectors.vector(word.lower())
            out.append(self._other if found is None else found)
        return np.array(out).reshape(*value.shape, self.vectors.dim)


class Ngram(TextTensorOperation):
    """N-grams: runs of consecutive words, joined.

    Args:
        n: the length of the n-grams, or a list of lengths.
        left_pad, right_pad: (word, count): padding before and after.
        separator: put between the words of an n-gram.

    Examples:
        >>> from lamella.dataset import text
        >>> print(text.Ngram(2)(["a", "b", "c"]))
        ['a b' 'b c']
    """

    def __init__(self, n: Any, left_pad: tuple[str, int] = ("", 0),
                 right_pad: tuple[str, int] = ("", 0), separator: str = " "):
        sizes = [n] if isinstance(n, int) else n
        if not isinstance(sizes, list) or not sizes:
            raise ValueError("n needs to be a non-empty list of positive integers. For 'Ngram', "
                             f"'n' must be an int or a list of ints, but got {n!r}.")
        if any(isinstance(s, bool) or not isinstance(s, int) for s in sizes):
            raise TypeError(f"For 'Ngram', 'n' must be an int or a list of ints, but got {n!r}.")
        for place, size in enumerate(sizes):
            if size <= 0:
                raise ValueError(f"Input gram_{place} must be greater than 0. For 'Ngram', 'n' "
                                 f"must be positive, but got {n!r}.")
        for name, pad in (("left_pad", left_pad), ("right_pad", right_pad)):
            if not isinstance(pad, tuple) or len(pad) != 2 or not isinstance(
                    pad[0], str) or not isinstance(pad[1], int):
                raise ValueError(f"{name} needs to be a tuple of (str, int) str is pad token and "
                                 f"int is pad_width. For 'Ngram', '{name}' must be (str, int), but "
                                 f"got {pad!r}.")
            if pad[1] < 0:
                raise ValueError(f"padding width need to be positive numbers. For 'Ngram', "
                                 f"'{name}' must not have a negative number, but got {pad!r}.")
        self.n, self.left_pad, self.right_pad, self.separator = n, left_pad, right_pad, separator
        self._sizes = sizes

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The n-grams."""
        if value.ndim != 1:
            raise RuntimeError(f"Ngram: the input must have one dimension, but has {value.ndim}.")
        words, out = self.texts(value), []
        for size in self._sizes:
            left = [self.left_pad[0]] * min(size - 1, self.left_pad[1])
            right = [self.right_pad[0]] * min(size - 1, self.right_pad[1])
            all_words = [*left, *words, *right]
            if len(all_words) < size:
                out.append("")
            out += [self.separator.join(all_words[i:i + size])
                    for i in range(len(all_words) - size + 1)]
        return np.array(out)


class SlidingWindow(TextTensorOperation):
    """Sliding windows over the elements, one in each row.

    Args:
        width: the size of the window.
        axis: the dimension along which it slides.
    """

    def __init__(self, width: int, axis: int = 0):
        self.width, self.axis = width, axis

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The windows."""
        if value.ndim != 1 or self.axis not in (0, -1):
            raise RuntimeError("SlidingWindow: the input must have one dimension, and 'axis' be 0.")
        if len(value) < self.width:
            return np.empty((0, self.width), value.dtype)
        return np.lib.stride_tricks.sliding_window_view(value, self.width).copy()


class AddToken(TextTensorOperation):
    """Add a token before or after the others.

    Args:
        token: the token.
        begin: whether to add it at the beginning.
    """

    def __init__(self, token: str, begin: bool = True):
        self.token, self.begin = token, begin

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The tokens with it."""
        if value.ndim == 0 or value.ndim > 2:
            raise RuntimeError(f"AddToken: the input must have 1 or 2 dimensions, but has "
                               f"{value.ndim}.")
        rows = value if value.ndim == 2 else value[None]
        token = np.full((len(rows), 1), self.token)
        out = np.concatenate([token, rows] if self.begin else [rows, token], 1)
        return out if value.ndim == 2 else out[0]


class Truncate(TextTensorOperation):
    """Truncate to a maximal number of tokens.

    Args:
        max_seq_len: the maximal number.
    """

    def __init__(self, max_seq_len: int):
        self.max_seq_len = max_seq_len

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The words."""
        if value.ndim not in (1, 2):
            raise RuntimeError(f"Truncate: the input must have 1 or 2 dimensions, but has "
                               f"{value.ndim}.")
        return value[..., :self.max_seq_len]


class TruncateSequencePair(TextTensorOperation):
    """Truncate two sequences to a total length, always the longer one first.

    Args:
        max_length: the maximal total length.
    """

    def __init__(self, max_length: int):
        integer("TruncateSequencePair", "max_length", max_length)
        if max_length < 0:
            raise ValueError(f"For 'TruncateSequencePair', 'max_length' must be 0 or more, but got "
                             f"{max_length}.")
        self.max_length = max_length

    def run(self, values: Values, streams: Streams) -> Values:
        """Both sequences, truncated."""
        if len(values) != 2 or any(v.ndim != 1 for v in values):
            raise RuntimeError("TruncateSequencePair: two inputs of one dimension are expected.")
        first, second = len(values[0]), len(values[1])
        while first + second > self.max_length:
            if first > second:
                first -= 1
            else:
                second -= 1
        return values[0][:first], values[1][:second]
