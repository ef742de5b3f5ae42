"""Tokenizers at the ends of the ranges of characters, and what each option keeps."""

import string

import numpy as np
import pytest

from lamella.dataset import text as T  # noqa: N812

# of BERT's tokenizer: CJK Unified Ideographs, their extensions A to E, and compatibility
CHINESE = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2CEAF),
           (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]


@pytest.mark.parametrize("code, alone", [
    (code, any(low <= code <= high for low, high in CHINESE))
    for ends in CHINESE for end in ends for code in (end - 1, end, end + 1)])
def test_each_chinese_character_is_a_token(code, alone):
    found = T.BasicTokenizer()(f"a{chr(code)}b").tolist()
    assert found == (["a", chr(code), "b"] if alone else [f"a{chr(code)}b"])


def test_ascii_that_is_no_letter_and_no_digit_is_punctuation():
    letters = string.ascii_letters + string.digits
    for code in range(33, 127):
        found = T.BasicTokenizer()(f"a{chr(code)}b").tolist()
        assert found == ([f"a{chr(code)}b"] if chr(code) in letters else ["a", chr(code), "b"])
    for sign, is_mark in (("«", True), ("。", True), ("–", True), ("€", False), ("±", False)):
        found = T.BasicTokenizer()(f"a{sign}b").tolist()
        assert found == (["a", sign, "b"] if is_mark else [f"a{sign}b"])


@pytest.mark.parametrize("sign", ["\x1c", "\x1d", "\x1e", "\x1f"])
def test_separators_of_files_are_no_white_space(sign):
    given = f"a{sign}b c"
    assert T.WhitespaceTokenizer()(given).tolist() == [f"a{sign}b", "c"]
    assert sign in T.UnicodeScriptTokenizer()(given).tolist()


@pytest.mark.parametrize("sign", [" ", "\t", "\n", "\x0b", "\x0c", "\r", "\x85", "\xa0", "\u3000"])
def test_what_is_white_space(sign):
    given = f"{sign}é{sign}{sign}b{sign}"
    words, begins, ends = T.WhitespaceTokenizer(True)(given)
    size = len(sign.encode())
    assert words.tolist() == ["é", "b"]
    assert begins.tolist() == [size, 3 * size + 2] and ends.tolist() == [size + 2, 3 * size + 3]
    assert T.UnicodeScriptTokenizer()(given).tolist() == ["é", "b"]
    assert T.UnicodeScriptTokenizer(True)(given).tolist() == [sign, "é", sign * 2, "b", sign]


@pytest.mark.parametrize("given, words, begins, ends", [
    ("", [""], [0], [0]), ("  ", [""], [0], [0]), ("é", ["é"], [0], [2]),
    (" é北 b", ["é北", "b"], [1, 7], [6, 8])])
def test_offsets_are_in_bytes(given, words, begins, ends):
    found = T.WhitespaceTokenizer(True)(given)
    assert [part.tolist() for part in found] == [words, begins, ends]
    assert [part.dtype for part in found[1:]] == [np.uint32] * 2
    assert T.WhitespaceTokenizer()(given).tolist() == words


@pytest.mark.parametrize("delimiter, kept, wanted", [
    (r"\s+", "", ["ab", "c,,d"]), (r"\s+", r"\s", ["ab", "c,,d"]),
    (r"\s+", r"\s\s", ["ab", "  ", "c,,d"]), (r"\s+|,", r",", ["ab", "c", ",", ",", "d"]),
    (r"[a,]", "a|,", ["a", "b  c", ",", ",", "d"]), (r"d", "d", ["ab  c,,", "d"]),
    (r"d", "x", ["ab  c,,"]), (r"x*", "", ["ab  c,,d"]), (r",*", ",,", ["ab  c", ",,", "d"])])
def test_a_delimiter_is_kept_if_all_of_it_matches(delimiter, kept, wanted):
    given = "ab  c,,d"
    words, begins, ends = T.RegexTokenizer(delimiter, kept, True)(given)
    assert words.tolist() == wanted
    assert [given[b:e] for b, e in zip(begins, ends, strict=True)] == wanted


@pytest.mark.parametrize("options, wanted", [
    ({}, ["É", "[CLS]", "B", "-", "c"]), ({"preserve_unused_token": False},
                                         ["É", "[", "CLS", "]", "B", "-", "c"]),
    ({"lower_case": True}, ["e", "[CLS]", "b", "-", "c"]),
    ({"lower_case": True, "preserve_unused_token": False}, ["e", "[", "cls", "]", "b", "-", "c"]),
    ({"keep_whitespace": True}, [" ", "É", " ", "[CLS]", "B", "  ", "-", " ", "c"]),
    ({"normalization_form": T.NormalizeForm.NFD}, ["E\u0301", "[CLS]", "B", "-", "c"])])
def test_options_of_the_basic_tokenizer(options, wanted):
    given = " É [CLS]B \t- c"
    words, begins, ends = T.BasicTokenizer(**options, with_offsets=True)(given)
    assert words.tolist() == wanted
    prepared = (given.replace("\t", " ") if "lower_case" not in options else
                given.replace("\t", " ").replace("É", "e").replace("B", "b")).encode()
    if options.get("normalization_form"):
        prepared = given.replace("É", "E\u0301").encode()
    found = [prepared[b:e].decode() for b, e in zip(begins, ends, strict=True)]
    assert [part.lower() for part in found] == [w.lower() for w in wanted]


@pytest.mark.parametrize("token, whole", [
    ("[CLS]", True), ("[SEP]", True), ("[UNK]", True), ("[PAD]", True), ("[MASK]", True),
    ("[unused0]", True), ("[unused99]", True), ("[unused]", False), ("[cls]", False),
    ("[EOS]", False)])
def test_which_tokens_are_kept(token, whole):
    wanted = [token] if whole else ["[", token[1:-1], "]"]
    assert T.BasicTokenizer()(f"a{token}b").tolist() == ["a", *wanted, "b"]


def test_control_characters_become_white_space():
    for sign in ("\x00", "\x07", "\u200b", "\ufeff"):
        assert T.BasicTokenizer()(f"a{sign}b").tolist() == ["a", "b"]


VOCAB = T.Vocab.from_list(["ab", "a", "##b", "##bé", "##c", "é", "##é"])


@pytest.mark.parametrize("word, most, unknown, pieces, begins, ends", [
    ("ab", 100, "[UNK]", ["ab"], [0], [2]), ("abc", 100, "[UNK]", ["ab", "##c"], [0, 2], [2, 3]),
    ("abéc", 100, "[UNK]", ["ab", "##é", "##c"], [0, 2, 4], [2, 4, 5]),
    ("aé", 100, "[UNK]", ["a", "##é"], [0, 1], [1, 3]), ("éb", 3, "[UNK]", ["é", "##b"], [0, 2],
                                                          [2, 3]),
    ("éb", 2, "[UNK]", ["[UNK]"], [0], [5]), ("éb", 2, "", ["éb"], [0], [3]),
    ("x", 100, "?", ["?"], [0], [1]), ("ax", 100, "", ["ax"], [0], [2])])
def test_words_are_split_into_the_longest_pieces(word, most, unknown, pieces, begins, ends):
    cut = T.WordpieceTokenizer(VOCAB, "##", most, unknown, True)
    assert [part.tolist() for part in cut(word)] == [pieces, begins, ends]
    assert T.WordpieceTokenizer(VOCAB, "##", most, unknown)(word).tolist() == pieces
    for words in ([word, "ab"], [["ab"], [word]]):
        found = T.WordpieceTokenizer(VOCAB, "##", most, unknown)(words).tolist()
        assert sorted(found) == sorted([*pieces, "ab"])


def test_pieces_have_the_prefix_that_is_given_and_a_size_of_0_or_more():
    vocab = T.Vocab.from_list(["a", "__b"])
    assert T.WordpieceTokenizer(vocab, "__")("ab").tolist() == ["a", "__b"]
    assert T.WordpieceTokenizer(vocab, "__", 0)("a").tolist() == ["[UNK]"]
    for wrong in (-1, True, 1.0):
        with pytest.raises((ValueError, TypeError), match="max_bytes_per_token|not within"):
            T.WordpieceTokenizer(vocab, "__", wrong)


def test_offsets_of_bert_are_those_in_the_whole_text():
    words, begins, ends = T.BertTokenizer(VOCAB, with_offsets=True)("é  abc, aé")
    assert words.tolist() == ["é", "ab", "##c", "[UNK]", "a", "##é"]
    assert begins.tolist() == [0, 4, 6, 7, 9, 10]
    assert ends.tolist() == [2, 6, 7, 8, 10, 12]
    assert T.BertTokenizer(VOCAB, lower_case=True)("ABC").tolist() == ["ab", "##c"]


@pytest.mark.parametrize("given, wanted", [
    ("abcДЕж", ["abc", "Деж"]), ("漢字かなカナ", ["漢字", "かな", "カナ"]),
    ("한국αβγ", ["한국", "αβγ"]), ("שלוםسلام", ["שלום", "سلام"]),
    ("हिन्दीไทย", ["हिन्दी", "ไทย"]), ("a1,b", ["a", "1,", "b"]), ("ქართულიabc", ["ქართული", "abc"])])
def test_texts_are_cut_where_the_script_changes(given, wanted):
    assert [word.lower() for word in T.UnicodeScriptTokenizer()(given).tolist()] == [
        word.lower() for word in wanted]


def test_a_tokenizer_of_the_program_gets_text():
    cut = T.PythonTokenizer(lambda given: [type(given).__name__, *given.split("é")])
    for given in ("aéb", np.array("aéb"), np.array("aéb".encode()), np.array(["aéb".encode()])):
        assert cut(given).tolist() == ["str", "a", "b"]
    with pytest.raises(TypeError, match="should be a NumPy array or str, got <class 'list'>"):
        cut(["aéb"])
