"""The choices that operations on texts offer."""

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
    """What kind of model SentencePiece trains."""

    UNIGRAM = 0
    BPE = 1
    CHAR = 2
    WORD = 3


class SPieceTokenizerLoadType(IntEnum):
    """From what a SentencePiece model is loaded."""

    FILE = 0
    MODEL = 1


class SPieceTokenizerOutType(IntEnum):
    """What SentencePiece gives: pieces or their numbers."""

    STRING = 0
    INT = 1
