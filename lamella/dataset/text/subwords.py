"""Subword tokenizers: WordPiece and BERT's, SentencePiece."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np

from ...core.require import of_type
from ..arguments import checked_call
from ..checks import existing_file
from ..errors import needs
from ..transforms.operation import Streams, Values
from .enums import NormalizeForm, SPieceTokenizerOutType
from .operation import TextTensorOperation
from .tokenizers import BasicTokenizer, Found
from .vocab import Vocab, of_vocab


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
        of_vocab(vocab, name)
        if isinstance(max_bytes_per_token, bool) or not isinstance(
                max_bytes_per_token, int) or max_bytes_per_token < 0:
            raise ValueError("Input is not within the required interval of [0, 4294967295]. For "
                             f"'{name}', 'max_bytes_per_token' must be an int of 0 or more, "
                             f"but got {max_bytes_per_token!r}.")
        self.vocab, self.suffix_indicator = vocab, suffix_indicator
        self.max_bytes_per_token, self.unknown_token = max_bytes_per_token, unknown_token
        self.with_offsets = with_offsets
        self._known = set(vocab.vocab())

    def pieces(self, word: str) -> Found:
        """The pieces of a word with their offsets in bytes."""
        token, size = self.unknown_token or word, len(word.encode())
        if size > self.max_bytes_per_token:
            return [(token, 0, len(token.encode()))]  # as MindSpore's: the end is the token's
        whole = [(token, 0, size)]
        found: Found = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = (self.suffix_indicator if start else "") + word[start:end]
                if piece in self._known:
                    found.append((piece, len(word[:start].encode()), len(word[:end].encode())))
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
                starts.append(start)
                ends.append(end)
        return self._given(found, starts, ends)

    def _given(self, found: list[str], starts: list[int], ends: list[int]) -> Values:
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
                firsts.append(before + start)
                lasts.append(before + end)
        return self._given(found, firsts, lasts)


class SentencePieceVocab:
    """A SentencePiece model."""

    def __init__(self) -> None:
        self.model = b""

    @classmethod
    def _trained(cls, sentences: Any, vocab_size: int, character_coverage: float,
                 model_type: Any, params: dict[str, Any]) -> SentencePieceVocab:
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
    @checked_call("SentencePieceVocab.from_dataset")
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
    @checked_call("SentencePieceVocab.from_file")
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
        of_type(out_type, SPieceTokenizerOutType, "out_type", "SentencePieceTokenizer")
        self.mode, self.out_type = mode, out_type
        processor = needs("text", "sentencepiece").SentencePieceProcessor
        try:
            self._processor = processor(model_file=existing_file(mode)) if isinstance(
                mode, str) else processor(model_proto=mode.model)
        except (OSError, RuntimeError) as error:
            raise RuntimeError(f"For 'SentencePieceTokenizer', the model {mode!r} can't be read: "
                               f"{error}") from error

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The pieces or their ids."""
        text = self.text(value)
        if self.out_type is SPieceTokenizerOutType.INT:
            return np.array(self._processor.encode(text), np.int32)
        return np.array(self._processor.encode(text, out_type=str))
