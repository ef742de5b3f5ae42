"""Corpora of texts: rows of questions with one answer, several, and none."""

import json

import pytest

import lamella.dataset as ds
from tests.dataset.sources.test_sources import rows


def test_answers_of_questions(tmp_path):
    def question(text, *answers):
        return {"question": text, "answers": [
            {"text": words, "answer_start": start} for words, start in answers]}

    paragraph = {"context": "A b c.", "qas": [
        question("one?", ("b", 2)), question("two?", ("A b", 0), ("c", 4)), question("none?")]}
    whole = {"data": [{"paragraphs": [paragraph]}, {"paragraphs": []}]}
    (tmp_path / "train-v2.0.json").write_text(json.dumps(whole))
    (tmp_path / "dev-v2.0.json").write_text(json.dumps(whole))
    for usage, times in (("train", 1), ("dev", 1), ("all", 2)):
        data = ds.SQuADDataset(str(tmp_path), usage, shuffle=False)
        rows = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
        assert data.get_col_names() == ["context", "question", "text", "answer_start"]
        assert sorted(str(row["question"]) for row in rows) == sorted(
            ["one?", "two?", "none?"] * times)
        found = {str(row["question"]): (row["text"].tolist(), row["answer_start"].tolist())
                 for row in rows}
        assert found == {"one?": (["b"], [2]), "two?": (["A b", "c"], [0, 4]),
                         "none?": ([""], [2**32 - 1])}
        assert {str(row["context"]) for row in rows} == {"A b c."}
        assert all(row["answer_start"].dtype == "uint32" for row in rows)


@pytest.mark.parametrize("kind, name, usages, usual", [
    (ds.AGNewsDataset, "{}.csv", ["train", "test", "all"], "all"),
    (ds.SST2Dataset, "{}.tsv", ["train", "dev", "test", "all"], "train")])
def test_usages_of_a_corpus(kind, name, usages, usual, tmp_path):
    with pytest.raises(ValueError, match=name.format(".*")):
        kind(str(tmp_path))
    for usage in usages[:-1]:
        (tmp_path / name.format(usage)).write_text("a,b,c\n")
    assert kind(str(tmp_path)).usage == usual
    assert [kind(str(tmp_path), usage).usage for usage in usages] == usages
    with pytest.raises(ValueError, match="usage"):
        kind(str(tmp_path), "none")


def test_a_corpus_of_one_file_has_one_usage(tmp_path):
    (tmp_path / "enwik9").write_text("<page>\n")
    assert [str(row["text"]) for row in rows(ds.EnWik9Dataset(str(tmp_path)))] == ["<page>"]
    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match="enwik9"):
        ds.EnWik9Dataset(str(tmp_path / "none"))


def test_what_follows_two_columns_is_left_out(tmp_path):
    for usage in ("train", "dev", "test"):
        (tmp_path / f"{usage}.tsv").write_text("sentence\tlabel\na b\t1\tmore\nc\t0\n")
    assert [[str(v) for v in row.values()] for row in rows(
        ds.SST2Dataset(str(tmp_path), shuffle=False))] == [["a b", "1"], ["c", "0"]]
    assert [[str(v) for v in row.values()] for row in rows(
        ds.SST2Dataset(str(tmp_path), "test", shuffle=False))] == [["1"], ["0"]]
