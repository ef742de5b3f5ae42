"""Tokenizers that split texts into words or characters."""

from __future__ import annotations

import os
import re
import string
import unicodedata
from typing import Any

import numpy as np

from ...core.require import of_type
from ..errors import needs
from ..transforms.operation import PyTensorOperation, Streams, Values
from .enums import JiebaMode, NormalizeForm
from .operation import Tokenizer
from .strings import CaseFold, normalized

Found = list[tuple[str, int, int]]


def _is_white(character: str) -> bool:
    """Whether Unicode calls a character white space; Python calls separators of files so, too."""
    return character.isspace() and not "\x1c" <= character <= "\x1f"


class WhitespaceTokenizer(Tokenizer):
    """Split at white space."""

    def split(self, text: str) -> Found:
        """The tokens with their offsets."""
        found, start = [], None
        for offset, character in enumerate(text + " "):
            if _is_white(character):
                if start is not None:
                    found.append((text[start:offset], start, offset))
                start = None
            elif start is None:
                start = offset
        return found


class UnicodeCharTokenizer(Tokenizer):
    """Split into characters."""

    def split(self, text: str) -> Found:
        """The characters with their offsets."""
        return [(character, offset, offset + 1) for offset, character in enumerate(text)]


class UnicodeScriptTokenizer(Tokenizer):
    """Split where the Unicode script changes.

    Args:
        keep_whitespace: whether white space becomes tokens, too.
        with_offsets: as for all tokenizers.
    """

    def __init__(self, keep_whitespace: bool = False, with_offsets: bool = False):
        super().__init__(with_offsets)
        self.keep_whitespace = keep_whitespace

    def split(self, text: str) -> Found:
        """The tokens with their offsets."""
        found: Found = []
        last: Any = None
        for offset, character in enumerate(text):
            kind = "space" if _is_white(character) else script(character)
            if kind == last:
                word, start, _ = found.pop()
                found.append((word + character, start, offset + 1))
            else:
                found.append((character, offset, offset + 1))
            last = kind
        if not self.keep_whitespace:
            found = [item for item in found if not _is_white(item[0][0])]
        return found


_SCRIPTS = ("Latin", "Han", "Cyrillic", "Greek", "Arabic", "Hebrew", "Hiragana", "Katakana",
            "Hangul", "Devanagari", "Thai", "Common")


def script(character: str) -> str:
    """The script of a character."""
    regex = needs("text", "regex")
    for name in _SCRIPTS:
        if regex.match(rf"\p{{Script={name}}}", character):
            return name
    return unicodedata.name(character, "?").split()[0]


class RegexTokenizer(Tokenizer):
    r"""Split at the matches of a regular expression.

    Args:
        delim_pattern: the regular expression, such as ``\s+``.
        keep_delim_pattern: matches that match this pattern, too, become tokens.
        with_offsets: as for all tokenizers.
    """

    def __init__(self, delim_pattern: str, keep_delim_pattern: str = "",
                 with_offsets: bool = False):
        super().__init__(with_offsets)
        self.delim_pattern, self.keep_delim_pattern = delim_pattern, keep_delim_pattern
        regex = needs("text", "regex")
        self._delimiter = regex.compile(delim_pattern)
        self._kept = regex.compile(keep_delim_pattern) if keep_delim_pattern else None

    def split(self, text: str) -> Found:
        """The tokens with their offsets."""
        found, start = [], 0
        for match in self._delimiter.finditer(text):
            if match.start() == match.end():
                continue
            if match.start() > start:
                found.append((text[start:match.start()], start, match.start()))
            if self._kept is not None and self._kept.fullmatch(match.group()):
                found.append((match.group(), match.start(), match.end()))
            start = match.end()
        if start < len(text):
            found.append((text[start:], start, len(text)))
        return found


def _is_chinese(character: str) -> bool:
    code = ord(character)
    return (0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF or 0x20000 <= code <= 0x2A6DF
            or 0x2A700 <= code <= 0x2CEAF or 0xF900 <= code <= 0xFAFF or 0x2F800 <= code <= 0x2FA1F)


def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or unicodedata.category(character).startswith("P")


class BasicTokenizer(Tokenizer):
    """Split at white space, punctuation and each Chinese character, as BERT does.

    Args:
        lower_case: whether to convert to lower case and strip accents.
        keep_whitespace: whether white space becomes tokens, too.
        normalization_form: the Unicode normal form that texts are converted to first.
        preserve_unused_token: whether to keep tokens such as [CLS] as they are.
        with_offsets: as for all tokenizers.
    """

    def __init__(self, lower_case: bool = False, keep_whitespace: bool = False,
                 normalization_form: NormalizeForm = NormalizeForm.NONE,
                 preserve_unused_token: bool = True, with_offsets: bool = False):
        super().__init__(with_offsets)
        of_type(normalization_form, NormalizeForm, "normalization_form", type(self).__name__)
        self.lower_case, self.keep_whitespace = lower_case, keep_whitespace
        self.normalization_form = normalization_form
        self.preserve_unused_token = preserve_unused_token

    def prepared(self, text: str) -> str:
        """The text that is split: normalized, and in lower case where that is requested."""
        kept = self.preserve_unused_token
        if self.lower_case:
            parts, start = [], 0
            for offset, word in _preserved(text) if kept else ():
                parts += [self._small(text[start:offset]), word]
                start = offset + len(word)
            text = "".join([*parts, self._small(text[start:])])
        else:
            text = normalized(text, self.normalization_form)
        return "".join(" " if unicodedata.category(c) in ("Cc", "Cf") else c for c in text)

    @staticmethod
    def _small(text: str) -> str:
        text = unicodedata.normalize("NFD", CaseFold.folded(text))
        return "".join(c for c in text if unicodedata.category(c) != "Mn")

    def run(self, values: Values, streams: Streams) -> Values:
        """The tokens, and their offsets in the prepared text."""
        return super().run((np.asarray(self.prepared(self.text(values[0]))),), streams)

    def split(self, text: str) -> Found:
        """The tokens with their offsets."""
        whole = dict(_preserved(text)) if self.preserve_unused_token else {}
        found: Found = []
        offset, open_word = 0, False
        while offset < len(text):
            word = whole.get(offset)
            character = text[offset]
            if word is not None:
                found.append((word, offset, offset + len(word)))
                offset, open_word = offset + len(word), False
                continue
            if character.isspace():
                if self.keep_whitespace:
                    if found and found[-1][0].isspace() and found[-1][2] == offset:
                        last = found.pop()
                        found.append((last[0] + character, last[1], offset + 1))
                    else:
                        found.append((character, offset, offset + 1))
                open_word = False
            elif _is_punctuation(character) or _is_chinese(character):
                found.append((character, offset, offset + 1))
                open_word = False
            elif open_word:
                last = found.pop()
                found.append((last[0] + character, last[1], offset + 1))
            else:
                found.append((character, offset, offset + 1))
                open_word = True
            offset += 1
        return found


def _preserved(text: str) -> list[tuple[int, str]]:
    pattern = r"\[CLS\]|\[SEP\]|\[UNK\]|\[PAD\]|\[MASK\]|\[unused\d+\]"
    return [(match.start(), match.group()) for match in re.finditer(pattern, text)]


class JiebaTokenizer(Tokenizer):
    """Split Chinese texts into words, by jieba.

    Args:
        hmm_path, mp_path: files of the model and the dictionary, as cppjieba has them; the
            dictionary is used, the model is jieba's own.
        mode: a JiebaMode.
        with_offsets: as for all tokenizers.
    """

    def __init__(self, hmm_path: str, mp_path: str, mode: JiebaMode = JiebaMode.MIX,
                 with_offsets: bool = False):
        super().__init__(with_offsets)
        for name, path in (("hmm_path", hmm_path), ("mp_path", mp_path)):
            if not isinstance(path, str) or not os.path.isfile(path):
                raise ValueError(f"For 'JiebaTokenizer', '{name}' must be a file, but {path!r} "
                                 f"does not exist.")
        of_type(mode, JiebaMode, "mode", "JiebaTokenizer")
        self.hmm_path, self.mp_path, self.mode = hmm_path, mp_path, mode
        self._jieba: Any = None

    def _loaded(self) -> Any:
        if self._jieba is None:
            jieba = needs("text", "jieba")
            jieba.setLogLevel(60)
            self._jieba = jieba.Tokenizer(os.path.abspath(self.mp_path))
        return self._jieba

    def add_word(self, word: str, freq: int | None = None) -> None:
        """Add a word to the dictionary, with its frequency."""
        if not isinstance(word, str) or not word:
            raise ValueError(f"For 'add_word', 'word' must be a str, but got {word!r}.")
        if freq is not None and (isinstance(freq, bool) or not isinstance(freq, int) or freq < 0):
            raise ValueError(f"For 'add_word', 'freq' must be an int of 0 or more, but got "
                             f"{freq!r}.")
        self._loaded().add_word(word, freq or None)

    def add_dict(self, user_dict: Any) -> None:
        """Add words with their frequencies, from a dict, or from a file with one of both a line."""
        if isinstance(user_dict, dict):
            items = list(user_dict.items())
        elif isinstance(user_dict, str):
            with open(user_dict, encoding="utf-8") as opened:
                lines = [line.split() for line in opened if line.strip()]
            items = [(words[0], int(words[1]) if len(words) > 1 else None) for words in lines]
        else:
            raise TypeError(f"For 'add_dict', 'user_dict' must be a dict or a path, but got "
                            f"{user_dict!r}.")
        for word, freq in items:
            self.add_word(word, freq)

    def split(self, text: str) -> Found:
        """The tokens with their offsets."""
        jieba = self._loaded()
        if self.mode is JiebaMode.HMM:
            words = list(needs("text", "jieba.finalseg", "jieba").cut(text))
        else:
            words = list(jieba.cut(text, HMM=self.mode is JiebaMode.MIX))
        found, offset = [], 0
        for word in words:
            found.append((word, offset, offset + len(word)))
            offset += len(word)
        return found


class PythonTokenizer(PyTensorOperation):
    """Split texts by a function.

    Args:
        tokenizer: takes a string and returns a list of tokens.
    """

    def __init__(self, tokenizer: Any):
        if not callable(tokenizer):
            raise TypeError("tokenizer is not a callable Python function. For 'PythonTokenizer', "
                            f"it must be one, but got {tokenizer!r}.")
        self.tokenizer = tokenizer

    def accept(self, value: Any) -> Any:
        """The input as an array."""
        if not isinstance(value, (str, np.ndarray)):
            raise TypeError(f"The type of the input should be a NumPy array or str, got "
                            f"{type(value)}.")
        return np.asarray(value)

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The tokens."""
        word = value.reshape(-1)[0] if value.dtype.kind == "S" else str(value)
        return np.array(self.tokenizer(word.decode() if isinstance(word, bytes) else word))
