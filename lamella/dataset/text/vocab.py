"""Vocabularies, which map words to ids, and word vectors."""

from __future__ import annotations

import collections
import fnmatch
import os
from typing import Any

import numpy as np

from ...core.reading import reading
from ..arguments import checked_call
from ..checks import LARGEST, in_interval, of_type
from ..node import Dataset


class Vocab:
    """A mapping of words to ids.

    Examples:
        >>> from lamella.dataset import text
        >>> vocab = text.Vocab.from_list(["deep", "learning"], special_tokens=["<unk>"])
        >>> vocab.tokens_to_ids(["learning", "never"]), vocab.ids_to_tokens(0)
        ([2, -1], '<unk>')
    """

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._words: dict[int, str] = {}

    @classmethod
    def _of(cls, ids: dict[str, int]) -> Vocab:
        made = cls()
        made._ids, made._words = ids, {number: word for word, number in ids.items()}
        return made

    @classmethod
    @checked_call("Vocab.from_list")
    def from_list(cls, word_list: list[str], special_tokens: list[str] | None = None,
                  special_first: bool = True) -> Vocab:
        """A vocabulary of the words of a list, in that order.

        Args:
            word_list: the words.
            special_tokens: further words.
            special_first: whether the special tokens come first.

        Raises:
            ValueError: if there are duplicates.
        """
        for argument, words in (("word_list", word_list), ("special_tokens", special_tokens or [])):
            if not isinstance(words, list) or not all(isinstance(w, str) for w in words):
                raise TypeError(f"For 'Vocab.from_list', '{argument}' must be a list of str, but "
                                f"got {words!r}.")
            if len(set(words)) != len(words):
                twice = [w for w, n in collections.Counter(words).items() if n > 1]
                raise ValueError(f"For 'Vocab.from_list', {argument} contains duplicate word: "
                                 f"{twice[0]}.")
        special = special_tokens or []
        both = set(special) & set(word_list)
        if both:
            raise ValueError(f"For 'Vocab.from_list', special_tokens and word_list contain "
                             f"duplicate word: {sorted(both)[0]}.")
        words = [*special, *word_list] if special_first else [*word_list, *special]
        return cls._of({word: number for number, word in enumerate(words)})

    @classmethod
    @checked_call("Vocab.from_dict")
    def from_dict(cls, word_dict: dict[str, int]) -> Vocab:
        """A vocabulary with these ids."""
        if not isinstance(word_dict, dict):
            raise TypeError(f"For 'Vocab.from_dict', 'word_dict' must be a dict, but got "
                            f"{word_dict!r}.")
        for word, number in word_dict.items():
            if not isinstance(word, str) or isinstance(number, bool) or not isinstance(number, int):
                raise TypeError(f"For 'Vocab.from_dict', words must be str and numbers ints, but "
                                f"got {word!r}: {number!r}.")
            if number < 0:
                raise ValueError(f"{in_interval('word_id', 0, LARGEST)} For "
                                 f"'Vocab.from_dict', numbers must be 0 or more, but got "
                                 f"{word!r}: {number}.")
        return cls._of(dict(word_dict))

    @classmethod
    @checked_call("Vocab.from_file")
    def from_file(cls, file_path: str, delimiter: str = "", vocab_size: int | None = None,
                  special_tokens: list[str] | None = None, special_first: bool = True) -> Vocab:
        """A vocabulary of the words of a file, one on each line.

        Args:
            file_path: the file.
            delimiter: what ends the word on a line; default: the end of the line.
            vocab_size: read at most this many.
            special_tokens, special_first: as for `from_list`.

        Raises:
            RuntimeError: if there is no such file.
        """
        if not os.path.isfile(file_path):
            raise RuntimeError(f"For 'Vocab.from_file', there is no file {file_path!r}.")
        if vocab_size is not None and (isinstance(vocab_size, bool) or not isinstance(
                vocab_size, int) or vocab_size < 1):
            raise ValueError(f"For 'Vocab.from_file', 'vocab_size' must be a positive int, but got "
                             f"{vocab_size!r}.")
        words = []
        with reading("Vocab.from_file", file_path), open(file_path, encoding="utf-8") as opened:
            for line in opened:
                line = line.rstrip("\r\n")
                words.append(line.split(delimiter)[0] if delimiter else line)
                if vocab_size is not None and len(words) == vocab_size:
                    break
        return cls.from_list(words, special_tokens, special_first)

    @classmethod
    @checked_call("Vocab.from_dataset")
    def from_dataset(cls, dataset: Dataset, columns: Any = None, freq_range: Any = None,
                     top_k: int | None = None, special_tokens: list[str] | None = None,
                     special_first: bool = True) -> Vocab:
        """A vocabulary of the words in a dataset's columns, the most frequent first.

        Args:
            dataset: the dataset.
            columns: which; default: all.
            freq_range: (min, max) of the frequency of words to keep; either may be None.
            top_k: keep at most this many.
            special_tokens, special_first: as for `from_list`.
        """
        names = dataset._listed("Vocab.from_dataset", columns) if columns else dataset.columns
        counts: collections.Counter[str] = collections.Counter()
        for row in dataset.create_dict_iterator(num_epochs=1, output_numpy=True):
            for name in names:
                if row[name].dtype.kind not in "US":
                    raise RuntimeError(f"For 'Vocab.from_dataset', the column {name!r} must be "
                                       f"strings, but is {row[name].dtype}.")
                counts.update(row[name].astype(str).reshape(-1).tolist())
        low, high = freq_range or (None, None)
        words = [w for w, n in counts.items()
                 if (low is None or n >= low) and (high is None or n <= high)]
        words.sort(key=lambda word: (-counts[word], word))
        return cls.from_list(words[:top_k], special_tokens, special_first)

    def vocab(self) -> dict[str, int]:
        """The ids by word."""
        return dict(self._ids)

    @checked_call("Vocab.tokens_to_ids")
    def tokens_to_ids(self, tokens: Any) -> Any:
        """The id of a word, or of each in a list; -1 for unknown words."""
        self._filled("tokens_to_ids")
        if isinstance(tokens, np.ndarray):
            tokens = tokens.tolist()
        if isinstance(tokens, str):
            return self._ids.get(tokens, -1)
        for place, token in enumerate(tokens):
            if not isinstance(token, str):
                raise TypeError(f"{of_type(f'tokens[{place}]', token, str, np.str_)} For "
                                f"'tokens_to_ids', words must be str.")
        return [self._ids.get(token, -1) for token in tokens]

    def _filled(self, name: str) -> None:
        """Raises RuntimeError if there are no words."""
        if not self._ids:
            raise RuntimeError(f"Vocab has not been initialized. For '{name}', it must be made by "
                               f"'from_list', 'from_dict', 'from_file' or 'from_dataset'.")

    @checked_call("Vocab.ids_to_tokens")
    def ids_to_tokens(self, ids: Any) -> Any:
        """The word of an id, or of each in a list; "" for unknown ids."""
        self._filled("ids_to_tokens")
        if isinstance(ids, np.ndarray):
            ids = ids.tolist()
        if isinstance(ids, int):
            return self._words.get(ids, "")
        for place, number in enumerate(ids):
            if isinstance(number, bool) or not isinstance(number, int):
                raise TypeError(f"{of_type(f'ids[{place}]', number, int, np.int64)} For "
                                f"'ids_to_tokens', numbers must be ints, but got {number!r}.")
        return [self._words.get(number, "") for number in ids]


def of_vocab(vocab: Any, name: str) -> None:
    """Refuse anything but a vocabulary.

    Raises:
        TypeError: in MindSpore's words.
    """
    if not isinstance(vocab, Vocab):
        raise TypeError("Argument vocab is not an instance of text.Vocab. with value "
                        f"{vocab} is not of type [{Vocab}], but got {type(vocab)}. For '{name}', "
                        "'vocab' must be a Vocab.")


class Vectors:
    """A vector for each word, from a file.

    Each line has a word and its numbers; a first line of two numbers is a header (fastText).
    """

    _files = ""  # what the names of its files look like

    def __init__(self) -> None:
        self.vectors: dict[str, np.ndarray] = {}
        self.dim = 0

    @classmethod
    @checked_call("Vectors.from_file")
    def from_file(cls, file_path: str, max_vectors: int | None = None) -> Any:
        """The vectors of a file.

        Args:
            file_path: the file.
            max_vectors: read at most this many.

        Raises:
            RuntimeError: if there is no such file, it is empty or of another name, or its lines
                have different counts of numbers, or one only.
        """
        cls._check_file(file_path)
        made = cls()
        with reading(f"{cls.__name__}.from_file", file_path), open(
                file_path, encoding="utf-8") as opened:
            for number, line in enumerate(opened):
                word, *values = line.rstrip().split(" ")
                if number == 0 and len(values) == 1:
                    continue
                if len(values) < 2:
                    raise RuntimeError(f"{cls.__name__}: token with 1-dimensional vector. Line "
                                       f"{number + 1} of {file_path} is {line!r}.")
                if made.dim and len(values) != made.dim:
                    raise RuntimeError(
                        f"{cls.__name__}: all vectors must have the same number of dimensions, but "
                        f"got dim {len(values)} while expecting {made.dim} in line {number + 1} of "
                        f"{file_path}.")
                made.dim = len(values)
                made.vectors.setdefault(word, np.array(values, np.float32))
                if max_vectors is not None and len(made.vectors) == max_vectors:
                    break
        return made

    @classmethod
    def _check_file(cls, path: str) -> None:
        """Check that there is a file, with something in it, of the name that the class asks for."""
        name, pattern = cls.__name__, cls._files
        if not os.path.isfile(path):
            what = f"invalid file, failed to open {name} file." if pattern else \
                f"get real path failed, path: {path}"
            raise RuntimeError(f"{name}: {what} There is no file {path!r}.")
        if pattern and not fnmatch.fnmatch(os.path.basename(path), pattern):
            raise RuntimeError(f"{name}: invalid file, can not find file '{pattern}', but got: "
                               f"{path}")
        if os.path.getsize(path) == 0:
            raise RuntimeError(f"{name}: invalid file, file is empty. It is {path!r}.")

    def vector(self, word: str) -> np.ndarray | None:
        """The vector of a word, if it has one."""
        return self.vectors.get(word)


class GloVe(Vectors):
    """Vectors of GloVe's files ``glove.6B.*.txt`` (Pennington et al. 2014)."""

    _files = "glove.6B.*.txt"


class FastText(Vectors):
    """Vectors of fastText's files ``*.vec`` (Bojanowski et al. 2016)."""

    _files = "*.vec"


class CharNGram(Vectors):
    """Vectors of character n-grams (Hashimoto et al. 2016); a word's is the mean of those of its
    n-grams."""

    def vector(self, word: str) -> np.ndarray | None:
        """The vector of a word, if it has one."""
        letters = ["#BEGIN#", *word, "#END#"]
        found = []
        for size in (2, 3, 4):
            for start in range(len(letters) - size + 1):
                group = "".join(letters[start:start + size])
                vector = self.vectors.get(f"{size}gram-{group}")
                if vector is not None:
                    found.append(vector)
        return np.mean(found, 0).astype(np.float32) if found else None
