"""Sources of recorded sounds: which files belong to a part, and what is read from them."""

import wave

import numpy as np

from lamella import dataset as ds
from lamella.dataset.sources.genres import files_of

PARTS = ("train", "valid", "test")


def test_parts_of_gtzan_are_those_of_its_lists(tmp_path):
    names = [min(files_of(part)) for part in PARTS]
    assert sum(map(len, map(files_of, PARTS))) == len(set().union(*map(files_of, PARTS)))
    for number, name in enumerate(names):
        path = tmp_path / name.partition(".")[0] / f"{name}.wav"
        path.parent.mkdir(exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, 8000 + number, 0, "NONE", ""))
            file.writeframes(np.array([0, 2**15 - 1], "<i2").tobytes())

    def rows(part):
        data = ds.GTZANDataset(str(tmp_path), part, shuffle=False)
        return [(wave.tolist(), rate.item(), str(label)) for wave, rate, label
                in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]

    every = [([[0.0, 1.0]], 8000 + number, name.partition(".")[0])
             for number, name in enumerate(names)]
    assert [rows(part) for part in PARTS] == [[row] for row in every]
    assert sorted(rows("all")) == sorted(every)
