"""Text operations, against what MindSpore 2.10 gave."""

import json
import pathlib

import numpy as np
import pytest

import lamella as ms
import lamella.dataset as ds
from lamella.dataset import text as T

RECORDED = json.loads(
    (pathlib.Path(__file__).parents[2] / "data/text_recorded.json").read_text(encoding="utf-8"))
TEXTS = ["Welcome to Beijing! 北京欢迎您", "  a  B\tc\n", "ÀÉÎ ﬁne ＡＢＣ ½ Straße",
         "don't stop-me 3.14, [CLS] x [unused1] [SEP]", "我不说您好,也 say hi", "Привет мир Hello",
         "unwanted running xyzzy 😀 ok"]
N = T.NormalizeForm
VOCAB = T.Vocab.from_list("[UNK] un ##want ##ed run ##ning hello a b c say hi x 我 您 好 welcome "
                          "to [CLS] [SEP] ! , don ' t stop - me".split())
TOKENIZERS = {
    "ws": T.WhitespaceTokenizer(True), "char": T.UnicodeCharTokenizer(True),
    "script": T.UnicodeScriptTokenizer(False, True), "fold": T.CaseFold(),
    "scriptk": T.UnicodeScriptTokenizer(True, True), "nfkc": T.NormalizeUTF8(),
    "basic": T.BasicTokenizer(False, False, N.NONE, True, True), "nfd": T.NormalizeUTF8(N.NFD),
    "basicl": T.BasicTokenizer(True, False, N.NONE, True, True), "xml": T.FilterWikipediaXML(),
    "basick": T.BasicTokenizer(False, True, N.NFKC, False, True),
    "bert": T.BertTokenizer(VOCAB, lower_case=True, with_offsets=True),
    "bertk": T.BertTokenizer(VOCAB, keep_whitespace=True, with_offsets=True),
    "regex": T.RegexTokenizer("\\s+", "\\s+", True),
    "repl": T.RegexReplace("([a-z])", "<$1>", False)}
OTHERS = {
    "wp": lambda: T.WordpieceTokenizer(VOCAB, with_offsets=True)(["unwanted", "running", "zz"]),
    "wp2": lambda: T.WordpieceTokenizer(VOCAB, unknown_token="", with_offsets=True)(
        ["unwanted", "zz"]),
    "ng": lambda: T.Ngram([2, 3], ("_", 1), ("&", 2), "-")(["a", "b", "c"]),
    "ng5": lambda: T.Ngram(5)(["a", "b"]), "lk": lambda: T.Lookup(VOCAB, "[UNK]")(["un", "qq"]),
    "lk2": lambda: T.Lookup(VOCAB)("un"), "num": lambda: T.ToNumber(ms.int8)(["1", "-2"]),
    "num2": lambda: T.ToNumber(ms.float32)(["1.5"]), "add": lambda: T.AddToken("T")(["a", "b"]),
    "sw": lambda: T.SlidingWindow(2, 0)([1, 2, 3]), "trunc": lambda: T.Truncate(2)(
        ["a", "b", "c"]),
    "tsp": lambda: T.TruncateSequencePair(3)(np.array([1, 2, 3]), np.array([4, 5]))}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_texts_are_changed_and_cut_as_mindspore_does(name):
    checked = 0
    for number, given in enumerate(TEXTS):
        recorded = RECORDED.get(f"{name} {number}")
        if recorded is not None:
            out = TOKENIZERS[name](given)
            out = out if isinstance(out, tuple) else (out,)
            assert [np.asarray(v).tolist() for v in out] == recorded[:len(out)], given
            checked += 1
    assert checked >= 3


@pytest.mark.parametrize("name", OTHERS)
def test_words_are_mindspores(name):
    out = OTHERS[name]()
    shown = [v.tolist() for v in out] if isinstance(out, tuple) else out.tolist()
    assert shown == RECORDED[name]


def test_vocabularies(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("a,1\nb,2\n")
    vocab = T.Vocab.from_file(str(path), ",", None, ["<p>"], False)
    assert vocab.vocab() == {"a": 0, "b": 1, "<p>": 2}
    assert vocab.tokens_to_ids(["b", "q"]) == [1, -1] and vocab.ids_to_tokens([2, 9]) == ["<p>", ""]
    data = ds.NumpySlicesDataset([["b", "a", "b"], ["c", "b", "a"]], ["t"], shuffle=False)
    built = T.Vocab.from_dataset(data, "t", (1, None), 2, ["<p>"])
    assert sorted(map(list, built.vocab().items())) == [["<p>", 0], ["a", 2], ["b", 1]]
    looked = data.map(T.Lookup(built, "<p>"), "t")
    assert next(looked.create_tuple_iterator(output_numpy=True))[0].tolist() == [1, 2, 1]
    with pytest.raises(ValueError, match="contains duplicate word: a"):
        T.Vocab.from_list(["a", "a"])
    with pytest.raises(RuntimeError, match="no file"):
        T.Vocab.from_file(str(tmp_path / "none.txt"))


def test_vectors(tmp_path):
    path = tmp_path / "vectors.vec"
    path.write_text("2 3\nok 1 2 3\nno 4 5 6\n")
    vectors = T.FastText.from_file(str(path))
    out = T.ToVectors(vectors, lower_case_backup=True)(["OK", "?"])
    assert out.tolist() == [[1, 2, 3], [0, 0, 0]]


def test_jieba_and_sentencepiece(tmp_path):
    pytest.importorskip("jieba")
    path = tmp_path / "dict.utf8"
    path.write_text("今天 100 n\n天气 100 n\n真 50 d\n好 50 a\n", encoding="utf-8")
    cut = T.JiebaTokenizer(str(path), str(path), T.JiebaMode.MP)
    assert cut("今天天气真好").tolist() == ["今天", "天气", "真", "好"]
    cut.add_word("真好", 10000)
    assert cut("今天天气真好").tolist() == ["今天", "天气", "真好"]
    pytest.importorskip("sentencepiece")
    lines = ds.NumpySlicesDataset(["the cat sat on the mat", "the dog sat on the log"] * 20,
                                  ["t"], shuffle=False)
    model = T.SentencePieceVocab.from_dataset(lines, ["t"], 30, 0.9995, T.SentencePieceModel.BPE,
                                              {})
    pieces = T.SentencePieceTokenizer(model, T.SPieceTokenizerOutType.STRING)("the cat")
    assert "".join(pieces).replace("▁", " ").strip() == "the cat"
    T.SentencePieceVocab.save_model(model, str(tmp_path), "m.model")
    numbers = T.SentencePieceTokenizer(str(tmp_path / "m.model"), T.SPieceTokenizerOutType.INT)(
        "the cat")
    assert numbers.dtype == np.int32 and len(numbers) == len(pieces)


@pytest.mark.parametrize("mode", list(T.JiebaMode))
def test_modes_of_jieba(mode, tmp_path):
    jieba = pytest.importorskip("jieba")
    jieba.setLogLevel(60)
    path = tmp_path / "dict.utf8"
    path.write_text("他 900 r\n来到 200 v\n了 800 u\n大厦 50 n\n", encoding="utf-8")
    text = "他来到了网易杭研大厦"
    plain = jieba.Tokenizer(str(path))
    want = {T.JiebaMode.MP: lambda: plain.cut(text, HMM=False),
            T.JiebaMode.MIX: lambda: plain.cut(text, HMM=True),
            T.JiebaMode.HMM: lambda: jieba.finalseg.cut(text)}[mode]()
    words, begin, end = T.JiebaTokenizer(str(path), str(path), mode, True)(text)
    assert words.tolist() == list(want)
    sizes = [len(word.encode()) for word in words.tolist()]
    assert end.tolist() == np.cumsum(sizes).tolist()
    assert begin.tolist() == [0, *end.tolist()[:-1]]


def test_words_added_to_jieba(tmp_path):
    pytest.importorskip("jieba")
    path = tmp_path / "dict.utf8"
    path.write_text("今天 100 n\n真 50 d\n好 50 a\n", encoding="utf-8")
    (tmp_path / "more.txt").write_text("真好 10000\n\n好真 20000 n\n", encoding="utf-8")
    for given in ({"真好": 10000, "好真": 20000}, str(tmp_path / "more.txt")):
        cut = T.JiebaTokenizer(str(path), str(path), T.JiebaMode.MP)
        assert cut("今天真好好真").tolist() == ["今天", "真", "好", "好", "真"]
        cut.add_dict(given)
        assert cut("今天真好好真").tolist() == ["今天", "真好", "好真"]
    cut = T.JiebaTokenizer(str(path), str(path), T.JiebaMode.MP)
    for freq, wanted in ((1, ["好", "真"]), (None, ["好真"]), (2, ["好", "真"]), (0, ["好真"])):
        cut.add_word("好真", freq)  # how often it comes, or as often as it needs to be found
        assert cut("好真").tolist() == wanted
    (tmp_path / "words.txt").write_text("今天好\n", encoding="utf-8")
    cut.add_dict(str(tmp_path / "words.txt"))
    assert cut("今天好").tolist() == ["今天好"]
    with pytest.raises(TypeError, match="'user_dict' must be a dict or a path"):
        cut.add_dict(3)
    for word, freq in (("", 1), (3, 1), ("好", -1), ("好", True), ("好", 1.0)):
        with pytest.raises(ValueError, match="For 'add_word'"):
            cut.add_word(word, freq)
    cut.add_word("好好", 0)


@pytest.mark.parametrize("call, error, message", [
    (lambda: T.Lookup(VOCAB)(["qq"]), RuntimeError, "token: \"qq\" doesn't exist in vocab"),
    (lambda: T.Lookup({}), TypeError, "vocab is not an instance of text.Vocab"),
    (lambda: T.ToNumber(ms.int8)(["300"]), RuntimeError, "out of bounds if cast to int8"),
    (lambda: T.ToNumber(ms.int8)(["x"]), RuntimeError, 'it is invalid to convert "x" to'),
    (lambda: T.WhitespaceTokenizer()(["a", "b"]), RuntimeError,
     "the input shape should be scalar and the input datatype should be string"),
    (lambda: T.Lookup(VOCAB)(1.0), RuntimeError, "input is not string datatype"),
    (lambda: T.WhitespaceTokenizer()(None), TypeError, "cannot be converted into tensor"),
    (lambda: T.Ngram(0), ValueError, "'n' must be positive"),
    (lambda: T.JiebaTokenizer("none", "none"), ValueError, "does not exist"),
])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


# what is written to a file of this name, the class, and MindSpore's words about it
@pytest.mark.parametrize("name, text, kind, message", [
    ("a.txt", "", T.Vectors, "Vectors: invalid file, file is empty"),
    ("a.txt", "one 1\ntwo 2\nthree 3\n", T.Vectors, "token with 1-dimensional vector"),
    ("glove.txt", "one 1 2\n", T.GloVe, r"can not find file 'glove.6B.\*.txt'"),
    ("fast.txt", "one 1 2\n", T.FastText, r"can not find file '\*.vec'"),
    (None, "", T.CharNGram, "get real path failed"),
    (None, "", T.GloVe, "GloVe: invalid file, failed to open GloVe file"),
])
def test_files_of_vectors_that_are_none(tmp_path, name, text, kind, message):
    if name is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(RuntimeError, match=message):
        kind.from_file(str(tmp_path / (name or "none")))


def test_padding_of_n_grams_is_shorter_than_they_are():
    assert list(T.Ngram(2, ("_", 3), ("&", 3), "-")(["a", "b"])) == ["_-a", "a-b", "b-&"]
    assert list(T.Ngram(3, ("_", 5), ("&", 1), "-")(["a"])) == ["_-_-a", "_-a-&"]


def test_a_word_begins_behind_an_unused_token():
    assert list(T.BasicTokenizer(preserve_unused_token=True)("[CLS]ab [SEP]c")) == [
        "[CLS]", "ab", "[SEP]", "c"]


@pytest.mark.parametrize("text, wanted", [
    ("ab[UNK]cd", ["ab", "[UNK]", "cd"]), ("[CLS]ab [SEP]c", ["[CLS]", "ab", "[SEP]", "c"]),
    ("a[MASK][PAD]b", ["a", "[MASK]", "[PAD]", "b"])])
def test_a_token_that_is_kept_ends_the_word_before_and_begins_none(text, wanted):
    tokens, begins, ends = T.BasicTokenizer(True, with_offsets=True)(text)
    assert list(tokens) == wanted
    found = [text[b:e].lower() for b, e in zip(begins, ends, strict=True)]
    assert found == [w.lower() for w in wanted]


def test_a_tokenizer_of_the_program():
    assert list(T.PythonTokenizer(str.split)("a b")) == ["a", "b"]
    with pytest.raises(TypeError, match="tokenizer is not a callable Python function"):
        T.PythonTokenizer("a b")


def test_the_end_of_a_word_that_is_too_long():
    # as recorded from MindSpore 2.10: that of the token which stands for it
    vocab = T.Vocab.from_list(["a"])
    found = T.WordpieceTokenizer(vocab, max_bytes_per_token=4, with_offsets=True)("favorite")
    assert [part.tolist() for part in found] == [["[UNK]"], [0], [5]]
