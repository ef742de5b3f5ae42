"""Operations on strings; what MindSpore gives is recorded in `conformance/cases/rows.py`."""

import re

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
    assert str(text.RegexReplace("[ab]", "<$0>")("xaba")) == "x<a><b><a>"
    for by, wanted in ((r"\n", "n"), (r"\\", "\\"), (r"\$1", "$1"), (r"\1", "1"), ("\n", "\n"),
                       (r"\g<0>", "g<0>"), (r"\x41", "x41"), (r"\u0041", "A"), (r"\\$1", r"\l")):
        assert str(text.RegexReplace("(l)", by)("hel")) == "he" + wanted  # as ICU has it


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
    (lambda: text.Ngram(True), TypeError, "'n' must be an int or a list of ints, but got True"),
    (lambda: text.Ngram(1, ["a", 1]), ValueError, "left_pad needs to be a tuple"),
    (lambda: text.Ngram(1, ("a", 1), ("b",)), ValueError, "right_pad needs to be a tuple"),
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


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
                                  "uint64"])
def test_whole_numbers_between_the_limits_of_their_type(kind):
    limits, parse = np.iinfo(kind), text.ToNumber(getattr(ms, kind))
    found = parse([[str(limits.min), "7"], ["+1", str(limits.max)]])
    assert found.dtype == kind and found.tolist() == [[limits.min, 7], [1, limits.max]]
    for number in (limits.min - 1, limits.max + 1):
        with pytest.raises(RuntimeError, match=f"{number} will be out of bounds if cast to {kind}"):
            parse(str(number))
    for word in ("1.5", "", "x", "1e3", "1_0", "\uff11"):
        with pytest.raises(RuntimeError, match=f'invalid to convert "{word}" to a number'):
            parse(word)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_numbers_with_fractions_between_the_limits_of_their_type(kind):
    parse, limits = text.ToNumber(getattr(ms, kind)), np.finfo(kind)
    words = ["-1.5", "2e1", repr(float(limits.max)), repr(float(limits.min)), "inf", "-INF", "nan"]
    found = parse(words)
    assert found.dtype == kind
    np.testing.assert_array_equal(found, [-1.5, 20, limits.max, limits.min, np.inf, -np.inf,
                                          np.nan])
    if kind != "float64":
        beyond = float(limits.max) * (1 + float(limits.eps) / 8)
        for word in ("1e39", "-1e39", repr(beyond), repr(-beyond)):
            with pytest.raises(RuntimeError, match=f"{re.escape(word)} will be out of bounds"):
                parse(word)
    for word in ("1,5", "1_0", "\uff11"):
        with pytest.raises(RuntimeError, match=f'invalid to convert "{word}"'):
            parse(word)


@pytest.mark.parametrize("size, left, right, wanted", [
    (1, 0, 0, ["a", "b", "c"]), (3, 0, 0, ["a-b-c"]), (4, 0, 0, [""]), (4, 1, 0, ["l-a-b-c"]),
    (4, 0, 1, ["a-b-c-r"]), (2, 1, 1, ["l-a", "a-b", "b-c", "c-r"]), (1, 5, 5, ["a", "b", "c"]),
    (3, 2, 0, ["l-l-a", "l-a-b", "a-b-c"]), ([1, 3, 4], 0, 0, ["a", "b", "c", "a-b-c", ""])])
def test_runs_of_words(size, left, right, wanted):
    found = text.Ngram(size, ("l", left), ("r", right), "-")(["a", "b", "c"])
    assert found.tolist() == wanted


def test_runs_of_words_are_joined_by_a_space_by_default():
    assert text.Ngram(2)(["a", "b"]).tolist() == ["a b"]


@pytest.mark.parametrize("begin", [True, False])
def test_a_token_is_added_to_each_row(begin):
    def added(row):
        return ["longer", *row] if begin else [*row, "longer"]

    add = text.AddToken("longer", begin)
    assert add(["a", "b"]).tolist() == added(["a", "b"])
    assert add([["a", "b"], ["c", "d"], ["e", "f"]]).tolist() == [
        added(row) for row in (["a", "b"], ["c", "d"], ["e", "f"])]
    for wrong in ("a", [[["a"]]]):
        with pytest.raises(RuntimeError, match="AddToken"):
            add(wrong)


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_rows_are_truncated_at_their_ends(most):
    cut = text.Truncate(most)
    assert cut(["a", "b", "c"]).tolist() == ["a", "b", "c"][:most]
    assert cut([["a", "b", "c"], ["d", "e", "f"]]).tolist() == [
        row[:most] for row in (["a", "b", "c"], ["d", "e", "f"])]
    for wrong in ("a", [[["a"]]]):
        with pytest.raises(RuntimeError, match="Truncate"):
            cut(wrong)


@pytest.mark.parametrize("first, second, most, left", [
    (5, 2, 7, (5, 2)), (5, 2, 6, (4, 2)), (5, 2, 4, (2, 2)), (5, 2, 3, (2, 1)), (2, 5, 5, (2, 3)),
    (3, 3, 5, (3, 2)), (3, 3, 4, (2, 2)), (3, 3, 0, (0, 0)), (0, 4, 3, (0, 3)), (1, 1, 1, (1, 0))])
def test_the_longer_sequence_is_truncated_first(first, second, most, left):
    one, two = np.arange(first), np.arange(second) + 10
    found = text.TruncateSequencePair(most)(one, two)
    assert [part.tolist() for part in found] == [one[:left[0]].tolist(), two[:left[1]].tolist()]


def test_ids_of_words_in_any_shape():
    vocab = text.Vocab.from_list(["a", "b", "c"])
    words = np.array([["b", "a"], ["c", "b"], ["a", "x"]])
    found = text.Lookup(vocab, "c", ms.int16)(words)
    assert found.dtype == np.int16 and found.tolist() == [[1, 0], [2, 1], [0, 2]]
    assert text.Lookup(vocab)("b").dtype == np.int32
    with pytest.raises(RuntimeError, match='"x" doesn\'t exist in vocab'):
        text.Lookup(vocab)(words)
    with pytest.raises(ValueError, match=r"unknown_token: \[x\], doesn't exist"):
        text.Lookup(vocab, "x")
    with pytest.raises(RuntimeError, match="data_type must be numeric"):
        text.Lookup(vocab, None, ms.string)("a")


@pytest.mark.parametrize("given, wanted", [
    ("", ""), ("#REDIRECT [[Other]] words", ""), ("  #REDIRECT x", ""),
    ("x #REDIRECT", ""), ("x #redirect y", ""), ("<a> x <b>\ny", "y"),
    ("<page a='1'>Hello <b>World</b></page>", ""), ("a <b\nc> d", "a d"), ("<a\nb", "a b"),
    ("see [[Image:a.png]] and [[image:B|c]] it", "see image a png and image b c it"),
    ("{{cite|x}}a{{y}} [[b|shown]] [[plain]]", "cite x a y b shown plain"),
    ("[http://x.y/z a link] a&nbsp;b&#39;c", "http x y z a link a b c"),
    ("a&lt;b&amp;c", "a b c"), ("\u0130x K elvin \u00dcnder", "x k elvin nder"),
    ("a\n b {|t\n|}c\nd", "ab tc d"), ("in 1990, 28%", "in one nine nine zero two eight")])
def test_words_of_pages_of_wikipedia(given, wanted):
    """Recorded from MindSpore 2.10."""
    assert str(text.FilterWikipediaXML()(given)) == wanted


def test_windows_slide_along_the_only_dimension():
    given = np.arange(5)
    assert text.SlidingWindow(3, 0)(given).tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    assert text.SlidingWindow(5, -1)(given).tolist() == [[0, 1, 2, 3, 4]]
    assert text.SlidingWindow(6)(given).shape == (0, 6)
    for wrong in (given[None], np.array(3)):
        with pytest.raises(RuntimeError, match="SlidingWindow"):
            text.SlidingWindow(1)(wrong)
    with pytest.raises(RuntimeError, match="SlidingWindow"):
        text.SlidingWindow(1, 1)(given)
