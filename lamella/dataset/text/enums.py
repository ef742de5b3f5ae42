"""Enumerations for arguments of text operations."""

from __future__ import annotations

from enum import IntEnum


class JiebaMode(IntEnum):
    """How Chinese words are found: by a dictionary, a hidden Markov model, or both."""

    MIX = 0
    MP = 1
    HMM = 2


class NormalizeForm(IntEnum):
    """Unicode's normal forms."""

    NONE = 0
    NFC = 1
    NFKC = 2
    NFD = 3
    NFKD = 4


class SentencePieceModel(IntEnum):
    """The kind of model that SentencePiece trains."""

    UNIGRAM = 0
    BPE = 1
    CHAR = 2
    WORD = 3


class SPieceTokenizerLoadType(IntEnum):
    """What a SentencePiece model is loaded from."""

    FILE = 0
    MODEL = 1


class SPieceTokenizerOutType(IntEnum):
    """The output of SentencePiece: pieces or their ids."""

    STRING = 0
    INT = 1
