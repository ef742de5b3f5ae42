"""What members of archives hold, by their extension, and what can't be read."""

import io
import tarfile

import numpy as np
import pytest
from PIL import Image

import lamella.dataset as ds
from lamella.dataset.sources import webdataset


def archive(path, **members):
    with tarfile.open(path, "w") as out:
        for name, data in members.items():
            info = tarfile.TarInfo(name.replace("__", "."))
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    return str(path)


def saved(array, version):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize("array", [np.arange(6, dtype=np.int16).reshape(2, 3), np.float64(2.5),
                                   np.zeros((0, 4), np.int8), np.ones(1, np.complex64)])
def test_arrays_of_each_version(array, version):
    found = webdataset._array(saved(np.asarray(array), version))
    assert found.dtype == array.dtype and found.shape == array.shape
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("kind, shape", [
    ("|i1", (-1,)), ("|i1", (2, -3)), ("|i1", (-2, -3)), ("|i1", (229,)), ("<f8", (5, 6)),
    ("<i2", (10, 13))])
def test_arrays_that_are_not_there(kind, shape):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": kind, "fortran_order": False, "shape": shape})
    file.write(bytes(100))
    assert len(file.getvalue()) == 228
    with pytest.raises(ValueError, match="isn't there"):
        webdataset._array(file.getvalue())


@pytest.mark.parametrize("text, wanted", [(b'{"a": [1]}', {"a": [1]}), (b"[1, 2]", [1, 2]),
                                          (b"3", 3), (b'"x"', "x")])
def test_json(text, wanted):
    found = webdataset._json(text)
    assert (found if isinstance(wanted, dict) else found.tolist()) == wanted


def test_columns_are_those_of_the_first_archive_with_samples(tmp_path):
    archive(tmp_path / "0.tar")
    archive(tmp_path / "1.tar", a__txt=b"one", a__cls=b"1", b__txt=b"two", b__cls=b"2")
    data = ds.WebDataset(str(tmp_path / "*.tar"), shuffle=False)
    assert data.get_col_names() == ["cls", "txt"] and len(data) == 2
    with pytest.raises(RuntimeError, match="hold no samples"):
        ds.WebDataset(str(tmp_path / "0.tar")).get_col_names()


@pytest.mark.parametrize("extension", ["png", "bmp", "ppm", "tiff"])
def test_pictures(extension, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (3, 5, 3)).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, extension)
    path = archive(tmp_path / "a.tar", **{f"a__{extension}": file.getvalue()})
    (row,) = ds.WebDataset(path, shuffle=False).create_tuple_iterator(
        num_epochs=1, output_numpy=True)
    np.testing.assert_array_equal(row[0], pixels)
