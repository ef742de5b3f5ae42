"""Files that may be damaged: bytes as far as there are, and errors that name the file."""

from __future__ import annotations

import io

import pytest

from lamella.core import reading


class Counting(io.BytesIO):
    """Bytes that know for how many they were asked at once."""

    most = 0

    def read(self, size=-1):
        self.most = max(self.most, size)
        return super().read(size)


@pytest.mark.parametrize("there", [0, 3, 4, 5, 9])
@pytest.mark.parametrize("size", [0, 1, 4, 5, 8, 9, 100])
def test_as_many_bytes_as_there_are(there, size, monkeypatch):
    monkeypatch.setattr(reading, "_PIECE", 4)
    file = Counting(bytes(range(there)))
    assert reading.read_up_to(file, size) == bytes(range(min(there, size)))
    assert file.most <= 4 and file.tell() == min(there, size)


@pytest.mark.parametrize("error, why", [
    (ValueError("odd"), "odd"), (KeyError("rate"), r"KeyError\('rate'\)"),
    (TypeError("odd"), r"TypeError\('odd'\)"), (IndexError("odd"), r"IndexError\('odd'\)"),
    (ZeroDivisionError("odd"), r"ZeroDivisionError\('odd'\)"), (RecursionError("deep"), "deep")])
def test_what_is_wrong_names_the_file(error, why):
    said = f"^For 'f', the file 'a.x' is damaged: {why}\\.$"
    with pytest.raises(ValueError, match=said) as found:
        with reading.reading("f", "a.x"):
            raise error
    assert found.value.__cause__ is error


def test_errors_that_stay():
    for error in (OSError("gone"), ValueError("the file a.x is odd"), MemoryError()):
        with pytest.raises(type(error)) as found, reading.reading("f", "a.x"):
            raise error
        assert found.value is error


@pytest.mark.parametrize("text", [b"{", b"\xff\xfe\xfa", b"[" * 100_000, b""])
def test_files_that_are_no_json(text, tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=r"For 'f', the file '.*a\.json' is damaged: "):
        reading.read_json("f", str(path))
    path.write_text('{"a": [1, 2]}')
    assert reading.read_json("f", str(path)) == {"a": [1, 2]}
