"""Images in two resolutions, on files made here; the same files read the same in MindSpore 2.10."""

import pytest

import lamella.dataset as ds
from tests.dataset.sources.test_captioned import shades
from tests.dataset.sources.test_sources import image, rows


@pytest.fixture
def root(tmp_path):
    for part, numbers in (("train", (1, 2)), ("valid", (3,))):
        for i in numbers:
            image(tmp_path / f"DIV2K_{part}_HR" / f"000{i}.png", 10 * i)
            for k, small in enumerate(("bicubic/X2/000{}x2", "mild/000{}x4m", "x8/000{}x8")):
                image(tmp_path / f"DIV2K_{part}_LR_{small.format(i)}.png", 10 * i + k + 1)
    return str(tmp_path)


@pytest.mark.parametrize("options, sharp, step", [
    ({}, [10, 20], 1), ({"usage": "all"}, [10, 20, 30], 1),
    ({"usage": "valid", "downgrade": "mild", "scale": 4}, [30], 2), ({"scale": 8}, [10, 20], 3),
], ids=str)
def test_pairs(root, options, sharp, step):
    data = ds.DIV2KDataset(root, shuffle=False, decode=True, **options)
    found = rows(data)
    assert data.get_col_names() == ["hr_image", "lr_image"] and len(data) == len(sharp)
    assert shades(found, "hr_image") == sharp
    assert shades(found, "lr_image") == [shade + step for shade in sharp]


@pytest.mark.parametrize("options", [
    {"usage": "test"}, {"scale": 5}, {"scale": 8, "downgrade": "unknown"},
    {"downgrade": "wild"}, {"downgrade": "hard"},
], ids=str)
def test_wrong_arguments(root, options):
    with pytest.raises(ValueError, match="DIV2KDataset"):
        ds.DIV2KDataset(root, **options)


@pytest.mark.parametrize("downgrade, scales", [
    ("bicubic", [2, 3, 4, 8]), ("unknown", [2, 3, 4]), ("mild", [4]), ("difficult", [4]),
    ("wild", [4])])
def test_scales_of_each_kind(root, downgrade, scales):
    for scale in range(1, 10):
        def found(scale=scale):
            return rows(ds.DIV2KDataset(root, "valid", downgrade, scale, decode=True))
        if scale not in scales:
            with pytest.raises(ValueError, match="DIV2KDataset"):
                found()
        elif (downgrade, scale) in (("bicubic", 2), ("bicubic", 8), ("mild", 4)):
            assert len(found()) == 1
        else:  # one that isn't there
            end = f"x4{downgrade[0]}" if scales == [4] else f".X{scale}.0003x{scale}"
            with pytest.raises(RuntimeError, match=f"LR_{downgrade}(.0003)?{end}.png"):
                found()


def test_missing_images(root, tmp_path):
    with pytest.raises(RuntimeError, match="LR_unknown"):
        rows(ds.DIV2KDataset(root, downgrade="unknown"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(RuntimeError, match="no folder"):
        rows(ds.DIV2KDataset(str(tmp_path / "empty")))
