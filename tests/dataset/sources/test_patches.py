"""Patches of photographs: those of several sheets."""

import numpy as np
import pytest
from PIL import Image

import lamella.dataset as ds

SHEETS = np.random.default_rng(0).integers(0, 256, (2, 1024, 1024)).astype(np.uint8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("patches")
    folder = root / "yosemite"
    folder.mkdir()
    for number, sheet in enumerate(SHEETS):
        Image.fromarray(sheet).save(folder / f"patches{number:04}.bmp")
    (folder / "info.txt").write_text("".join(f"{place // 3} 0\n" for place in range(259)))
    (folder / "m50_100000_100000_0.txt").write_text(
        "17 6 0 257 6 0 0\n256 5 0 15 6 0 0\n258 9 0 16 9 1 0\n")
    return str(root)


def patch(number):
    """Patches of 64 by 64 lie in rows of 16, 256 on a sheet."""
    return SHEETS.reshape(2, 16, 64, 16, 64).swapaxes(2, 3).reshape(512, 64, 64, 1)[number]


def test_a_training_has_all_patches_in_order(folder):
    data = ds.PhotoTourDataset(folder, "yosemite", "train", shuffle=False)
    assert data.get_dataset_size() == 259
    for number, (image,) in enumerate(data.create_tuple_iterator(num_epochs=1, output_numpy=True)):
        if number % 16 in (0, 5, 15) or number > 254:
            np.testing.assert_array_equal(image, patch(number))


def test_pairs_match_if_they_show_one_point(folder):
    data = ds.PhotoTourDataset(folder, "yosemite", "test", shuffle=False)
    found = list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
    wanted = [(17, 257, 1), (256, 15, 0), (258, 16, 1)]
    for (one, other, match), (first, second, same) in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, patch(first))
        np.testing.assert_array_equal(other, patch(second))
        assert match == same and match.dtype == np.uint32


def test_an_error_names_the_sheets_of_a_row(folder):
    for usage, place, sheets in (("train", 255, [0]), ("train", 256, [1]), ("test", 0, [0, 1])):
        data = ds.PhotoTourDataset(folder, "yosemite", usage, sampler=ds.SubsetSampler([place]))
        column = data.get_col_names()[0]
        with pytest.raises(RuntimeError) as error:
            list(data.map(lambda image: 1 // 0, column))
        for sheet in (0, 1):
            assert (f"patches{sheet:04}.bmp" in str(error.value)) is (sheet in sheets)
