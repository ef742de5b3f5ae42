"""Vocabularies and vectors of words."""

import numpy as np
import pytest

import lamella.dataset as ds
from lamella.dataset import text


def test_special_words_are_first_or_last():
    assert text.Vocab.from_list(["b", "a"], ["<p>"]).vocab() == {"<p>": 0, "b": 1, "a": 2}
    assert text.Vocab.from_list(["b", "a"], ["<p>"], False).vocab() == {"b": 0, "a": 1, "<p>": 2}


def test_ids_and_words_are_looked_up_one_or_several():
    vocab = text.Vocab.from_dict({"a": 3, "b": 7})
    assert vocab.tokens_to_ids("b") == 7 and vocab.tokens_to_ids("c") == -1
    assert vocab.tokens_to_ids(["a", "c"]) == vocab.tokens_to_ids(np.array(["a", "c"])) == [3, -1]
    assert vocab.ids_to_tokens(7) == "b" and vocab.ids_to_tokens(0) == ""
    assert vocab.ids_to_tokens([3, 4]) == vocab.ids_to_tokens(np.array([3, 4])) == ["a", ""]


@pytest.mark.parametrize("options, wanted", [
    ({}, ["a,1", "b,2", "c,3"]), ({"delimiter": ","}, ["a", "b", "c"]),
    ({"delimiter": ",", "vocab_size": 2}, ["a", "b"]),
    ({"delimiter": ",", "special_tokens": ["z"]}, ["z", "a", "b", "c"])])
def test_words_of_a_file(tmp_path, options, wanted):
    (tmp_path / "words").write_text("a,1\nb,2\r\nc,3\n")
    vocab = text.Vocab.from_file(str(tmp_path / "words"), **options).vocab()
    assert vocab == {word: number for number, word in enumerate(wanted)}


@pytest.mark.parametrize("options, wanted", [
    ({}, ["c", "a", "b", "d"]), ({"freq_range": (2, None)}, ["c", "a"]),
    ({"freq_range": (None, 2)}, ["a", "b", "d"]), ({"freq_range": (2, 2)}, ["a"]),
    ({"top_k": 3}, ["c", "a", "b"]), ({"columns": "x", "top_k": 1}, ["c"])])
def test_words_of_a_dataset_by_how_often_they_come(options, wanted):
    data = ds.NumpySlicesDataset({"x": ["c", "a", "d"], "y": ["c", "b", "a"], "z": ["c"] * 3},
                                 shuffle=False).project(["x", "y"])
    data = data.concat(ds.NumpySlicesDataset({"x": ["c"], "y": ["c"]}))
    assert list(text.Vocab.from_dataset(data, **options).vocab()) == wanted


VECTORS = "2 3\na 1 2 3\nb 4 5 6\na 7 8 9\n"


def test_vectors_of_a_file(tmp_path):
    path = tmp_path / "words"
    path.write_text(VECTORS)
    vectors = text.Vectors.from_file(str(path))
    look_up = text.ToVectors(vectors, [9.0, 9.0, 9.0])
    np.testing.assert_array_equal(look_up(np.array(["b", "a", "B"])),
                                  [[4, 5, 6], [1, 2, 3], [9, 9, 9]])
    np.testing.assert_array_equal(text.ToVectors(vectors)("B"), [0, 0, 0])
    np.testing.assert_array_equal(
        text.ToVectors(vectors, lower_case_backup=True)(np.array([["B"], ["C"]])),
        [[[4, 5, 6]], [[0, 0, 0]]])
    assert text.Vectors.from_file(str(path), 1).vector("b") is None


def test_a_word_s_vector_is_the_mean_of_its_parts(tmp_path):
    lines = {"2gram-ab": (1, 2), "3gram-#BEGIN#ab": (3, 4), "4gram-#BEGIN#ab#END#": (8, 6),
             "2gram-b#END#": (0, 0), "2gram-ba": (50, 50), "5gram-x": (70, 70),
             "4gram-ab#END#": (90, 90)}
    path = tmp_path / "parts"
    path.write_text("".join(f"{word} {x} {y}\n" for word, (x, y) in lines.items()))
    vectors = text.CharNGram.from_file(str(path))
    np.testing.assert_array_equal(vectors.vector("ab"), [3, 3])
    assert vectors.vector("xyz") is None


@pytest.mark.parametrize("call, error, words", [
    (lambda: text.Vocab.from_list(["a", 1]), TypeError, r"word_list\[1\]|list of str"),
    (lambda: text.Vocab.from_list(["b", "a", "a"]), ValueError, "word_list contains.* word: a"),
    (lambda: text.Vocab.from_list(["a"], ["z", "z"]), ValueError, "special_tokens contains.*: z"),
    (lambda: text.Vocab.from_list(["a"], ["a"]), ValueError, "special_tokens and word_list con"),
    (lambda: text.Vocab.from_dict(["a"]), TypeError, "word_dict"),
    (lambda: text.Vocab.from_dict({1: 1}), TypeError, "words must be str and numbers ints"),
    (lambda: text.Vocab.from_dict({"a": True}), TypeError, "words must be str and numbers ints"),
    (lambda: text.Vocab.from_dict({"a": -1}), ValueError, "numbers must be 0 or more"),
    (lambda: text.Vocab.from_file("/no/such"), RuntimeError, "there is no file '/no/such'"),
    (lambda: text.Vocab.from_file(__file__, vocab_size=0), ValueError, "vocab_size"),
    (lambda: text.Vocab.from_dataset(ds.NumpySlicesDataset([1])), RuntimeError, "must be strings"),
    (lambda: text.Vocab.from_list(["a"]).tokens_to_ids([1]), TypeError, r"tokens\[0\]"),
    (lambda: text.Vocab.from_list(["a"]).ids_to_tokens([0, True]), TypeError, r"ids\[1\]"),
    (lambda: text.Vocab().ids_to_tokens(0), RuntimeError, "has not been initialized"),
])
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_unknown_words_need_a_vector_of_the_same_length(tmp_path):
    (tmp_path / "words").write_text(VECTORS)
    vectors = text.Vectors.from_file(str(tmp_path / "words"))
    with pytest.raises(RuntimeError, match="unk_init: 2 and vectors: 3"):
        text.ToVectors(vectors, [1.0, 2.0])


@pytest.mark.parametrize("size", [0, -1, True, 1.5, "2"])
def test_how_many_words_are_read_is_a_positive_int(tmp_path, size):
    (tmp_path / "words").write_text("a\nb\nc\n")
    path = str(tmp_path / "words")
    assert text.Vocab.from_file(path, vocab_size=1).vocab() == {"a": 0}
    assert text.Vocab.from_file(path, vocab_size=9).vocab() == {"a": 0, "b": 1, "c": 2}
    with pytest.raises((ValueError, TypeError), match="vocab_size"):
        text.Vocab.from_file(path, vocab_size=size)


def test_ids_are_0_or_more():
    assert text.Vocab.from_dict({"a": 0, "b": 9}).ids_to_tokens([0, 9, 1]) == ["a", "b", ""]


def test_a_header_is_a_first_line_of_two_numbers(tmp_path):
    path = tmp_path / "words"
    for lines, wanted in (("a 1 2\nb 3 4\n", {"a": [1, 2], "b": [3, 4]}),
                          ("2 2\na 1 2\n", {"a": [1, 2]}), ("a 1 2\n", {"a": [1, 2]})):
        path.write_text(lines)
        found = text.Vectors.from_file(str(path))
        assert {word: value.tolist() for word, value in found.vectors.items()} == wanted
        assert found.dim == 2
    for lines, words in (("a 1 2\nb 3\n", "1-dimensional vector. Line 2"),
                         ("a 1 2\nb 3 4 5\n", "got dim 3 while expecting 2 in line 2"),
                         ("a\n", "1-dimensional vector. Line 1")):
        path.write_text(lines)
        with pytest.raises(RuntimeError, match=words):
            text.Vectors.from_file(str(path))


@pytest.mark.parametrize("most", [None, 1, 2, 3, 4])
def test_at_most_so_many_vectors_are_read(tmp_path, most):
    (tmp_path / "words").write_text("a 1 2\na 5 6\nb 3 4\nc 7 8\n")
    found = text.Vectors.from_file(str(tmp_path / "words"), most)
    assert list(found.vectors) == ["a", "b", "c"][:most]
    assert found.vector("a").tolist() == [1, 2]
