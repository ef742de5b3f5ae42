"""Operations on strings; what MindSpore gives is recorded in `conformance/cases/rows.py`."""

import numpy as np
import pytest

import lamella as ms
from lamella.dataset import text

WORDS = np.array(["a", "b"])


def test_bytes_and_back():
    words = np.array(["é", "b"])
    raw = text.to_bytes(words)
    assert raw.dtype.kind == "S" and raw.tolist() == ["é".encode(), b"b"]
    assert text.to_str(raw).tolist() == text.to_str(words).tolist() == ["é", "b"]
    assert text.to_str(text.to_bytes(words, "latin-1"), "latin-1").tolist() == ["é", "b"]


def test_groups_of_a_match_are_named_by_numbers():
    assert str(text.RegexReplace("(a)(b)", "$2$1$0!$09")("xab")) == "xbaab!ab9"
    assert str(text.RegexReplace("[ab]", "<$0>", False)("xab")) == "x<a>b"


def test_windows_wider_than_the_words_are_none():
    assert text.SlidingWindow(3)(WORDS).shape == (0, 3)
    assert text.SlidingWindow(2, -1)(WORDS).tolist() == [["a", "b"]]


@pytest.mark.parametrize("call, error, words", [
    (lambda: text.to_str("a"), TypeError, "'array' must be a NumPy array, but got str"),
    (lambda: text.to_bytes(["a"]), TypeError, "'array' must be a NumPy array, but got list"),
    (lambda: text.RegexReplace("(a)", "$2"), ValueError, r"group \$2, but '\(a\)' has 1 groups"),
    (lambda: text.Ngram([]), ValueError, "non-empty list of positive"),
    (lambda: text.Ngram("a"), ValueError, "'n' must be an int or a list of ints, but got 'a'"),
    (lambda: text.Ngram([1, True]), TypeError, r"gram\[1\]|'n' must be"),
    (lambda: text.Ngram([2, 0]), ValueError, "gram_1 must be greater than 0"),
    (lambda: text.Ngram(1, ("a", "b")), ValueError, "left_pad needs to be a tuple"),
    (lambda: text.Ngram(1, ("a", 0), (0, 1)), ValueError, "right_pad needs to be a tuple"),
    (lambda: text.Ngram(1, ("a", -1)), ValueError, "'left_pad' must not have a negative"),
    (lambda: text.Ngram(1)([["a"]]), RuntimeError, "must have one dimension|1D"),
    (lambda: text.Lookup(text.Vocab.from_list(["a"]), data_type="x"), TypeError, "data_type"),
    (lambda: text.ToNumber("x"), TypeError, "'data_type' must be a data type|data_type with value"),
    (lambda: text.ToNumber(ms.string), TypeError, "is not numeric data type"),
    (lambda: text.TruncateSequencePair(-1), ValueError, "'max_length' must be 0 or more"),
    (lambda: text.TruncateSequencePair("1"), TypeError, "'max_length' must be an int"),
    (lambda: text.TruncateSequencePair(1)(WORDS), RuntimeError, "wo inputs|two columns"),
    (lambda: text.RegexTokenizer("a", 1), TypeError, "type for keep_delim_pattern, should be str"),
    (lambda: text.RegexTokenizer("a", "", 1), TypeError, "type for with_offsets, should be bool"),
])
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
