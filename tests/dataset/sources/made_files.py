"""Small files in the layouts of known data sets, and `record`, which reads them in a framework."""

import json
import wave

import numpy as np
from PIL import Image
from scipy.io import savemat
from scipy.sparse import csc_matrix


def text(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def image(path, shade, size=(4, 4)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((*size, 3), shade, np.uint8)).save(path)


def gray(path, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(values, np.uint8)).save(path)


def sound(path, value, frames=6, rate=16000):
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((value + np.arange(frames, dtype="<i2")).tobytes())


def flowers(root):
    for number in range(1, 7):
        image(root / f"jpg/image_{number:05}.jpg", 30 * number)
        image(root / f"segmim/segmim_{number:05}.jpg", 30 * number + 5)
    savemat(root / "imagelabels.mat", {"labels": np.array([[3, 1, 2, 3, 1, 2]])})
    savemat(root / "setid.mat", {"trnid": [[2, 4]], "valid": [[1]], "tstid": [[3, 5, 6]]})


def caltech(root):
    for place, (name, other) in enumerate((("Faces", "Faces_2"), ("Motorbikes", "Motorbikes_16"),
                                           ("ant", "ant"))):
        for number in (1, 2):
            image(root / f"101_ObjectCategories/{name}/image_{number:04}.jpg", 60 * place + number)
            folder = root / f"Annotations/{other}"
            folder.mkdir(parents=True, exist_ok=True)
            savemat(folder / f"annotation_{number:04}.mat",
                    {"obj_contour": np.arange(6.0).reshape(2, 3) + place})


def lsun(root):
    for place, name in enumerate(("bedroom_train", "classroom_train", "bedroom_val", "test")):
        for number in (1, 2):
            image(root / name / f"1_{number}.jpg", 50 * place + 10 * number)


def places(root):
    names = ["/a/airfield", "/b/bakery/shop"]
    text(root / "categories_places365.txt", *(f"{n} {i}" for i, n in enumerate(names)))
    for kind in ("standard", "challenge"):
        text(root / f"places365_train_{kind}.txt",
             *(f"{n}/0000000{i}.jpg {i}" for i, n in enumerate(names)))
        text(root / f"places365_train-{kind}.txt",
             *(f"{n}/0000000{i}.jpg {i}" for i, n in enumerate(names)))
        for size in ("256", "large"):
            for i, n in enumerate(names):
                image(root / f"data_{size}_{kind}{n}/0000000{i}.jpg",
                      20 + i * 40 + 5 * (size == "256"))
    text(root / "places365_val.txt", "Places365_val_00000001.jpg 1", "Places365_val_00000002.jpg 0")
    for size in ("256", "large"):
        for i in (1, 2):
            image(root / f"val_{size}/Places365_val_0000000{i}.jpg", 100 * i)


def faces(root):
    people = {"Ann_Lee": 2, "Bob_Ray": 1, "Cy_Orr": 2}
    shade = 10
    for folder in ("lfw", "lfw_funneled", "lfw-deepfunneled"):
        for name, count in people.items():
            for number in range(1, count + 1):
                image(root / folder / name / f"{name}_{number:04}.jpg", shade)
                shade += 10
    text(root / "lfw-names.txt", *(f"{n}\t{c}" for n, c in people.items()))
    text(root / "peopleDevTrain.txt", 2, "Ann_Lee\t2", "Bob_Ray\t1")
    text(root / "peopleDevTest.txt", 1, "Cy_Orr\t2")
    text(root / "people.txt", 2, 1, "Ann_Lee\t2", 2, "Bob_Ray\t1", "Cy_Orr\t2")
    text(root / "pairsDevTrain.txt", 1, "Ann_Lee\t1\t2", "Ann_Lee\t1\tBob_Ray\t1")
    text(root / "pairsDevTest.txt", 1, "Cy_Orr\t1\t2", "Cy_Orr\t2\tBob_Ray\t1")
    text(root / "pairs.txt", "2\t1", "Ann_Lee\t1\t2", "Ann_Lee\t2\tCy_Orr\t1", "Cy_Orr\t2\t1",
         "Bob_Ray\t1\tCy_Orr\t2")


def wider(root):
    for part, shade in (("train", 10), ("val", 110), ("test", 210)):
        for number in (1, 2):
            image(root / f"WIDER_{part}/images/0--Parade/0_Parade_{part}_{number}.jpg",
                  shade + 10 * number)
    for part in ("train", "val"):
        text(root / f"wider_face_split/wider_face_{part}_bbx_gt.txt",
             f"0--Parade/0_Parade_{part}_1.jpg", 2, "1 2 3 4 0 1 0 0 2 1 ", "5 6 7 8 2 0 1 0 1 0 ",
             f"0--Parade/0_Parade_{part}_2.jpg", 1, "9 8 7 6 1 1 1 1 1 1 ")
    text(root / "wider_face_split/wider_face_test_filelist.txt",
         *(f"0--Parade/0_Parade_test_{number}.jpg" for number in (1, 2)))


def streets(root):
    kinds = {"train": ("gtFine", "gtCoarse"), "val": ("gtFine", "gtCoarse"), "test": ("gtFine",),
             "train_extra": ("gtCoarse",)}
    for place, part in enumerate(kinds):
        for city in ("aachen", "bochum"):
            stem = f"{city}_00000{place}_000019"
            image(root / f"leftImg8bit/{part}/{city}/{stem}_leftImg8bit.png", 40 * place + 6)
            for kind in kinds[part]:
                start = root / kind / part / city
                for k, ending in enumerate(("instanceIds", "labelIds")):
                    gray(start / f"{stem}_{kind}_{ending}.png", np.full((4, 4), 5 * place + k))
                image(start / f"{stem}_{kind}_color.png", 50 + place)
                text(start / f"{stem}_{kind}_polygons.json", json.dumps({"imgHeight": 4}))


def boundaries(root):
    (root / "cls").mkdir(parents=True, exist_ok=True)
    for place, name in enumerate(("2008_000002", "2008_000003", "2008_000004")):
        image(root / f"img/{name}.jpg", 50 * place + 10)
        inner = np.empty((20, 1), object)
        for k in range(20):
            inner[k, 0] = csc_matrix(np.eye(3, 4, k=k % 3, dtype=np.uint8) * (place == k % 3))
        savemat(root / f"cls/{name}.mat", {"GTcls": {
            "Segmentation": np.full((3, 4), place + 1, np.uint8), "Boundaries": inner}})
    text(root / "train.txt", "2008_000002", "2008_000003")
    text(root / "val.txt", "2008_000004")
    text(root / "train_noval.txt", "2008_000003")


def patches(root):
    for name in ("liberty", "liberty_harris"):
        folder = root / name
        folder.mkdir(parents=True)
        whole = np.zeros((1024, 1024), np.uint8)
        for place in range(256):
            row, column = divmod(place, 16)
            whole[64 * row:64 * row + 64, 64 * column:64 * column + 64] = place
        Image.fromarray(whole).save(folder / "patches0000.bmp")
        text(folder / "info.txt", *(f"{place // 2} 0" for place in range(256)))
        text(folder / "m50_100000_100000_0.txt", "3 1 0 7 3 0 0", "10 5 0 11 5 0 0")


def arctic(root):
    for name in ("aew", "bdl"):
        folder = root / f"cmu_us_{name}_arctic"
        for number in (1, 2):
            sound(folder / f"wav/arctic_a000{number}.wav", 1000 * number)
        text(folder / "etc/txt.done.data",
             '( arctic_a0001 "Author of the danger trail, etc." )',
             '( arctic_a0002 "Not at this case." )')


def libri(root):
    for part in ("dev-clean", "test-clean"):
        for chapter in ("7", "9"):
            folder = root / part / "11" / chapter
            for number in (1, 2):
                sound(folder / f"11_{chapter}_00000{number}_000000.wav", 500 * number, rate=24000)
            text(folder / f"11_{chapter}.trans.tsv",
                 *(f"11_{chapter}_00000{n}_000000\tText {n}!\ttext {n}" for n in (1, 2)))


def sphere(path, values, rate=16000):
    """A file in the format NIST SPHERE."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = ["NIST_1A", "   1024", "channel_count -i 1", f"sample_count -i {len(values)}",
              f"sample_rate -i {rate}", "sample_n_bytes -i 2", "sample_byte_format -s2 01",
              "sample_sig_bits -i 16", "sample_coding -s3 pcm", "end_head"]
    head = "\n".join(fields).encode() + b"\n"
    path.write_bytes(head.ljust(1024, b"\0") + np.asarray(values, "<i2").tobytes())


def talks(root):
    for folder in ("dev", "test", "train", "data"):
        sphere(root / folder / "sph/AlGore_2009.sph", np.arange(64) * 100)
        text(root / folder / "stm/AlGore_2009.stm",
             "AlGore_2009 1 AlGore 0.0005 0.00125 <o,f0,male> last year i showed",
             "AlGore_2009 1 AlGore 0.002 0.003 <o,f0,male> these two slides")


def clue(root):
    rows = {
        "afqmc": {"sentence1": "a", "sentence2": "b", "label": "1", "id": 3},
        "tnews": {"label": "101", "label_desc": "news", "sentence": "s", "keywords": "k", "id": 2},
        "iflytek": {"label": "11", "label_des": "x", "sentence": "t", "id": 1},
        "cmnli": {"sentence1": "c", "sentence2": "d", "label": "neutral", "id": 4},
        "csl": {"id": 1, "abst": "ab", "keyword": ["k1", "k2"], "label": "1"},
        "wsc": {"target": {"span1_index": 5, "span1_text": "u", "span2_index": 8,
                           "span2_text": "v"}, "idx": 0, "label": "true", "text": "w", "id": 6},
    }
    for name, row in rows.items():
        text(root / f"{name}.json", *(json.dumps({**row, "id": k}) for k in (0, 1)))


def spoken(root, year):
    pair = "de-en"
    folder = root / "texts/de/en/de-en" if year == "16" else (
        root / "texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo")
    for language in ("de", "en"):
        text(folder / f"train.tags.{pair}.{language}", "<url>http://x</url>", "<title>t</title>",
             f"{language} one.", f" {language} two. ")
        for part in ("dev2010", "tst2010", "tst2013", "tst2014"):
            text(folder / f"IWSLT{year}.TED.{part}.{pair}.{language}.xml",
                 '<?xml version="1.0" encoding="UTF-8"?>', "<mteval>", f'<refset setid="{part}">',
                 '<doc docid="1" genre="lectures">', f'<seg id="1"> {language} {part} a </seg>',
                 f'<seg id="2"> {language} {part} b </seg>', "</doc>", "</refset>", "</mteval>")


CASES = [  # a data set, who makes its files, and its arguments
    *[("Flowers102Dataset", flowers, {"usage": usage, "task": task, "decode": True})
      for usage, task in (("all", "Classification"), ("train", "Segmentation"),
                          ("valid", "Classification"), ("test", "Classification"))],
    *[("Caltech101Dataset", caltech, {"target_type": kind, "decode": True})
      for kind in ("category", "annotation", "all")],
    *[("LSUNDataset", lsun, {"usage": usage, "decode": True, **more}) for usage, more in (
        ("all", {}), ("train", {}), ("valid", {"classes": ["bedroom"]}), ("test", {}))],
    *[("Places365Dataset", places, {"usage": usage, "small": small, "decode": True})
      for usage, small in (("train-standard", True), ("train-challenge", False), ("val", True))],
    *[("LFWDataset", faces, {"task": task, "usage": usage, "image_set": kind, "decode": True})
      for task, usage, kind in (("people", "train", "funneled"), ("people", "test", "original"),
                                ("people", "all", "deepfunneled"), ("people", "10fold", "funneled"),
                                ("pairs", "train", "funneled"), ("pairs", "10fold", "funneled"),
                                ("pairs", "all", "funneled"))],
    *[("WIDERFaceDataset", wider, {"usage": usage, "decode": True})
      for usage in ("train", "valid", "test", "all")],
    *[("CityscapesDataset", streets, {"usage": usage, "quality_mode": mode, "task": task,
                                      "decode": True})
      for usage, mode, task in (("train", "fine", "instance"), ("all", "fine", "semantic"),
                                ("train_extra", "coarse", "color"), ("val", "fine", "polygon"))],
    *[("SBDataset", boundaries, {"task": task, "usage": usage, "decode": True})
      for task, usage in (("Boundaries", "train"), ("Segmentation", "val"),
                          ("Segmentation", "all"), ("Segmentation", "train_noval"))],
    *[("PhotoTourDataset", patches, {"name": name, "usage": usage, "num_samples": 4})
      for name, usage in (("liberty", "train"), ("liberty", "test"))],
    *[("CMUArcticDataset", arctic, more) for more in ({}, {"name": "bdl"})],
    *[("LibriTTSDataset", libri, {"usage": usage}) for usage in ("dev-clean", "all")],
    *[("TedliumDataset", talks, {"release": release, **more}) for release, more in (
        ("release1", {"usage": "dev"}), ("release3", {}))],
    *[("CLUEDataset", clue, {"dataset_files": f"{task.lower()}.json", "task": task,
                             "usage": usage})
      for task in ("AFQMC", "TNEWS", "IFLYTEK", "CMNLI", "CSL", "WSC")
      for usage in ("train", "test", "eval")],
    *[("IWSLT2016Dataset", lambda root: spoken(root, "16"), {"usage": usage})
      for usage in ("train", "valid", "test", "all")],
    *[("IWSLT2017Dataset", lambda root: spoken(root, "17"), {"usage": usage})
      for usage in ("train", "valid", "test", "all")],
]


def name_of(case):
    return " ".join([case[0].removesuffix("Dataset"), *map(str, case[2].values())])


def record(ds, case, root):
    """What a framework's `dataset` reads: columns, rows, and of each value type, shape, content."""
    name, make, options = case
    make(root)
    options = dict(options)
    files = options.pop("dataset_files", None)
    where = str(root) if files is None else str(root / files)
    data = getattr(ds, name)(where, shuffle=False, **options)
    rows = [[_told(value) for value in row]
            for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    return {"columns": data.get_col_names(), "size": data.get_dataset_size(), "rows": rows}


def _told(value):
    value = np.asarray(value)
    if value.dtype.kind in "US":
        return ["text", list(value.shape), value.tolist()]
    content = round(float(value.astype(np.float64).sum()), 4)
    return [str(value.dtype), list(value.shape), content]
