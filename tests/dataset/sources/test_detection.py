"""VOC and COCO: several objects of several pictures, chosen classes, marks that are wrong."""

import json

import numpy as np
import pytest
from PIL import Image

import lamella.dataset as ds

OBJECTS = {  # xmin, ymin, xmax, ymax, difficult, truncated
    "a": [("cat", (0, 2, 5, 9), 0, 1), ("dog", (3, 0, 4, 8), 1, 0)],
    "b": [("dog", (1, 1, 2, 2), 0, 0)], "c": [("owl", (2, 4, 6, 7), 1, 1)], "d": []}


def written(tag, value):
    return f"<{tag}>{value}</{tag}>"


def voc(folder, objects=OBJECTS):
    for place in ("JPEGImages", "SegmentationClass", "Annotations", "ImageSets/Main",
                  "ImageSets/Segmentation"):
        (folder / place).mkdir(parents=True)
    for number, (name, its) in enumerate(objects.items()):
        picture = Image.fromarray(np.full((9, 7, 3), 40 * number, np.uint8))
        picture.save(folder / "JPEGImages" / f"{name}.jpg")
        picture.save(folder / "SegmentationClass" / f"{name}.png")
        text = "".join(written("object", written("name", kind) + written("bndbox", "".join(
            written(tag, value) for tag, value in zip(("xmin", "ymin", "xmax", "ymax"), box,
                                                      strict=True)))
            + written("difficult", hard) + written("truncated", cut))
            for kind, box, hard, cut in its)
        (folder / "Annotations" / f"{name}.xml").write_text(written("annotation", text))
    for part in ("Main", "Segmentation"):
        (folder / "ImageSets" / part / "val.txt").write_text(
            "\n".join(f"{name} 1" for name in objects) + "\n\n")
    return str(folder)


def rows(data):
    return list(data.create_dict_iterator(num_epochs=1, output_numpy=True))


@pytest.mark.parametrize("indexing, names, numbers", [
    (None, "abc", {"cat": 0, "dog": 1, "owl": 2}), ({"dog": 7}, "ab", {"dog": 7}),
    ({"owl": 3, "cat": 5}, "ac", {"owl": 3, "cat": 5})])
def test_objects_of_chosen_classes(tmp_path, indexing, names, numbers):
    """A picture without one is left out."""
    data = ds.VOCDataset(voc(tmp_path), "Detection", "val", indexing, shuffle=False,
                         extra_metadata=True).rename("_meta-filename", "name")
    found = rows(data)
    assert "".join(str(row["name"]) for row in found) == names
    assert data.children[0].get_class_indexing() == numbers
    for row in found:
        known = [one for one in OBJECTS[str(row["name"])] if one[0] in numbers]
        assert row["bbox"].tolist() == [[x, y, right - x, low - y]
                                        for _, (x, y, right, low), _, _ in known]
        assert row["label"].tolist() == [[numbers[one[0]]] for one in known]
        assert row["difficult"].tolist() == [[one[2]] for one in known]
        assert row["truncate"].tolist() == [[one[3]] for one in known]
        assert [row[n].dtype for n in ("bbox", "label", "difficult", "truncate")] == [
            np.float32, np.uint32, np.uint32, np.uint32]


@pytest.mark.parametrize("decode", [False, True])
def test_pictures_with_their_masks(tmp_path, decode):
    data = ds.VOCDataset(voc(tmp_path), usage="val", decode=decode, shuffle=False)
    assert data.get_col_names() == ["image", "target"]
    for name, row in zip("abcd", rows(data), strict=True):
        path = tmp_path / "SegmentationClass" / f"{name}.png"
        want = np.asarray(Image.open(path)) if decode else np.frombuffer(path.read_bytes(), "u1")
        np.testing.assert_array_equal(row["target"], want)
    with pytest.raises(NotImplementedError, match="Only 'Detection' support"):
        data.get_class_indexing()


def test_annotations_that_are_wrong(tmp_path):
    folder = voc(tmp_path, {"a": [("cat", (-1, 0, 2, 3), 0, 0)]})
    file = tmp_path / "Annotations" / "a.xml"
    for text, words in ((None, r"has an invalid box: \[-1.0"), ("<annotation>", "can't be read"),
                        (written("annotation", written("object", "")), "object without a box"),
                        (file.read_text().replace("xmax", "other"), "has an invalid box")):
        if text is not None:
            file.write_text(text)
        with pytest.raises(RuntimeError, match=words):
            rows(ds.VOCDataset(folder, "Detection", "val"))


@pytest.mark.parametrize("arguments, error, words", [
    ({"task": "Counting"}, ValueError, "Invalid task : Counting"), ({"task": 3}, TypeError, "task"),
    ({"class_indexing": {"a": 1}}, ValueError, "not supported in Segmentation"),
    ({"usage": "test"}, ValueError, "does not exist")])
def test_what_voc_refuses(tmp_path, arguments, error, words):
    with pytest.raises(error, match=words):
        ds.VOCDataset(voc(tmp_path), **{"usage": "val", **arguments})


def coco(folder, marks, panoptic=False):
    for number, name in ((5, "x"), (2, "y"), (9, "z")):
        Image.fromarray(np.full((4, 6, 3), 20 * number, np.uint8)).save(folder / f"{name}.jpg")
    (folder / "m.json").write_text(json.dumps({
        "images": [{"id": number, "file_name": f"{name}.jpg"}
                   for number, name in ((5, "x"), (2, "y"), (9, "z"))], "annotations": marks,
        "categories": [{"id": 7, "name": "cat", "isthing": 1}, {"id": 4, "name": "sky",
                                                                "isthing": 0}]}))
    return str(folder), str(folder / "m.json")


def test_marks_of_several_pictures(tmp_path):
    """In the order of pictures; those without marks are left out."""
    place = coco(tmp_path, [
        {"image_id": 9, "bbox": [1, 2, 3, 4], "category_id": 4, "iscrowd": 1},
        {"image_id": 5, "bbox": [5, 6, 7, 8], "category_id": 7},
        {"image_id": 9, "bbox": [0, 1, 0, 1], "category_id": 7, "iscrowd": 0}])
    data = ds.CocoDataset(*place, shuffle=False, decode=True, extra_metadata=True)
    found = rows(data.rename("_meta-filename", "name"))
    assert [str(row["name"]) for row in found] == ["x", "z"]
    assert [row["bbox"].tolist() for row in found] == [[[5, 6, 7, 8]], [[1, 2, 3, 4], [0, 1, 0, 1]]]
    assert [row["category_id"].tolist() for row in found] == [[[7]], [[4], [7]]]
    assert [row["iscrowd"].tolist() for row in found] == [[[0]], [[1], [0]]]
    assert [int(row["image"].mean().round()) for row in found] == [100, 180]
    assert data.get_class_indexing() == {"cat": [7], "sky": [4]}


def test_panoptic_marks(tmp_path):
    """Marks of a picture that isn't there are passed over; for other tasks they are an error."""
    segments = [{"bbox": [1, 2, 3, 4], "category_id": 4, "iscrowd": 1, "area": 12},
                {"bbox": [0, 0, 1, 1], "category_id": 7, "area": 1}]
    place = coco(tmp_path, [{"image_id": 2, "segments_info": segments},
                            {"image_id": 77, "segments_info": segments}])
    data = ds.CocoDataset(*place, "Panoptic", shuffle=False)
    row, = rows(data)
    assert row["area"].tolist() == [[12], [1]] and row["iscrowd"].tolist() == [[1], [0]]
    assert row["category_id"].tolist() == [[4], [7]]
    assert data.get_class_indexing() == {"cat": [7, 1], "sky": [4, 0]}
    place = coco(tmp_path, [{"image_id": 77, "bbox": [1, 2, 3, 4], "category_id": 4}])
    with pytest.raises(RuntimeError, match="CocoDataset"):
        rows(ds.CocoDataset(*place))


def test_keypoints_and_captions(tmp_path):
    marks = [{"image_id": 5, "keypoints": [1, 2, 0, 3, 4, 1], "num_keypoints": 1, "caption": "one"},
             {"image_id": 5, "keypoints": [5, 6, 2, 7, 8, 2], "num_keypoints": 2, "caption": "two"}]
    place = coco(tmp_path, marks)
    row, = rows(ds.CocoDataset(*place, "Keypoint"))
    assert row["keypoints"].tolist() == [mark["keypoints"] for mark in marks]
    assert row["num_keypoints"].tolist() == [[1], [2]] and row["keypoints"].dtype == np.float32
    data = ds.CocoDataset(*place, "Captioning")
    assert rows(data)[0]["captions"].tolist() == [["one"], ["two"]]
    with pytest.raises(NotImplementedError, match="Only 'Detection' and 'Panoptic'"):
        data.get_class_indexing()
    for options, error, words in (({"task": "Counting"}, ValueError, "Invalid task type: Counting"),
                                  ({"sampler": ds.PKSampler(1)}, ValueError, "PKSampler")):
        with pytest.raises(error, match=words):
            ds.CocoDataset(*place, **options)
