"""Corpora of texts: rows of questions with one answer, several, and none."""

import json

import lamella.dataset as ds


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
