"""Sources by format, on files made here."""

import gzip
import json
import struct

import numpy as np
import pytest
from PIL import Image

import lamella.dataset as ds

RNG = np.random.default_rng(0)


def rows(dataset):
    return list(dataset.create_dict_iterator(num_epochs=1, output_numpy=True))


def image(path, shade=0, size=(8, 6)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((*size, 3), shade, np.uint8)).save(path)


def idx(path, array, kind=8):
    head = struct.pack(">HBB", 0, kind, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    opened = gzip.open(path, "wb") if path.suffix == ".gz" else open(path, "wb")
    with opened:
        opened.write(head + array.astype({8: "u1", 12: ">i4"}[kind]).tobytes())


def test_mnist(tmp_path):
    images, labels = RNG.integers(0, 256, (7, 28, 28)), np.arange(7)
    idx(tmp_path / "train-images-idx3-ubyte", images)
    idx(tmp_path / "train-labels-idx1-ubyte", labels)
    idx(tmp_path / "t10k-images-idx3-ubyte.gz", images[:2])
    idx(tmp_path / "t10k-labels-idx1-ubyte.gz", labels[:2])
    data = ds.MnistDataset(str(tmp_path), "train", shuffle=False)
    found = rows(data)
    np.testing.assert_array_equal(found[3]["image"], images[3][..., None])
    assert found[3]["label"] == 3 and found[3]["label"].dtype == np.uint32 and len(data) == 7
    assert len(ds.MnistDataset(str(tmp_path))) == 9
    assert len(ds.KMnistDataset(str(tmp_path), "test")) == 2
    assert [int(r["label"]) for r in rows(ds.FashionMnistDataset(
        str(tmp_path), "train", sampler=ds.PKSampler(1)))] == list(range(7))
    idx(tmp_path / "emnist-letters-train-images-idx3-ubyte", images)
    idx(tmp_path / "emnist-letters-train-labels-idx1-ubyte", labels)
    assert len(ds.EMnistDataset(str(tmp_path), "letters", "train")) == 7
    idx(tmp_path / "qmnist-train-images-idx3-ubyte", images)
    idx(tmp_path / "qmnist-train-labels-idx2-int", np.stack([labels] * 8, 1), 12)
    assert rows(ds.QMnistDataset(str(tmp_path), "train", False))[0]["label"].shape == (8,)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(b"\0\0\x08\x03\0\0")
    with pytest.raises(RuntimeError, match="can't be read as IDX"):
        rows(ds.MnistDataset(str(tmp_path), "train"))
    with pytest.raises(ValueError, match="does not exist"):
        ds.MnistDataset("none")


def test_cifar(tmp_path):
    images = RNG.integers(0, 256, (4, 3, 32, 32)).astype(np.uint8)
    labels = np.arange(4, dtype=np.uint8)
    table = np.concatenate([labels[:, None], images.reshape(4, -1)], 1)
    (tmp_path / "data_batch_1.bin").write_bytes(table.tobytes())
    found = rows(ds.Cifar10Dataset(str(tmp_path), "train", shuffle=False))
    np.testing.assert_array_equal(found[2]["image"], images[2].transpose(1, 2, 0))
    assert [int(r["label"]) for r in found] == [0, 1, 2, 3]
    (tmp_path / "test.bin").write_bytes(np.concatenate([labels[:, None], table], 1).tobytes())
    found = rows(ds.Cifar100Dataset(str(tmp_path), "test", shuffle=False))
    assert list(found[1]) == ["image", "coarse_label", "fine_label"] and found[1]["fine_label"] == 1
    (tmp_path / "data_batch_1.bin").write_bytes(b"x" * 100)
    with pytest.raises(RuntimeError, match="is damaged"):
        rows(ds.Cifar10Dataset(str(tmp_path), "train"))


def test_food101(tmp_path):
    for part, names in (("train", ["cake/1", "soup/2"]), ("test", ["cake/3"])):
        (tmp_path / "meta").mkdir(exist_ok=True)
        (tmp_path / "meta" / f"{part}.txt").write_text("\n".join(names) + "\n")
        for name in names:
            image(tmp_path / "images" / f"{name}.jpg", 40 * int(name[-1]))
    for usage, shades, dishes in (("train", [40, 80], ["cake", "soup"]), ("test", [120], ["cake"]),
                                  ("all", [40, 80, 120], ["cake", "soup", "cake"])):
        found = rows(ds.Food101Dataset(str(tmp_path), usage, decode=True, shuffle=False))
        assert [str(row["label"]) for row in found] == dishes
        np.testing.assert_allclose([row["image"][0, 0, 0] for row in found], shades, atol=1)
    with pytest.raises(ValueError, match="'usage' must be one of|usage"):
        ds.Food101Dataset(str(tmp_path), "none")


def test_folders_of_images(tmp_path):
    for number, name in enumerate(["cat", "dog"]):
        for i in range(3):
            image(tmp_path / name / f"{i}.png", 100 * number + i)
    data = ds.ImageFolderDataset(str(tmp_path), shuffle=False, decode=True)
    assert [int(r["image"][0, 0, 0]) for r in rows(data)] == [0, 1, 2, 100, 101, 102]
    assert [int(r["label"]) for r in rows(data)] == [0, 0, 0, 1, 1, 1]
    assert data.get_class_indexing() == {"cat": 0, "dog": 1} and data.num_classes() == 2
    assert data.batch(2).get_class_indexing() == {"cat": 0, "dog": 1}
    raw = ds.ImageFolderDataset(str(tmp_path), class_indexing={"dog": 7}, shuffle=False)
    assert [int(r["label"]) for r in rows(raw)] == [7] * 3 and rows(raw)[0]["image"].ndim == 1
    decoded = raw.map(ds.vision.Decode(), "image", num_parallel_workers=2)
    assert rows(decoded)[1]["image"].shape == (8, 6, 3)
    assert [int(r["label"]) for r in rows(ds.ImageFolderDataset(
        str(tmp_path), sampler=ds.PKSampler(2)))] == [0, 0, 1, 1]
    (tmp_path / "cat" / "1.png").write_bytes(b"no image")
    with pytest.raises(RuntimeError, match=r"1.png(.|\n)*damaged"):
        rows(data)
    assert len(ds.Caltech256Dataset(str(tmp_path))) == 6


def test_celeba_and_manifest(tmp_path):
    for i in range(3):
        image(tmp_path / f"{i}.jpg", i)
    lines = [f"{i}.jpg " + " ".join(["1", "-1", "0"] * 13) for i in range(3)]
    (tmp_path / "list_attr_celeba.txt").write_text("\n".join(["3", "names", *lines]) + "\n")
    (tmp_path / "list_eval_partition.txt").write_text("0.jpg 0\n1.jpg 1\n2.jpg 0\n")
    found = rows(ds.CelebADataset(str(tmp_path), shuffle=False, usage="train", decode=True))
    assert len(found) == 2 and found[0]["attr"].tolist() == [1, 0, 0] * 13
    manifest = [{"source": str(tmp_path / f"{i}.jpg"), "usage": "train",
                 "annotation": [{"name": "cat" if i else "dog"}]} for i in range(3)]
    (tmp_path / "m.json").write_text("\n".join(map(json.dumps, manifest)))
    data = ds.ManifestDataset(str(tmp_path / "m.json"), shuffle=False)
    assert [r["label"].tolist() for r in rows(data)] == [1, 0, 0]
    assert data.get_class_indexing() == {"cat": 0, "dog": 1}


def test_voc(tmp_path):
    for name in ("a", "b"):
        image(tmp_path / "JPEGImages" / f"{name}.jpg", 5)
        image(tmp_path / "SegmentationClass" / f"{name}.png", 9)
        (tmp_path / "Annotations").mkdir(exist_ok=True)
        (tmp_path / "Annotations" / f"{name}.xml").write_text(
            f"<annotation><object><name>{name}</name><difficult>1</difficult><bndbox><xmin>1</xmin>"
            "<ymin>2</ymin><xmax>4</xmax><ymax>6</ymax></bndbox></object></annotation>")
    for part in ("Main", "Segmentation"):
        (tmp_path / "ImageSets" / part).mkdir(parents=True)
        (tmp_path / "ImageSets" / part / "train.txt").write_text("a\nb\n")
    found = rows(ds.VOCDataset(str(tmp_path), decode=True, shuffle=False))
    assert found[0]["target"][0, 0, 0] == 9 and len(found) == 2
    data = ds.VOCDataset(str(tmp_path), "Detection", decode=True, shuffle=False)
    found = rows(data)
    assert found[1]["bbox"].tolist() == [[1, 2, 3, 4]] and found[1]["label"].tolist() == [[1]]
    assert data.get_class_indexing() == {"a": 0, "b": 1} and found[0]["difficult"].tolist() == [[1]]


def test_coco(tmp_path):
    image(tmp_path / "x.jpg", 5)
    marked = {"images": [{"id": 3, "file_name": "x.jpg"}],
              "annotations": [{"image_id": 3, "bbox": [1, 2, 3, 4], "category_id": 7, "iscrowd": 0,
                               "caption": "an x", "segmentation": [[1, 2, 3, 4]],
                               "keypoints": [1, 2, 1], "num_keypoints": 1}],
              "categories": [{"id": 7, "name": "letter"}]}
    (tmp_path / "m.json").write_text(json.dumps(marked))
    path = str(tmp_path / "m.json")
    data = ds.CocoDataset(str(tmp_path), path, decode=True, extra_metadata=True)
    assert "_meta-filename" in data.get_col_names() and "_meta-filename" not in rows(data)[0]
    row = rows(data.rename("_meta-filename", "name"))[0]
    assert row["bbox"].tolist() == [[1, 2, 3, 4]] and row["category_id"].tolist() == [[7]]
    assert str(row["name"]) == "x" and data.get_class_indexing() == {"letter": [7]}
    assert rows(ds.CocoDataset(str(tmp_path), path, "Stuff"))[0]["segmentation"].shape == (1, 4)
    assert str(rows(ds.CocoDataset(str(tmp_path), path, "Captioning"))[0]["captions"][0, 0]) == (
        "an x")
    marked["annotations"] += [{**marked["annotations"][0], "segmentation": parts} for parts in (
        [[5, 6], [7, 8, 9]], {"counts": [1, 2], "size": [5, 5]})]
    (tmp_path / "m.json").write_text(json.dumps(marked))
    row = rows(ds.CocoDataset(str(tmp_path), path, "Stuff"))[0]  # a row for each polygon
    assert row["segmentation"].tolist() == [[1, 2, 3, 4], [5, 6, -1, -1], [7, 8, 9, -1],
                                            [1, 2, -1, -1]]
    assert row["iscrowd"].tolist() == [[0]] * 3
    (tmp_path / "m.json").write_text("{")
    with pytest.raises(RuntimeError, match="Coco Dataset annotation file:.* load failed"):
        rows(data.copy() if hasattr(data, "copy") else ds.CocoDataset(str(tmp_path), path))


@pytest.mark.parametrize("task, part, name", [
    ("Detection", None, "images"), ("Detection", None, "annotations"),
    ("Detection", None, "categories"), ("Detection", "images", "id"),
    ("Detection", "images", "file_name"), ("Detection", "annotations", "image_id"),
    ("Detection", "annotations", "bbox"), ("Detection", "categories", "id"),
    ("Detection", "categories", "name"), ("Stuff", "annotations", "segmentation"),
    ("Keypoint", "annotations", "keypoints"), ("Keypoint", "annotations", "num_keypoints"),
    ("Captioning", "annotations", "caption"), ("Panoptic", "annotations", "segments_info"),
    ("Panoptic", "categories", "isthing")])
def test_what_an_annotation_of_coco_lacks_is_named(task, part, name, tmp_path):
    image(tmp_path / "x.jpg", 5)
    marked = {"images": [{"id": 3, "file_name": "x.jpg"}],
              "annotations": [{"image_id": 3, "bbox": [1, 2, 3, 4], "category_id": 7, "iscrowd": 0,
                               "caption": "an x", "segmentation": [[1, 2, 3, 4]],
                               "keypoints": [1, 2, 1], "num_keypoints": 1, "segments_info": [
                                   {"bbox": [1, 2, 3, 4], "category_id": 7}]}],
              "categories": [{"id": 7, "name": "letter", "isthing": 1}]}
    path = tmp_path / "m.json"
    path.write_text(json.dumps(marked))
    assert len(rows(ds.CocoDataset(str(tmp_path), str(path), task))) == 1
    del (marked[part][0] if part else marked)[name]
    path.write_text(json.dumps(marked))
    with pytest.raises(RuntimeError, match=rf"attribute of '{name}' is missing in annotation file"):
        rows(ds.CocoDataset(str(tmp_path), str(path), task))


def test_annotations_of_coco_that_are_none(tmp_path):
    image(tmp_path / "x.jpg", 5)
    mark = {"image_id": 3, "bbox": [1, 2, 3, 4], "category_id": 8}
    for marks, categories, text in (
            ([7], [{"id": 7, "name": "a"}], "'image_id' is missing in annotation file"),
            ([mark], ["a"], "'id' is missing in annotation file"),
            ([mark], [{"id": 7, "name": "a"}], "'category_id': 8 is missing in the node of")):
        (tmp_path / "m.json").write_text(json.dumps({
            "images": [{"id": 3, "file_name": "x.jpg"}], "annotations": marks,
            "categories": categories}))
        with pytest.raises(RuntimeError, match=text):
            rows(ds.CocoDataset(str(tmp_path), str(tmp_path / "m.json")))


def test_lines_of_text_in_mindspores_order(tmp_path):
    (tmp_path / "t1.txt").write_text("".join(f"a{i}\n" for i in range(7)) + "\n")
    (tmp_path / "t2.txt").write_text("".join(f"b{i}\n" for i in range(5)))
    files = [str(tmp_path / "t1.txt"), str(tmp_path / "t2.txt")]

    def texts(**kwargs):
        return [str(r["text"]) for r in rows(ds.TextFileDataset(files, **kwargs))]

    plain = [f"a{i}" for i in range(7)] + [f"b{i}" for i in range(5)]
    assert texts(shuffle=False) == plain and len(ds.TextFileDataset(files)) == 12
    assert texts(shuffle=False, num_shards=2, shard_id=1) == plain[6:]
    assert texts(shuffle=False, num_samples=3) == plain[:3]
    assert sorted(texts()) == plain and sorted(texts(shuffle=ds.Shuffle.FILES)) == plain
    ds.config.set_seed(7)  # recorded, with one worker
    assert texts() == ["b3", "a2", "a3", "a6", "a0", "b1", "a4", "a5", "a1", "b2", "b0", "b4"]
    assert sorted(str(r["text"]) for r in rows(
        ds.TextFileDataset(str(tmp_path / "*.txt")).shuffle(3))) == plain
    with pytest.raises(ValueError, match="did not match any files"):
        ds.TextFileDataset("none*.txt")


def test_csv(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text('x,y,z\n1,2.5,a\n3,,"b, c"\n')
    found = rows(ds.CSVDataset(str(path), shuffle=False, column_defaults=[0, 1.5, ""]))
    assert [[r["x"].tolist(), r["y"].tolist(), str(r["z"])] for r in found] == [
        [1, 2.5, "a"], [3, 1.5, "b, c"]]
    assert [found[0][n].dtype for n in "xy"] == [np.int32, np.float32]
    named = ds.CSVDataset(str(path), shuffle=False, column_names=["p", "q", "r"])
    assert len(rows(named)) == 3 and named.get_col_names() == ["p", "q", "r"]
    path.write_text("x,y\n1\n")
    with pytest.raises(RuntimeError, match="line 2 of .* has 1 values, but there are 2"):
        rows(ds.CSVDataset(str(path)))
    with pytest.raises(RuntimeError, match="line 2"):
        path.write_text("x\nq\n")
        rows(ds.CSVDataset(str(path), column_defaults=[0]))


def test_tfrecord(tmp_path):
    writer = pytest.importorskip("tfrecord").TFRecordWriter(str(tmp_path / "t.tfrecord"))
    for i in range(3):
        writer.write({"n": (i, "int"), "x": ([0.5, i], "float"), "b": (b"ab", "byte")})
    writer.close()
    path = str(tmp_path / "t.tfrecord")
    found = rows(ds.TFRecordDataset(path, shuffle=False))
    assert list(found[0]) == ["b", "n", "x"] and found[0]["b"].tolist() == [97, 98]
    assert found[2]["n"].tolist() == [2] and found[2]["x"].tolist() == [0.5, 2]
    schema = ds.Schema()
    schema.add_column("n", "int32", [1])
    schema.add_column("b", "string")
    found = rows(ds.TFRecordDataset(path, schema, shuffle=False, num_samples=2))
    assert len(found) == 2 and found[1]["n"].dtype == np.int32 and str(found[0]["b"]) == "ab"
    data = (tmp_path / "t.tfrecord").read_bytes()
    for bad in (data[:-5], data[:20] + b"?" + data[21:], b"?" + data[1:]):
        (tmp_path / "bad").write_bytes(bad)
        with pytest.raises(RuntimeError, match="is damaged"):
            rows(ds.TFRecordDataset(str(tmp_path / "bad"), schema, shuffle=False))


def test_corpora(tmp_path):
    (tmp_path / "train.csv").write_text('"1","a title","words, more"\n"2","b","c"\n')
    found = rows(ds.AGNewsDataset(str(tmp_path), "train", shuffle=False))
    assert str(found[0]["description"]) == "words, more" and len(found) == 2
    (tmp_path / "ptb.test.txt").write_text("one line\ntwo\n")
    assert len(ds.PennTreebankDataset(str(tmp_path), "test")) == 2
    (tmp_path / "train.tsv").write_text("sentence\tlabel\ngood \t1\n")
    row = rows(ds.SST2Dataset(str(tmp_path)))[0]
    assert (str(row["sentence"]), int(row["label"])) == ("good ", 1)
    (tmp_path / "train.txt").write_text("He PRP B-NP\nran VBD B-VP\n\nYes UH O\n")
    found = rows(ds.CoNLL2000Dataset(str(tmp_path), "train", shuffle=False))
    assert found[0]["word"].tolist() == ["He", "ran"] and len(found) == 2
    for name in ("pos", "neg"):
        (tmp_path / "train" / name).mkdir(parents=True)
        (tmp_path / "train" / name / "0_1.txt").write_text(f"a {name} review")
    found = rows(ds.IMDBDataset(str(tmp_path), "train", shuffle=False))
    assert [(str(r["text"]), int(r["label"])) for r in found] == [
        ("a pos review", 1), ("a neg review", 0)]


def test_sounds(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    wave = np.sin(np.arange(800) / 20).astype(np.float32)
    soundfile.write(tmp_path / "0_1_1.wav", wave, 8000)
    row = rows(ds.YesNoDataset(str(tmp_path)))[0]
    assert row["waveform"].shape == (1, 800) and int(row["sample_rate"]) == 8000
    np.testing.assert_allclose(row["waveform"][0], wave, atol=1e-4)
    assert row["label"].tolist() == [0, 1, 1]


def test_rows_that_are_made_up():
    schema = ds.Schema()
    schema.add_column("x", "uint8", [2, 3])
    data = ds.RandomDataset(5, schema)
    assert data.output_shapes() == [[2, 3]] and len(data) == 5
    fake = ds.FakeImageDataset(4, (5, 6, 3), 2, shuffle=False)
    assert rows(fake)[1]["image"].shape == (5, 6, 3)
    np.testing.assert_array_equal(rows(fake)[2]["image"], rows(fake)[2]["image"])
    assert len(ds.PaddedDataset([{"a": 1}, {"a": 2}])) == 2
