"""Known data sets, on small files made here, against what MindSpore 2.10 reads from the same."""

import json
import pathlib

import pytest

import lamella.dataset as ds

from .made_files import CASES, faces, name_of, record, wider

FILE = pathlib.Path(__file__).parents[2] / "data/dataset_sources.json"
RECORDED = json.loads(FILE.read_text())
ANY_ORDER = ("LibriTTS", "IWSLT", "WIDERFace test")  # MindSpore's is that of a folder, or threads'


def as_it_is_meant(name, columns):
    """MindSpore names WIDER FACE's last columns in another order than its files have them."""
    if name.startswith("WIDERFace") and len(columns) > 1:
        columns = [*columns[:5], "invalid", "occlusion", "pose"]
    return columns


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_as_recorded(case, tmp_path):
    name = name_of(case)
    found, expected = record(ds, case, tmp_path), RECORDED[name]
    columns = as_it_is_meant(name, expected["columns"])
    assert sorted(found["columns"]) == sorted(columns) and found["size"] == expected["size"]
    places = [columns.index(column) for column in found["columns"]]
    rows = [[row[place] for place in places] for row in expected["rows"]]
    if name.startswith("Tedlium"):  # MindSpore's waveforms are of zeros
        for row in rows + found["rows"]:
            row[0] = row[0][:2]
    if name.startswith(ANY_ORDER):
        rows, found["rows"] = sorted(rows, key=str), sorted(found["rows"], key=str)
    assert found["rows"] == rows


def test_a_talk_is_cut_into_sentences(tmp_path):
    _, make, options = next(case for case in CASES if case[0] == "TedliumDataset")
    make(tmp_path)
    data = ds.TedliumDataset(str(tmp_path), shuffle=False, **options)
    first = next(data.create_tuple_iterator(output_numpy=True))[0]
    assert (first * 2**15).round().tolist() == [list(range(800, 2000, 100))]


@pytest.mark.parametrize("name, options, message", [
    ("LFWDataset", {"task": "person"}, "'task' must be one of"),
    ("LFWDataset", {"usage": "valid"}, "'usage' must be one of"),
    ("WIDERFaceDataset", {"usage": "val"}, "'usage' must be one of"),
    ("LSUNDataset", {"classes": ["kitchen"]}, "'classes' must be one of"),
    ("Flowers102Dataset", {"task": "Detection"}, "'task' must be one of"),
    ("CityscapesDataset", {"usage": "test", "quality_mode": "coarse"}, "'usage' must be one of"),
    ("PhotoTourDataset", {"name": "trevi"}, "'name' must be one of"),
    ("CMUArcticDataset", {"name": "bob"}, "'name' must be one of"),
    ("TedliumDataset", {"release": "release3", "usage": "train"}, "with 'release3' must be one of"),
    ("IWSLT2016Dataset", {"language_pair": ("en", "it")}, "'language_pair' must be one of"),
])
def test_wrong_arguments(name, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        getattr(ds, name)(str(tmp_path), **options)


def test_damaged_files(tmp_path):
    wider(tmp_path / "wider")
    listing = tmp_path / "wider/wider_face_split/wider_face_train_bbx_gt.txt"
    listing.write_text(listing.read_text()[:60])
    with pytest.raises(RuntimeError, match="has no numbers of the faces"):
        next(iter(ds.WIDERFaceDataset(str(tmp_path / "wider"), "train")))
    faces(tmp_path / "lfw")
    (tmp_path / "lfw/lfw_funneled/Bob_Ray/Bob_Ray_0001.jpg").unlink()
    with pytest.raises(RuntimeError, match="Bob_Ray_0001.jpg can't be read"):
        list(ds.LFWDataset(str(tmp_path / "lfw"), decode=True))
    (tmp_path / "lfw/people.txt").unlink()
    with pytest.raises(ValueError, match="people.txt does not exist"):
        list(ds.LFWDataset(str(tmp_path / "lfw"), usage="10fold"))


def test_a_damaged_matrix(tmp_path):
    _, make, options = next(case for case in CASES if case[0] == "Flowers102Dataset")
    make(tmp_path)
    (tmp_path / "setid.mat").write_bytes(b"no matrix")
    with pytest.raises(RuntimeError, match="setid.mat can't be read"):
        next(iter(ds.Flowers102Dataset(str(tmp_path), **options)))


def test_classes_by_name(tmp_path):
    _, make, _ = next(case for case in CASES if case[0] == "Caltech101Dataset")
    make(tmp_path)
    assert ds.Caltech101Dataset(str(tmp_path)).get_class_indexing() == {
        "Faces": 0, "Motorbikes": 1, "ant": 2}
    flowers = ds.Flowers102Dataset(str(tmp_path)).get_class_indexing()
    assert len(flowers) == 102 and flowers["pink primrose"] == 0
    assert flowers["blackberry lily"] == 101


@pytest.mark.parametrize("name, arguments, message", [
    ("DatasetCache", (1,), "'Dataset.save'"),
    ("OBSMindDataset", (["a"], "s", "k", "s", "p"), "'MindDataset'"),
])
def test_what_needs_a_server_says_what_to_use(name, arguments, message):
    with pytest.raises(RuntimeError, match=message):
        getattr(ds, name)(*arguments)
