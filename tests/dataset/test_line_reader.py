"""Lines by their number, and pictures of boxes."""

import multiprocessing
import os
import pickle

import numpy as np
import pytest

import lamella.dataset as ds
from lamella.dataset.browsing import imshow_det_bbox
from tests.threads import at_once


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("one\n\nžřluť\nlast", encoding="utf-8")
    return str(path)


def test_lines_by_number(lines):
    reader = ds.LineReader(lines)
    assert [reader.readline(i) for i in (4, 1, 3, 2)] == ["last", "one", "žřluť", ""]
    assert len(reader) == reader.len() == 4 and reader[3] == "žřluť"
    again = pickle.loads(pickle.dumps(reader))  # as a worker process gets it
    reader.close()
    assert list(again) == list(reader) == ["one", "", "žřluť", "last"]


def test_an_empty_file_has_no_lines(tmp_path):
    (tmp_path / "empty").touch()
    assert list(ds.LineReader(str(tmp_path / "empty"))) == []


@pytest.mark.parametrize("line, kind", [(0, ValueError), (5, ValueError), ("1", TypeError)])
def test_lines_that_are_not_there(lines, line, kind):
    with pytest.raises(kind):
        ds.LineReader(lines).readline(line)


@pytest.mark.parametrize("path, kind, text", [
    (3, TypeError, "filename"), ("nowhere.txt", RuntimeError, "does not exist"),
    (".", RuntimeError, "not a regular file")])
def test_files_that_are_none(path, kind, text):
    with pytest.raises(kind, match=text):
        ds.LineReader(path)


def drawn(tmp_path, *args, **given):
    return imshow_det_bbox(np.zeros((3, 40, 40), np.uint8), *args, show=False,
                           out_file=str(tmp_path / "boxes.png"), **given)


def test_boxes_masks_and_scores(tmp_path):
    boxes = np.array([[5, 5, 10, 10, 0.9], [20, 20, 10, 10, 0.2]])
    mask = np.zeros((2, 40, 40), bool)
    mask[0, 30:32, 30:32] = mask[1] = True
    mask[1] = False
    picture = drawn(tmp_path, boxes, np.array([[0], [1]]), mask, class_names=["cat", "dog"],
                    score_threshold=0.5, thickness=1, font_size=0.1)
    assert picture[5, 10].tolist() == [0, 255, 0] and not picture[20, 25].any()
    assert picture[31, 31].tolist() == [64, 0, 64]
    assert (tmp_path / "boxes.png").exists()


@pytest.mark.parametrize("args, given", [
    ((np.zeros((1, 3)), np.zeros((1, 1))), {}), ((np.zeros((1, 4)), np.zeros(1)), {}),
    ((np.zeros((1, 4)), np.zeros((1, 1))), {"class_names": "cat"}),
    ((np.zeros((1, 4)), np.zeros((1, 1))), {"score_threshold": 0.5}),
    ((None, None, np.zeros((1, 3, 3))), {}),
    ((np.zeros((1, 4)), np.zeros((1, 1))), {"bbox_color": (1, 2)}),
], ids=range(6))
def test_other_forms_are_refused(tmp_path, args, given):
    with pytest.raises(AssertionError, match="'imshow_det_bbox'"):
        drawn(tmp_path, *args, **given)


def test_threads_and_forked_processes_read_by_one_reader(tmp_path):
    path = tmp_path / "lines"
    path.write_text("".join(f"{number} {'x' * (number % 50)}\n" for number in range(1, 501)))
    reader = ds.LineReader(str(path))

    def wrong(_=None):
        return [number for number in range(1, 501)
                if reader.readline(number) != f"{number} {'x' * (number % 50)}"]

    assert at_once(wrong) == [[]] * 6
    fork = multiprocessing.get_context("fork")
    children = [fork.Process(target=lambda: os._exit(bool(wrong()))) for _ in range(3)]
    for child in children:
        child.start()
    assert not wrong()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, 0]
    reader.close()


@pytest.mark.parametrize("text", ["a\r\nb\n", "a\rb\nc", "ä\nö", "", "\n\n"])
def test_ends_of_lines(tmp_path, text):
    path = tmp_path / "lines"
    path.write_bytes(text.encode())
    reader = ds.LineReader(str(path))
    found = []
    for start in reader.offsets:
        with open(path, encoding="utf-8") as file:
            file.seek(start)
            found.append(file.readline().removesuffix("\n"))
    assert list(reader) == found
    reader.close()
