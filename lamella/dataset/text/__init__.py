"""Text operations: vocabularies, tokenizers, lookup."""

from .enums import (
    JiebaMode,
    NormalizeForm,
    SentencePieceModel,
    SPieceTokenizerLoadType,
    SPieceTokenizerOutType,
)
from .strings import (
    AddToken,
    CaseFold,
    FilterWikipediaXML,
    Lookup,
    Ngram,
    NormalizeUTF8,
    RegexReplace,
    SlidingWindow,
    ToNumber,
    ToVectors,
    Truncate,
    TruncateSequencePair,
    to_bytes,
    to_str,
)
from .tokenizers import (
    BasicTokenizer,
    BertTokenizer,
    JiebaTokenizer,
    PythonTokenizer,
    RegexTokenizer,
    SentencePieceTokenizer,
    SentencePieceVocab,
    UnicodeCharTokenizer,
    UnicodeScriptTokenizer,
    WhitespaceTokenizer,
    WordpieceTokenizer,
)
from .vocab import CharNGram, FastText, GloVe, Vectors, Vocab
