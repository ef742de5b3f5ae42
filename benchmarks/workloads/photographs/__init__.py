"""Photographs in a folder for each class: decoded, cropped, flipped, normalized, stacked."""

import functools
import io
import pathlib
import tempfile

import numpy as np

COUNT, SIZE, BATCH, WORKERS = 320, 224, 32, 2
MEAN, STD = (123.7, 116.3, 103.5), (58.4, 57.1, 57.4)


def photographs(count=COUNT):
    """JPEG files of about 420 x 315, parts of scikit-learn's two photographs: all bytes, ends."""
    from PIL import Image
    from sklearn.datasets import load_sample_images

    whole = [Image.fromarray(image) for image in load_sample_images().images]
    rng, files = np.random.default_rng(0), []
    for number in range(count):
        width = int(rng.integers(380, 460))
        height = width * 3 // 4
        photograph = whole[number % 2]
        left = int(rng.integers(0, photograph.width - width))
        top = int(rng.integers(0, photograph.height - height))
        file = io.BytesIO()
        photograph.crop((left, top, left + width, top + height)).save(file, "JPEG", quality=90)
        files.append(file.getvalue())
    return (np.frombuffer(bytearray().join(files), np.uint8),
            np.cumsum([len(file) for file in files]).astype(np.int32))


@functools.cache
def _made():
    return tempfile.TemporaryDirectory(prefix="photographs-")


def folder(data, ends):
    """The files on disk, in the folders "0" and "1"; they go with the process."""
    root = pathlib.Path(_made().name)
    starts = [0, *ends[:-1]]
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        place = root / str(number % 2)
        place.mkdir(exist_ok=True)
        (place / f"{number:03}.jpg").write_bytes(data[start:end].tobytes())
    return str(root)
