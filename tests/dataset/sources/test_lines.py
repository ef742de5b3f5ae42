"""Sources that are read in sequence: parts, first rows, orders of files, and typed values."""

import pytest

import lamella.dataset as ds
from lamella.dataset.sources.files import found_files
from lamella.dataset.state import Run

FILES = {"a.txt": ["a0", "a1", "a2"], "b.txt": ["b0"], "c.txt": ["c0", "c1", "c2"]}
ALL = [line for lines in FILES.values() for line in lines]


@pytest.fixture
def folder(tmp_path):
    for name, lines in FILES.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n\n")
    return tmp_path


def words(data, skip=0):
    return [str(row[0]) for row in data._rows(Run(data, 5), skip)]


@pytest.mark.parametrize("samples", [None, 0, 1, 3, 7, 8])
@pytest.mark.parametrize("shards", [None, 1, 2, 3, 7, 8])
def test_parts_and_first_rows(folder, samples, shards):
    """Parts are of one length; the last is filled up with the first rows."""
    for shard in range(shards or 1):
        part = {} if shards is None else {"num_shards": shards, "shard_id": shard}
        data = ds.TextFileDataset(str(folder / "*.txt"), samples, shuffle=False, **part)
        size = -(-len(ALL) // (shards or 1))
        wanted = (ALL * 2)[shard * size:(shard + 1) * size][:samples or None]
        assert data.get_dataset_size() == len(wanted)
        for skip in range(len(wanted) + 2):
            assert words(data, skip) == wanted[skip:]
        assert data.is_sharded() is ((shards or 1) > 1) and not data.is_shuffled()


@pytest.mark.parametrize("shuffle, mixed", [(ds.Shuffle.FILES, False), (ds.Shuffle.GLOBAL, True),
                                            (True, True), (None, False), (False, False),
                                            (ds.Shuffle.FALSE, False)])
def test_files_or_rows_are_shuffled(folder, shuffle, mixed):
    data = ds.TextFileDataset(str(folder / "*.txt"), shuffle=shuffle)
    seen = set()
    for seed in range(12):
        found = [str(row[0]) for row in data._rows(Run(data, seed))]
        assert sorted(found) == ALL
        seen.add(tuple(found))
        if not mixed:  # each file's rows stay together
            heads = [word[0] for word in found]
            assert "".join(heads).replace("aaa", "a").replace("ccc", "c") in (
                "abc", "acb", "bac", "bca", "cab", "cba")
            for head in "abc":
                assert [w for w in found if w[0] == head] == FILES[f"{head}.txt"]
    assert data.is_shuffled() is (len(seen) > 1)
    assert (len(seen) == 1) is (shuffle in (None, False, ds.Shuffle.FALSE))


def test_each_epoch_has_its_order_of_files(folder):
    data = ds.TextFileDataset(str(folder / "*.txt"), shuffle=ds.Shuffle.FILES)
    run = Run(data, 3)
    orders = {tuple(str(row[0]) for row in data._rows(run)) for _ in range(8)}
    assert len(orders) > 1
    with pytest.raises(ValueError, match="must be GLOBAL, FILES or FALSE"):
        ds.TextFileDataset(str(folder / "*.txt"), shuffle=ds.Shuffle.INFILE)


def test_files_by_patterns(folder):
    (folder / "in").mkdir()
    (folder / "in" / "a.txt").touch()
    (folder / "[x].txt").touch()

    def names(files):
        return [path[len(str(folder)) + 1:] for path in found_files("S", files)]

    at = str(folder)
    assert names(f"{at}/[ab].txt") == ["a.txt", "b.txt"]
    assert names([f"{at}/b.txt", f"{at}/a.txt"]) == ["a.txt", "b.txt"]
    assert names(f"{at}/[x].txt") == ["[x].txt"]  # a file that is there is no pattern
    assert names(f"{at}/**/a.txt") == ["a.txt", "in/a.txt"]
    assert names([f"{at}/a.txt", f"{at}/?.txt"]) == ["a.txt", "a.txt", "b.txt", "c.txt"]
    for files, error, text in ((f"{at}/in", ValueError, "did not match any files: .*in"),
                               ([f"{at}/a.txt", f"{at}/z"], ValueError, "did not match .*/z"),
                               ([f"{at}/a.txt", ""], ValueError, "can not be empty"),
                               ("", ValueError, "can not be empty"), ([], ValueError, "match any"),
                               ([3], TypeError, "must be a str or a list"),
                               (None, TypeError, "must be a str or a list")):
        with pytest.raises(error, match=text):
            found_files("S", files)


def dicts(data):
    return [{k: v.tolist() for k, v in row.items()}
            for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


@pytest.mark.parametrize("names, rows", [
    (None, [{"n": 1, "x": 2.5, "w": "u"}, {"n": 7, "x": 0.5, "w": "?"}]),
    (["a", "b", "c"], None)])
def test_values_of_csv_files_have_the_types_of_the_defaults(tmp_path, names, rows):
    path = tmp_path / "a.csv"
    path.write_text('n;x;w\n1;2.5;u\n\n7;"";\n' if names is None else '1;2.5;u\n-3;;"v;w"\n')
    data = ds.CSVDataset(str(path), ";", [7, 0.5, "?"], names, shuffle=False)
    assert dicts(data) == (rows or [{"a": 1, "b": 2.5, "c": "u"}, {"a": -3, "b": 0.5, "c": "v;w"}])
    assert [kind.kind + str(kind.itemsize) for kind in data.output_types()][:2] == ["i4", "f4"]
    plain = ds.CSVDataset(str(path), ";", None, names, shuffle=False)
    assert dicts(plain)[0] == dict(zip(names or "nxw", ("1", "2.5", "u"), strict=True))
    assert len(plain) == len(data) == 2


@pytest.mark.parametrize("text, options, error, words", [
    ("a,b\n1\n", {}, RuntimeError, "line 2 of .* has 1 values, but there are 2 columns"),
    ("a,b\n1,2,3\n", {}, RuntimeError, "line 2 of .* has 3 values"),
    ("a,b\n1,x\n", {"column_defaults": [1, 1]}, RuntimeError, "line 2 of"),
    ("a,b\n1,2\n", {"column_defaults": [1]}, RuntimeError, "has 1 values, but there are 2 columns"),
    ("", {}, RuntimeError, "is empty"), ("a", {"field_delim": ""}, ValueError, "one character"),
    ("a", {"field_delim": ",,"}, ValueError, "one character"),
    ("a", {"field_delim": '"'}, ValueError, "one character"),
    ("a", {"field_delim": "\n"}, ValueError, "one character"),
    ("a", {"field_delim": "\r"}, ValueError, "one character"),
    ("a", {"field_delim": 1}, TypeError, "field delim"),
    ("a", {"column_defaults": (1,)}, TypeError, "'column_defaults' must be a list"),
    ("a", {"column_defaults": [None]}, TypeError, "'column_defaults' must be a list")])
def test_csv_files_that_can_not_be_read(tmp_path, text, options, error, words):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(error, match=words):
        dicts(ds.CSVDataset(str(tmp_path / "a.csv"), **options))


@pytest.mark.parametrize("content", [b"a\n\xff\xfe\n", b"a" * (1 << 18) + b"\n1\n"])
def test_names_of_columns_that_can_not_be_read(tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(RuntimeError, match="the names of columns in .*a.csv can't be read"):
        ds.CSVDataset(str(tmp_path / "a.csv")).get_col_names()


def test_buffers_are_of_four_files_or_ten_thousand_rows(folder, monkeypatch):
    from lamella.dataset.sources import files

    sizes = []
    monkeypatch.setattr(files, "Buffer", lambda size, seed: sizes.append(size))
    data = ds.TextFileDataset(str(folder / "*.txt"))
    for total in (7, 7500, 7503, 9000):
        data._total = total
        files._Shuffled(data, 1)
    assert sizes == [10000, 10000, 10004, 12000]
