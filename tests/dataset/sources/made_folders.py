"""Small files in the layouts of more data sets: arrays, folders of images, sounds and texts."""

import json

import numpy as np
from PIL import Image
from scipy.io import savemat

from .made_files import sound, text

IDX = {"u1": 8, ">i4": 12}


def drawn(*shape):
    return np.random.RandomState(sum(shape)).randint(0, 256, shape).astype(np.uint8)


def picture(path, number, size=(5, 7)):
    """Without loss, whatever the name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray((drawn(*size, 3) + number).astype(np.uint8)).save(path, "PNG")


def idx(path, array, kind="u1"):
    head = bytes([0, 0, IDX[kind], array.ndim]) + np.array(array.shape, ">u4").tobytes()
    path.write_bytes(head + array.astype(kind).tobytes())


def stl(root):
    for count, part in enumerate(("test", "train", "unlabeled"), 1):
        drawn(count, 3, 96, 96).tofile(root / f"{part}_X.bin")
        np.arange(1, count + 1, dtype=np.uint8).tofile(root / f"{part}_y.bin")


def numbers(root):
    for count, part in enumerate(("test", "train", "extra"), 2):
        savemat(root / f"{part}_32x32.mat", {
            "X": drawn(32, 32, 3, count), "y": np.arange(9, 9 + count)[:, None].clip(0, 10)})


def semeion(root):
    rows = [" ".join([*(f"{v:.4f}" for v in drawn(256) > 99 + 50 * k), *("1" if k == n else "0"
            for n in range(10))]) + " " for k in range(3)]
    text(root / "semeion.data", *rows)


def usps(root):
    for part, count in (("usps", 3), ("usps.t", 2)):
        text(root / part, *(f"{k + 4} " + " ".join(
            f"{n + 1}:{v / 128 - 1:.4f}" for n, v in enumerate(drawn(256 + k)[:256])) + " "
            for k in range(count)))


def letters(root):
    for part, count in (("train", 3), ("test", 2)):
        for start in ("emnist-balanced-", "emnist-letters-"):
            idx(root / f"{start}{part}-images-idx3-ubyte", drawn(count, 28, 28))
            idx(root / f"{start}{part}-labels-idx1-ubyte", np.arange(count) + 3)


def digits(root):
    for part, count in (("train", 3), ("t10k", 2)):
        idx(root / f"{part}-images-idx3-ubyte", drawn(count, 28, 28))
        idx(root / f"{part}-labels-idx1-ubyte", np.arange(count) + 3)


def commands(root):
    names = [f"{word}/{speaker}_nohash_{number}.wav" for word in ("no", "yes")
             for speaker in ("0a7c2a8d", "beef") for number in (0, 1)]
    for number, name in enumerate(names):
        sound(root / name, 100 * number)
    text(root / "testing_list.txt", names[1], names[6])
    text(root / "validation_list.txt", names[2])
    text(root / "training_list.txt", *(names[k] for k in (0, 3, 4, 5, 7)))


def yes(root):
    sound(root / "0_0_1.wav", 100)
    sound(root / "1_0_1_1.wav", 200, 9, 8000)


def speech(root):
    text(root / "metadata.csv", "LJ-1|a \"b\" 3|a \"b\" three", "LJ-2|c|d")
    sound(root / "wavs/LJ-1.wav", 100)
    sound(root / "wavs/LJ-2.wav", 300, 9, 8000)


def genres(root):
    for number, name in enumerate(("blues.00000", "blues.00003", "rock.00004", "rock.00010")):
        sound(root / name.split(".")[0] / f"{name}.wav", 50 * number, rate=22050)


def pairs(root):
    for folder in ("training/train", "validation/val", "mmt16_task1_test/test"):
        for language in ("en", "de"):
            text(root / f"{folder}.{language}", *(f"{folder[0]} {language} {k}" for k in (1, 2)))


def films(root):
    for number, (part, kind) in enumerate((p, k) for p in ("train", "test") for k in (
            "pos", "neg")):
        for k in (1, 2):
            text(root / part / kind / f"{k}_{number}.txt", f" film {part} {kind} {k}")


def sentences(root):
    for part in ("train", "dev"):
        text(root / f"{part}.tsv", "sentence\tlabel", f"good {part} \t1", "bad\t0")
    text(root / "test.tsv", "index\tsentence", "0\tone", "1\ttwo")


def tagged(root):
    for part in ("train", "test"):
        text(root / f"{part}.txt", "A DT B-NP", f"{part} NN I-NP", "", "ends VB B-VP", "")
    for part in ("train", "dev", "test"):
        text(root / f"en-ud-tag.v2.{part}.txt", "A\tDET\tDT", f"{part}\tNOUN\tNN", "",
             "ends\tVERB\tVB", "")


def tables(root):
    for part in ("train", "test"):
        text(root / f"{part}.csv", *(
            f'"{k}","{part}, {k}","say ""x"" {k}","more {k}"' for k in (1, 2, 3)))


def columns(count):
    def made(root):
        for part in ("train", "test"):
            text(root / f"{part}.csv", *(",".join(
                f'"{part[k % 2:]}{k}, {n}"' for n in range(count)) for k in (1, 2, 3)))
    return made


def articles(root):
    for part in ("train", "valid", "test"):
        for name in (f"ptb.{part}.txt", f"wiki.{part}.tokens"):
            text(root / name, f" {part} one ", f" = {part} two = ")
    text(root / "enwik9", "<page>", "  <title>AA</title>", "</page>")


def characters(root):
    for number, part in enumerate(("images_background", "images_evaluation")):
        for place in range(4):
            picture(root / part / "AB"[place // 2] / f"character0{place % 2 + 1}/1_{place}.png",
                    60 * number + place)


def rendered(root):
    for place, part in enumerate(("train", "valid", "test")):
        for kind in (0, 1):
            picture(root / part / ("negative", "positive")[kind] / "0.png", 20 * place + kind)


def sun(root):
    text(root / "ClassName.txt", "/a/abbey", "/a/alley/deep", "/b/bar")
    for number, name in enumerate(("a/abbey", "a/alley/deep", "b/bar")):
        picture(root / name / "sun_1.jpg", 30 * number)


def objects(root):
    for number in (1, 2, 3):
        picture(root / f"{number:03}.thing/{number:03}_0001.jpg", number)


def celebrities(root):
    text(root / "list_attr_celeba.txt", "3", "names", *(
        f"{k}.jpg  " + " ".join("1" if (k + n) % 3 else "-1" for n in range(40)) for k in range(3)))
    text(root / "list_eval_partition.txt", "0.jpg 0", "1.jpg 1", "2.jpg 2")
    for k in range(3):
        picture(root / f"{k}.jpg", 10 * k)


def manifest(root):
    rows = [("train", ["cat"]), ("TRAIN", ["dog", "cat"]), ("eval", ["dog"]), ("inference", [])]
    text(root / "m.json", *(json.dumps({
        "source": str(root / f"{k}.jpg"), "usage": usage, "id": k,
        "annotation": [{"name": name, "type": "modelarts/image_classification"} for name in names],
        "inference-loc": ""}) for k, (usage, names) in enumerate(rows)))
    for k in range(4):
        picture(root / f"{k}.jpg", 10 * k)


def voc(root):
    for part in ("Main", "Segmentation"):
        for usage, names in (("train", "ab"), ("val", "c")):
            text(root / f"ImageSets/{part}/{usage}.txt", *names)
    for place, name in enumerate("abc"):
        picture(root / f"JPEGImages/{name}.jpg", place)
        picture(root / f"SegmentationClass/{name}.png", 9 + place)
        box = "".join(f"<{k}>{v + place}</{k}>" for k, v in zip(
            ("xmin", "ymin", "xmax", "ymax"), (1, 2, 5, 9), strict=True))
        text(root / f"Annotations/{name}.xml", "<annotation>", *(
            f"<object><name>{kind}</name><difficult>{place % 2}</difficult>"
            f"<truncated>{1 - place % 2}</truncated><bndbox>{box}</bndbox></object>"
            for kind in ("tree", name)), "</annotation>")


def coco(root):
    for k in range(3):
        picture(root / f"x{k}.jpg", 10 * k)
    marks = [{"image_id": k, "bbox": [k, 2, 3.5, 4], "category_id": 7 + k % 2, "iscrowd": k % 2,
              "area": 5 + k, "id": n, "keypoints": [1, 2, k], "num_keypoints": k + 1,
              "segmentation": [[k, 2, 3, 4], [5, 6, 7, 8]][:n], "caption": f"an {k}"}
             for n, k in ((1, 0), (2, 1), (1, 1))]
    about = {"images": [{"id": k, "file_name": f"x{k}.jpg"} for k in range(3)],
             "annotations": marks, "categories": [
                 {"id": 7, "name": "letter", "isthing": 1}, {"id": 8, "name": "sky", "isthing": 0}]}
    text(root / "m.json", json.dumps(about))
    about["annotations"] = [{"image_id": k, "file_name": f"x{k}.png", "segments_info": [
        {"id": 1, "category_id": 7 + k, "bbox": [1, 2, 3, k], "iscrowd": k, "area": 12 + k}]}
        for k in (0, 1)]
    text(root / "p.json", json.dumps(about))


def streets(root):
    for place, part in enumerate(("training", "testing")):
        for k in range(4):
            picture(root / f"data_object_image_2/{part}/image_2/00000{k}.png", 10 * k + place)
    for k in range(4):
        text(root / f"data_object_label_2/training/label_2/00000{k}.txt", *(
            f"{kind} 0.{k}0 {k % 3} -1.5{k} 1.1 2.2 3.3 4.{k} 1.5 1.6 1.7 0.1 0.2 8.9 0.0{k}"
            for kind in ("Car", "Van", "DontCare")[:1 + k % 3]))


CASES = [  # a data set, who makes its files, its arguments, and which of its files it is given
    *[("STL10", stl, {"usage": usage}) for usage in (
        "train", "test", "unlabeled", "train+unlabeled", "all")],
    *[("SVHN", numbers, {"usage": usage}) for usage in ("train", "extra", "all")],
    ("Semeion", semeion, {}), *[("USPS", usps, {"usage": u}) for u in ("train", "test", "all")],
    *[("EMnist", letters, {"name": name, "usage": usage}) for name, usage in (
        ("balanced", "train"), ("letters", "test"), ("letters", "all"))],
    *[(name, digits, {"usage": usage}) for name in ("Mnist", "KMnist", "FashionMnist")
      for usage in ("train", "test", "all")],
    *[("SpeechCommands", commands, {"usage": u}) for u in ("train", "test", "valid", "all")],
    ("YesNo", yes, {}), ("LJSpeech", speech, {}),
    *[("GTZAN", genres, {"usage": usage}) for usage in ("train", "valid", "test", "all")],
    *[("Multi30k", pairs, {"usage": usage, "language_pair": pair}) for usage, pair in (
        ("train", ["en", "de"]), ("valid", ["de", "en"]), ("all", ["en", "de"]))],
    *[("IMDB", films, {"usage": usage}) for usage in ("train", "test", "all")],
    *[("SST2", sentences, {"usage": usage}) for usage in ("train", "dev", "test")],
    *[("CoNLL2000", tagged, {"usage": usage}) for usage in ("train", "test", "all")],
    *[("UDPOS", tagged, {"usage": usage}) for usage in ("train", "valid", "all")],
    *[(name, columns(count), {"usage": usage}) for name, count in (
        ("AGNews", 3), ("AmazonReview", 3), ("DBpedia", 3), ("SogouNews", 3), ("YelpReview", 2),
        ("YahooAnswers", 4)) for usage in ("test", "all")],
    *[(name, articles, {"usage": usage}) for name in ("PennTreebank", "WikiText")
      for usage in ("valid", "all")], ("EnWik9", articles, {}),
    *[("Omniglot", characters, {"background": which, "decode": True}) for which in (True, False)],
    *[("RenderedSST2", rendered, {"usage": usage, "decode": True}) for usage in (
        "train", "val", "all")],
    ("SUN397", sun, {"decode": True}), ("Caltech256", objects, {"decode": True}),
    ("Caltech256", objects, {"decode": False}),
    *[("CelebA", celebrities, {"usage": u, "decode": True}) for u in ("train", "valid", "all")],
    *[("Manifest", manifest, {"usage": usage, "decode": True, **more}, "m.json")
      for usage, more in (("train", {}), ("eval", {"class_indexing": {"dog": 5}}),
                          ("train", {"class_indexing": {"dog": 1}}))],
    *[("VOC", voc, {"task": task, "usage": usage, "decode": True, **more})
      for task, usage, more in (
          ("Segmentation", "train", {}), ("Detection", "train", {}), ("Detection", "val", {}),
          ("Detection", "train", {"class_indexing": {"tree": 3, "b": 1}}))],
    *[("Coco", coco, {"annotation_file": name, "task": task, "decode": True}) for task, name in (
        ("Detection", "m.json"), ("Keypoint", "m.json"), ("Captioning", "m.json"),
        ("Panoptic", "p.json"))],
    *[("KITTI", streets, {"usage": usage, "decode": True}) for usage in ("train", "test")],
]


def name_of(case):
    return " ".join([case[0], *map(str, case[2].values())])


def record(ds, case, root):
    """What a framework reads: columns, classes, and rows; size and first row of part 2 of 2."""
    name, make, options, *file = case
    root.mkdir(exist_ok=True)
    make(root)
    options = dict(options)
    if "annotation_file" in options:
        options["annotation_file"] = str(root / options["annotation_file"])

    def made(**more):
        return getattr(ds, f"{name}Dataset")(str(root.joinpath(*file)), shuffle=False,
                                             **options, **more)

    data, part = made(), made(num_shards=2, shard_id=1)
    rows = [[told(value) for value in row]
            for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    second = [told(value) for value in next(
        part.create_tuple_iterator(num_epochs=1, output_numpy=True))]
    return {"columns": data.get_col_names(), "rows": rows, "size": data.get_dataset_size(),
            "classes": data.num_classes(), "part": [part.get_dataset_size(), second]}


def told(value):
    """Type, shape and content, which shows the order of elements."""
    value = np.asarray(value)
    if value.dtype.kind in "US":
        return ["text", list(value.shape), value.tolist()]
    flat = value.astype(np.float64).ravel()
    return [str(value.dtype), list(value.shape), round(float(flat @ (np.arange(len(flat)) % 97
                                                                     + 1)), 4)]
