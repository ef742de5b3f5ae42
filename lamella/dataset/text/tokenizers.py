"""Tokenizers: texts split into tokens."""

from __future__ import annotations

import os
import unicodedata
from typing import Any

import numpy as np

from ..checks import boolean, existing_file, string
from ..errors import needs
from ..transforms.operation import PyTensorOperation, Streams, Values
from .enums import JiebaMode, NormalizeForm, SPieceTokenizerOutType
from .operation import TextTensorOperation, Tokenizer
from .strings import CaseFold, normalized
from .vocab import Vocab

Found = list[tuple[str, int, int]]


class WhitespaceTokenizer(Tokenizer):
    """Split at white space."""

    def split(self, text: str) -> Found:
        """The tokens with their offsets."""
        found, start = [], None
        for place, letter in enumerate(text + " "):
            if letter.isspace():
                if start is not None:
                    found.append((text[start:place], start, place))
                start = None
            elif start is None:
                start = place
        return found


class UnicodeCharTokenizer(Tokenizer):
    """Split into characters."""

    def split(self, text: str) -> Found:
        """The characters with their offsets."""
        return [(letter, place, place + 1) for place, letter in enumerate(text)]


class UnicodeScriptTokenizer(Tokenizer):
    """Split where the Unicode script changes.

    Args:
        keep_whitespace: whether white space becomes tokens, too.
        with_offsets: as for all tokenizers.
    """

    def __init__(self, keep_whitespace: bool = False, with_offsets: bool = False):
        super().__init__(with_offsets)
        boolean("UnicodeScriptTokenizer", "keep_whitespace", keep_whitespace)
        self.keep_whitespace = keep_whitespace

    def split(self, text: str) -> Found:
        """The tokens with their offsets."""
        found: Found = []
        last: Any = None
        for place, letter in enumerate(text):
            kind = "space" if letter.isspace() else script(letter)
            if kind == last:
                word, start, _ = found.pop()
                found.append((word + letter, start, place + 1))
            else:
                found.append((letter, place, place + 1))
            last = kind
        if not self.keep_whitespace:
            found = [item for item in found if not item[0].isspace()]
        return found


_SCRIPTS = ("Latin", "Han", "Cyrillic", "Greek", "Arabic", "Hebrew", "Hiragana", "Katakana",
            "Hangul", "Devanagari", "Thai", "Common")


def script(letter: str) -> str:
    """The script of a character."""
    regex = needs("text", "regex")
    for name in _SCRIPTS:
        if regex.match(rf"\p{{Script={name}}}", letter):
            return name
    return unicodedata.name(letter, "?").split()[0]


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
        for name, value in (("delim_pattern", delim_pattern),
                            ("keep_delim_pattern", keep_delim_pattern)):
            string("RegexTokenizer", name, value)
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


def _is_chinese(letter: str) -> bool:
    code = ord(letter)
    return (0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF or 0x20000 <= code <= 0x2A6DF
            or 0x2A700 <= code <= 0x2CEAF or 0xF900 <= code <= 0xFAFF or 0x2F800 <= code <= 0x2FA1F)


def _is_mark(letter: str) -> bool:
    code = ord(letter)
    return (33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
            or unicodedata.category(letter).startswith("P"))


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
        for name, value in (("lower_case", lower_case), ("keep_whitespace", keep_whitespace),
                            ("preserve_unused_token", preserve_unused_token)):
            boolean(self, name, value)
        if not isinstance(normalization_form, NormalizeForm):
            raise TypeError(f"For '{type(self).__name__}', 'normalization_form' must be a "
                            f"NormalizeForm, but got {normalization_form!r}.")
        self.lower_case, self.keep_whitespace = lower_case, keep_whitespace
        self.normalization_form = normalization_form
        self.preserve_unused_token = preserve_unused_token

    def prepared(self, text: str) -> str:
        """The text that is split: normalized, and in lower case where that is requested."""
        kept = self.preserve_unused_token
        if self.lower_case:
            parts, start = [], 0
            for place, word in _preserved(text) if kept else ():
                parts += [self._small(text[start:place]), word]
                start = place + len(word)
            text = "".join([*parts, self._small(text[start:])])
        else:
            text = normalized(text, self.normalization_form)
        return "".join(" " if c.isspace() else c for c in text
                       if c.isspace() or not unicodedata.category(c).startswith("C"))

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
        place, open_word = 0, False
        while place < len(text):
            word = whole.get(place)
            letter = text[place]
            if word is not None:
                found.append((word, place, place + len(word)))
                place, open_word = place + len(word), False
                continue
            if letter.isspace():
                if self.keep_whitespace:
                    if found and found[-1][0].isspace() and found[-1][2] == place:
                        last = found.pop()
                        found.append((last[0] + letter, last[1], place + 1))
                    else:
                        found.append((letter, place, place + 1))
                open_word = False
            elif _is_mark(letter) or _is_chinese(letter):
                found.append((letter, place, place + 1))
                open_word = False
            elif open_word:
                last = found.pop()
                found.append((last[0] + letter, last[1], place + 1))
            else:
                found.append((letter, place, place + 1))
                open_word = True
            place += 1
        return found


def _preserved(text: str) -> list[tuple[int, str]]:
    import re
    pattern = r"\[CLS\]|\[SEP\]|\[UNK\]|\[PAD\]|\[MASK\]|\[unused\d+\]"
    return [(match.start(), match.group()) for match in re.finditer(pattern, text)]


class WordpieceTokenizer(TextTensorOperation):
    """Split words into the longest pieces that a vocabulary has.

    Args:
        vocab: the vocabulary.
        suffix_indicator: the prefix of pieces that don't begin a word.
        max_bytes_per_token: longer words are unknown.
        unknown_token: what stands for words that can't be split; "": the words themselves.
        with_offsets: as for all tokenizers.
    """

    def __init__(self, vocab: Vocab, suffix_indicator: str = "##", max_bytes_per_token: int = 100,
                 unknown_token: str = "[UNK]", with_offsets: bool = False):
        name = type(self).__name__
        if not isinstance(vocab, Vocab):
            raise TypeError(f"For '{name}', 'vocab' must be a Vocab, but got "
                            f"{type(vocab).__name__}.")
        for argument, value in (("suffix_indicator", suffix_indicator),
                                ("unknown_token", unknown_token)):
            string(name, argument, value)
        if isinstance(max_bytes_per_token, bool) or not isinstance(
                max_bytes_per_token, int) or max_bytes_per_token < 0:
            raise ValueError(f"For '{name}', 'max_bytes_per_token' must be an int of 0 or more, "
                             f"but got {max_bytes_per_token!r}.")
        self.vocab, self.suffix_indicator = vocab, suffix_indicator
        self.max_bytes_per_token, self.unknown_token = max_bytes_per_token, unknown_token
        self.with_offsets = with_offsets
        self._known = set(vocab.vocab())

    def pieces(self, word: str) -> Found:
        """The pieces of a word with their offsets."""
        whole = [(self.unknown_token or word, 0, len(word))]
        if len(word.encode()) > self.max_bytes_per_token:
            return whole
        found: Found = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = (self.suffix_indicator if start else "") + word[start:end]
                if piece in self._known:
                    found.append((piece, start, end))
                    start = end
                    break
            else:
                return whole
        return found

    def run(self, values: Values, streams: Streams) -> Values:
        """The pieces, and their offsets in their words."""
        found, starts, ends = [], [], []
        for word in self.texts(values[0]):
            for piece, start, end in self.pieces(word):
                found.append(piece)
                starts.append(len(word[:start].encode()))
                ends.append(len(word[:end].encode()))
        words = np.array(found or [""])
        if not self.with_offsets:
            return (words,)
        return words, np.array(starts or [0], np.uint32), np.array(ends or [0], np.uint32)


class BertTokenizer(WordpieceTokenizer):
    """Split as BERT does: by `BasicTokenizer`, then by `WordpieceTokenizer`.

    Args:
        vocab, suffix_indicator, max_bytes_per_token, unknown_token: as for `WordpieceTokenizer`.
        lower_case, keep_whitespace, normalization_form, preserve_unused_token: as for
            `BasicTokenizer`.
        with_offsets: as for all tokenizers.
    """

    def __init__(self, vocab: Vocab, suffix_indicator: str = "##", max_bytes_per_token: int = 100,
                 unknown_token: str = "[UNK]", lower_case: bool = False,
                 keep_whitespace: bool = False,
                 normalization_form: NormalizeForm = NormalizeForm.NONE,
                 preserve_unused_token: bool = True, with_offsets: bool = False):
        super().__init__(vocab, suffix_indicator, max_bytes_per_token, unknown_token, with_offsets)
        self.lower_case, self.keep_whitespace = lower_case, keep_whitespace
        self.normalization_form = normalization_form
        self.preserve_unused_token = preserve_unused_token
        self._basic = BasicTokenizer(lower_case, keep_whitespace, normalization_form,
                                     preserve_unused_token, True)

    def run(self, values: Values, streams: Streams) -> Values:
        """The pieces, and their offsets."""
        words, starts, _ = self._basic.run(values, streams)
        found, firsts, lasts = [], [], []
        for word, before in zip(words.tolist(), starts.tolist(), strict=True):
            for piece, start, end in self.pieces(word):
                found.append(piece)
                firsts.append(before + len(word[:start].encode()))
                lasts.append(before + len(word[:end].encode()))
        if not self.with_offsets:
            return (np.array(found),)
        return np.array(found), np.array(firsts, np.uint32), np.array(lasts, np.uint32)


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
        if not isinstance(mode, JiebaMode):
            raise TypeError(f"For 'JiebaTokenizer', 'mode' must be a JiebaMode, but got {mode!r}.")
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
        found, place = [], 0
        for word in words:
            found.append((word, place, place + len(word)))
            place += len(word)
        return found


class SentencePieceVocab:
    """A SentencePiece model."""

    def __init__(self) -> None:
        self.model = b""

    @classmethod
    def _trained(cls, sentences: Any, vocab_size: int, character_coverage: float,
                 model_type: Any, params: dict[str, Any]) -> SentencePieceVocab:
        import io
        sentencepiece = needs("text", "sentencepiece")
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences), model_writer=model, vocab_size=vocab_size,
            character_coverage=character_coverage, model_type=model_type.name.lower(),
            minloglevel=2, **params)
        made = cls()
        made.model = model.getvalue()
        return made

    @classmethod
    def from_dataset(cls, dataset: Any, col_names: list[str], vocab_size: int,
                     character_coverage: float, model_type: Any,
                     params: dict[str, Any]) -> SentencePieceVocab:
        """Train on a dataset's columns. Another version of SentencePiece trains another model.

        Args:
            dataset, col_names: the dataset, and which columns; default: all.
            vocab_size, character_coverage, params: SentencePiece's settings.
            model_type: a SentencePieceModel.
        """
        names = col_names or dataset.columns
        sentences = [text for row in dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
                     for name in names for text in row[name].astype(str).reshape(-1).tolist()]
        return cls._trained(sentences, vocab_size, character_coverage, model_type, params)

    @classmethod
    def from_file(cls, file_path: list[str], vocab_size: int, character_coverage: float,
                  model_type: Any, params: dict[str, Any]) -> SentencePieceVocab:
        """Train on the lines of files; arguments as for `from_dataset`."""
        sentences = []
        for path in [file_path] if isinstance(file_path, str) else file_path:
            with open(path, encoding="utf-8") as opened:
                sentences += [line.rstrip("\n") for line in opened]
        return cls._trained(sentences, vocab_size, character_coverage, model_type, params)

    @classmethod
    def save_model(cls, vocab: SentencePieceVocab, path: str, filename: str) -> None:
        """Write the model to a file in a folder."""
        with open(os.path.join(path, filename), "wb") as opened:
            opened.write(vocab.model)


class SentencePieceTokenizer(TextTensorOperation):
    """Split texts into a SentencePiece model's pieces.

    Args:
        mode: the model's file, or a SentencePieceVocab.
        out_type: pieces or their ids, an SPieceTokenizerOutType.
    """

    def __init__(self, mode: Any, out_type: SPieceTokenizerOutType):
        if not isinstance(mode, (str, SentencePieceVocab)):
            raise TypeError(f"For 'SentencePieceTokenizer', 'mode' must be a path or a "
                            f"SentencePieceVocab, but got {type(mode).__name__}.")
        if not isinstance(out_type, SPieceTokenizerOutType):
            raise TypeError(f"For 'SentencePieceTokenizer', 'out_type' must be an "
                            f"SPieceTokenizerOutType, but got {out_type!r}.")
        self.mode, self.out_type = mode, out_type
        processor = needs("text", "sentencepiece").SentencePieceProcessor
        if isinstance(mode, str):
            self._processor = processor(model_file=existing_file(mode))
        else:
            self._processor = processor(model_proto=mode.model)

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The pieces or their ids."""
        text = self.text(value)
        if self.out_type is SPieceTokenizerOutType.INT:
            return np.array(self._processor.encode(text), np.int32)
        return np.array(self._processor.encode(text, out_type=str))


class PythonTokenizer(PyTensorOperation):
    """Split texts by a function.

    Args:
        tokenizer: takes a string and returns a list of tokens.
    """

    def __init__(self, tokenizer: Any):
        if not callable(tokenizer):
            raise TypeError(f"For 'PythonTokenizer', 'tokenizer' must be a function, but got "
                            f"{tokenizer!r}.")
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
