"""The names of this package; `make stubs` writes this file."""

from lamella.dataset.text import enums as enums
from lamella.dataset.text import operation as operation
from lamella.dataset.text import strings as strings
from lamella.dataset.text import subwords as subwords
from lamella.dataset.text import tokenizers as tokenizers
from lamella.dataset.text import vocab as vocab
from lamella.dataset.text.enums import (
    JiebaMode as JiebaMode, NormalizeForm as NormalizeForm,
    SPieceTokenizerLoadType as SPieceTokenizerLoadType,
    SPieceTokenizerOutType as SPieceTokenizerOutType, SentencePieceModel as SentencePieceModel,
)
from lamella.dataset.text.strings import (
    AddToken as AddToken, CaseFold as CaseFold, FilterWikipediaXML as FilterWikipediaXML,
    Lookup as Lookup, Ngram as Ngram, NormalizeUTF8 as NormalizeUTF8,
    RegexReplace as RegexReplace, SlidingWindow as SlidingWindow, ToNumber as ToNumber,
    ToVectors as ToVectors, Truncate as Truncate, TruncateSequencePair as TruncateSequencePair,
    to_bytes as to_bytes, to_str as to_str,
)
from lamella.dataset.text.subwords import (
    BertTokenizer as BertTokenizer, SentencePieceTokenizer as SentencePieceTokenizer,
    SentencePieceVocab as SentencePieceVocab, WordpieceTokenizer as WordpieceTokenizer,
)
from lamella.dataset.text.tokenizers import (
    BasicTokenizer as BasicTokenizer, JiebaTokenizer as JiebaTokenizer,
    PythonTokenizer as PythonTokenizer, RegexTokenizer as RegexTokenizer,
    UnicodeCharTokenizer as UnicodeCharTokenizer,
    UnicodeScriptTokenizer as UnicodeScriptTokenizer,
    WhitespaceTokenizer as WhitespaceTokenizer,
)
from lamella.dataset.text.vocab import (
    CharNGram as CharNGram, FastText as FastText, GloVe as GloVe, Vectors as Vectors,
    Vocab as Vocab,
)
