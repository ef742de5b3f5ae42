"""The cache's folder: where it lies, who may write to it, how old and how large it gets."""

import os
import stat

import pytest
import torch

from lamella.machine import cache

NOW = 1_000_000.0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("named, around, want", [
    ("/a/b", "/x", "/a/b"), ("/a/../b", "/x", "/b"), ("0", "/x", None), ("", "/x", None),
    (None, "/x", "/x/lamella"), (None, "", "/home/me/.cache/lamella")])
def test_the_place_by_settings(named, around, want, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", around)
    if named is None:
        monkeypatch.delenv("LAMELLA_CACHE", raising=False)
    else:
        monkeypatch.setenv("LAMELLA_CACHE", named)
    assert cache.place() == want


@pytest.mark.parametrize("mode, why", [
    (0o700, None), (0o755, None), (0o720, "others may write to"), (0o702, "others may write to"),
    (0o777, "others may write to")])
def test_permissions_of_the_folder(folder, mode, why):
    folder.chmod(mode)
    found = cache.unusable(str(folder))
    assert found is None if why is None else found.startswith(why)


class Found:
    """What is known of a folder: its owner, group and permissions."""

    def __init__(self, owner, mode, group=0):
        self.st_uid, self.st_mode, self.st_gid = owner, stat.S_IFDIR | mode, group


@pytest.mark.parametrize("own, above, top, why", [
    ((7, 0o700), (7, 0o755), (0, 0o755), None),
    ((8, 0o700), (7, 0o755), (0, 0o755), "belongs to another user"),
    ((0, 0o700), (7, 0o755), (0, 0o755), "belongs to another user"),
    ((7, 0o700), (8, 0o755), (0, 0o755), "through '/a/b'"),
    ((7, 0o700), (0, 0o755), (8, 0o755), "through '/'"),
    ((7, 0o700), (7, 0o757), (0, 0o755), "through '/a/b'"),
    ((7, 0o700), (7, 0o1757), (0, 0o755), None),  # as /tmp
    ((7, 0o700), (7, 0o775, 5), (0, 0o755), "through '/a/b'"),
    ((7, 0o700), (7, 0o775, 7), (0, 0o755), None),  # the user's own group
    ((7, 0o700), (7, 0o775, 0), (0, 0o775, 0), None),
    ((7, 0o700), (7, 0o755), (0, 0o757), "through '/'")])
def test_who_may_put_another_folder_there(own, above, top, why, monkeypatch):
    found = {"/a/b/c": Found(*own), "/a/b": Found(*above), "/a": Found(7, 0o755),
             "/": Found(*top)}
    monkeypatch.setattr(cache.os, "stat", lambda path: found[path])
    monkeypatch.setattr(cache.os, "getuid", lambda: 7)
    monkeypatch.setattr(cache.os, "getgid", lambda: 7)
    doubt = cache._doubt("/a/b/c")
    assert doubt is None if why is None else why in doubt


@pytest.mark.parametrize("group, user, its_group, want", [
    (7, 7, 7, True), (7, 7, 8, False), (7, 8, 7, False), (0, 7, 7, True), (8, 7, 7, False)])
def test_groups_with_one_member(group, user, its_group, want, monkeypatch):
    monkeypatch.setattr(cache.os, "getuid", lambda: user)
    monkeypatch.setattr(cache.os, "getgid", lambda: its_group)
    assert cache._is_private(group) is want


@pytest.mark.parametrize("age, is_there", [(0, True), (86400, True), (86401, False)])
def test_failed_compilations_are_tried_again_after_a_day(folder, age, is_there, monkeypatch):
    made = folder / "key"
    made.mkdir()
    (made / "failed").touch()
    os.utime(made / "failed", (NOW, NOW))
    monkeypatch.setattr(cache.time, "time", lambda: NOW + age)
    assert (cache.entry("key") == made) == is_there and made.exists() == is_there
    old = folder / "old"
    old.mkdir()
    os.utime(old, (NOW, NOW))
    assert cache.entry("old") == old  # what worked stays, and is marked as used
    assert old.stat().st_mtime > NOW + 1e8
    (folder / "file").touch()
    assert cache.entry("file") is None


def test_without_a_folder_there_is_nothing(monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    assert cache.cache_folder() is cache.entry("key") is cache.draft() is None


@pytest.mark.parametrize("age, is_removed", [(3600, False), (3601, True)])
@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_unfinished_work_is_removed_after_an_hour(folder, age, is_removed, kind, monkeypatch):
    draft, kept = folder / "draft-x", folder / "other.json"
    target = folder / "target"
    target.mkdir()
    (target / "inner").touch()
    kept.touch()
    if kind == "folder":
        draft.mkdir()
        (draft / "part").touch()
    elif kind == "file":
        draft.touch()
    else:
        draft.symlink_to(target)
    os.utime(draft, (NOW, NOW))
    monkeypatch.setattr(cache.time, "time", lambda: NOW + age)
    cache.prune(folder)
    assert draft.exists() != is_removed and kept.exists() and (target / "inner").exists()


@pytest.mark.parametrize("mib, kept", [
    ("3", {"a", "b", "c"}), ("2.9", {"b", "c"}), ("2", {"b", "c"}), ("1.9", {"c"}), ("0", set())])
def test_the_least_recently_used_are_removed_beyond_the_size(folder, mib, kept, monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE_MIB", mib)
    for number, name in enumerate("cab"):
        (folder / name / "inner").mkdir(parents=True)
        (folder / name / "x").write_bytes(bytes(2**19))
        (folder / name / "inner" / "y").write_bytes(bytes(2**19))
        os.utime(folder / name, (NOW, NOW + (number or 9)))
        assert cache.size(folder / name) == 2**20
    cache.prune(folder)
    assert {f.name for f in folder.iterdir()} == kept


def test_what_is_there_already_stays(folder):
    for text in ("first", "second"):
        draft = cache.draft()
        (draft / "file").write_text(text)
        cache.publish(draft, "key")
    assert (folder / "key" / "file").read_text() == "first"
    assert {f.name for f in folder.iterdir()} == {"key"}


@pytest.mark.parametrize("text, want", [("", 1024.0), ("0", 0.0), ("0.5", 0.5), ("-0.5", 1024.0)])
def test_the_limit_in_mib(text, want, monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE_MIB", text)
    assert cache.most_mib() == want


def test_names_tell_machines_and_parts_apart(monkeypatch):
    text = cache.machine().split("|")
    assert text[0] == torch.__version__ and text[-1] == str(torch.get_num_threads())
    one, code = cache.key_of("a", 1), cache.key_of_code("a", 1)
    assert len(one) == len(code) == 40 and one != code
    assert one == cache.key_of("a", 1) != cache.key_of("a", 2)
    monkeypatch.setattr(cache, "machine", lambda: "another")
    assert cache.key_of("a", 1) != one and cache.key_of_code("a", 1) == code


def test_the_processor_is_described_once(monkeypatch, tmp_path):
    described = tmp_path / "cpuinfo"
    described.write_text("processor: 0\nmodel name: M\nflags: a b\nMHz: 7\n"
                         "processor: 1\nmodel name: M\nflags: a b\nFeatures: c\n")
    monkeypatch.setattr(cache, "open", lambda name, **options: described.open(), raising=False)
    assert cache.processor.__wrapped__() == "Features: c\nflags: a b\nmodel name: M\n"
    described.unlink()
    assert cache.processor.__wrapped__() == ""
