"""Images with captions, on files made here; the same files read the same in MindSpore 2.10."""

import pytest

import lamella.dataset as ds
from tests.dataset.sources.test_sources import image, rows


def shades(found, column="image"):
    return [int(row[column][0, 0, 0]) for row in found]


def test_flickr(tmp_path):
    for i in range(2):
        image(tmp_path / "images" / f"{i}.png", 10 * i)
    lines = [f"{i}.png#{k}\tcaption {i} {k} . " for i in (1, 0) for k in (0, 1)]
    token = tmp_path / "captions.token"
    token.write_text("\n".join([*lines, ""]))
    given = str(tmp_path / "images"), str(token)
    data = ds.FlickrDataset(*given, shuffle=False, decode=True)
    found = rows(data)
    assert data.get_col_names() == ["image", "annotation"] and shades(found) == [0, 10]
    assert found[1]["annotation"].tolist() == ["caption 1 0 . ", "caption 1 1 . "]
    assert rows(ds.FlickrDataset(*given))[0]["image"].ndim == 1
    token.write_text("0.png no tab\n")
    with pytest.raises(RuntimeError, match="no tab"):
        rows(ds.FlickrDataset(*given))
    token.write_text("9.png#0\tno image\n")
    with pytest.raises(RuntimeError, match=r"9\.png"):
        rows(ds.FlickrDataset(*given))
    with pytest.raises(ValueError, match="does not exist"):
        ds.FlickrDataset(given[0], str(tmp_path / "none"))


def test_sbu(tmp_path):
    for i in (0, 2):
        image(tmp_path / "sbu_images" / f"m_33{i}_{i}_a.png", 10 * i)
    start = "SBU_captioned_photo_dataset_"
    with pytest.raises(ValueError, match="urls"):
        ds.SBUDataset(str(tmp_path))
    (tmp_path / f"{start}urls.txt").write_text(
        "".join(f"http://static.flickr.com/33{i}/{i}_a.png\n" for i in range(3)))
    (tmp_path / f"{start}captions.txt").write_text("zero \ngone\n two\n")
    found = rows(ds.SBUDataset(str(tmp_path), shuffle=False, decode=True))
    assert shades(found) == [0, 20] and [str(r["caption"]) for r in found] == ["zero", " two"]
    (tmp_path / f"{start}captions.txt").write_text("zero\n")
    with pytest.raises(RuntimeError, match="3 addresses, but 1"):
        rows(ds.SBUDataset(str(tmp_path)))


@pytest.mark.parametrize("line", ["a.png#0 caption", "a.png\tcaption", "a.png#\tcaption",
                                  "a.png#x\tcaption", "a.png#-1\tcaption", "#\t"])
def test_lines_of_flickr_that_are_wrong(line, tmp_path):
    (tmp_path / "captions.token").write_text(f"a.png#0\tright\n{line}\n")
    with pytest.raises(RuntimeError, match="has a line that isn't 'name#number<tab>caption'"):
        rows(ds.FlickrDataset(str(tmp_path), str(tmp_path / "captions.token")))


def test_lines_of_flickr_with_signs_in_names_and_captions(tmp_path):
    image(tmp_path / "a#b.png", 9)
    (tmp_path / "captions.token").write_text("a#b.png#12\tone\ttwo # three\n\na#b.png#0\t\n")
    (row,) = rows(ds.FlickrDataset(str(tmp_path), str(tmp_path / "captions.token"), decode=True))
    assert row["annotation"].tolist() == ["one\ttwo # three", ""] and row["image"][0, 0, 0] == 9
