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
from .subwords import (
    BertTokenizer,
    SentencePieceTokenizer,
    SentencePieceVocab,
    WordpieceTokenizer,
)
from .tokenizers import (
    BasicTokenizer,
    JiebaTokenizer,
    PythonTokenizer,
    RegexTokenizer,
    UnicodeCharTokenizer,
    UnicodeScriptTokenizer,
    WhitespaceTokenizer,
)
from .vocab import CharNGram, FastText, GloVe, Vectors, Vocab
