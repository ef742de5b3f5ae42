"""Sharded checkpoints: each process writes its shard, worlds of any size read them."""

import dataclasses
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from torch.distributed.checkpoint.metadata import BytesStorageMetadata

from lamella import load_checkpoint, nn
from lamella.parallel import (
    build_searched_strategy,
    load_distributed_checkpoint,
    merge_sliced_parameter,
    rank_list_for_transform,
    transform_checkpoint_by_rank,
    transform_checkpoints,
)
from lamella.parallel.parameter_layout import ParameterLayout
from lamella.train import sharded
from lamella.train.sharded import load_sharded, save_sharded
from lamella.train.sharded_reader import checksum
from lamella.train.strategy_files import write_strategy

from ..worlds import run_world, start_world
from . import sharded_worker as worker

SCRIPT = Path(__file__).with_name("sharded_worker.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tmp_path_factory.mktemp("sharded"))


@pytest.fixture(scope="module")
def straight(folder):
    return [json.loads(out) for out in run_world(SCRIPT, 2, "straight", folder)]


@pytest.fixture(scope="module")
def four(folder, straight):
    return [json.loads(out) for out in run_world(SCRIPT, 4, "four", folder)]


@pytest.fixture(scope="module")
def killed(folder, four):
    processes = start_world(SCRIPT, 2, "killed", folder)
    try:
        answers = [process.communicate(timeout=900)[0].splitlines() for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [process.returncode for process in processes], answers


def test_each_process_writes_and_holds_its_part(folder, straight):
    for answer in straight:
        assert answer["held"]["0.weight"] == answer["held"]["moment1.0.weight"] == [4, 4]
        assert answer["held"]["2.weight"] == [3, 8]
    sizes = [os.path.getsize(f"{folder}/two/1/__{rank}_0.distcp") for rank in (0, 1)]
    assert all(size > 3 * 4 * 16 for size in sizes)


def test_slices_are_loaded_where_they_were_saved(straight):
    for answer in straight:
        assert answer["own slices"] == answer["state"]


def test_slices_are_made_fit_for_other_arrangements(folder, straight, tmp_path):
    strategy, state = f"{folder}/strategy.json", straight[0]["state"]
    files = [f"{folder}/slices/rank_{rank}/w.ckpt" for rank in (0, 1)]
    assert rank_list_for_transform(0, strategy) == [1, 0]
    transform_checkpoints(f"{folder}/slices", str(tmp_path), "one_", strategy)
    whole = load_checkpoint(f"{tmp_path}/rank_0/one_0.ckpt")
    assert {name: value.asnumpy().tolist() for name, value in whole.items()} == state
    layouts = {name: ParameterLayout((4,), ((0,),) if np.ndim(value) == 1 else ((), (0,)))
               for name, value in state.items() if "0." in name}
    write_strategy(f"{tmp_path}/four.ckpt", layouts)
    for rank in range(4):
        path = f"{tmp_path}/four_{rank}.ckpt"
        transform_checkpoint_by_rank(rank, dict(enumerate(files)), path, strategy,
                                     f"{tmp_path}/four.ckpt")
        slices = load_checkpoint(path)
        assert slices.keys() == layouts.keys()
        for name, value in slices.items():
            want = np.split(np.array(state[name], np.float32), 4, -1)[rank]
            np.testing.assert_array_equal(value.asnumpy(), want)
    step = worker.network()
    load_distributed_checkpoint(step, files, train_strategy_filename=strategy)
    assert worker.state_of(step) == state
    slices = [load_checkpoint(file)["moment1.0.weight"] for file in files]
    for how in (None, build_searched_strategy(strategy)):
        merged = merge_sliced_parameter(slices, how)
        assert merged.asnumpy().tolist() == state["moment1.0.weight"]


def test_four_processes_read_what_two_wrote(straight, four):
    for answer in four:
        assert answer["state"] == straight[0]["state"]
        assert answer["held"]["0.weight"] == [2, 4]
        assert answer["more"] == {"rank": 0}
        assert answer["rows"].startswith("ValueError") and "by 2 processes" in answer["rows"]


def test_one_process_reads_what_several_wrote(folder, straight, four):
    for name in ("two", "four"):
        step = worker.network()
        load_sharded(f"{folder}/{name}", step)
        assert worker.state_of(step) == straight[0]["state"]


def test_a_killed_save_leaves_the_earlier_checkpoint(folder, straight, killed):
    codes, answers = killed
    assert codes == [0, -9]
    for answer in answers:  # two processes read what four wrote
        assert json.loads(answer[0])["state"] == straight[0]["state"]
    assert json.loads(answers[0][1]).startswith("RuntimeError: For 'save_sharded', the checkpoint")
    again = [json.loads(out) for out in run_world(SCRIPT, 2, "again", folder)]
    for rank, answer in enumerate(again):
        assert answer["losses"] == straight[rank]["losses"][3:]
        assert answer["more"] == {"rank": rank}


def test_alone(tmp_path):
    net, other = nn.Dense(2, 3), nn.Dense(2, 3)
    for number in range(3):
        save_sharded(str(tmp_path), net, rows=None, number=number)
    assert sorted(os.listdir(tmp_path)) == ["3", "current"]
    assert load_sharded(str(tmp_path), other) == {"number": 2}
    assert (other.weight == net.weight).all()


def test_what_does_not_fit_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no complete checkpoint"):
        load_sharded(str(tmp_path), nn.Dense(2, 3))
    for function in (save_sharded, load_sharded):
        with pytest.raises(TypeError, match=f"For '{function.__name__}', 'folder' must be a str"):
            function(-7, nn.Dense(2, 3))
        with pytest.raises(TypeError, match="'network' must be a Cell, but got None"):
            function(str(tmp_path), None)
    save_sharded(str(tmp_path), nn.Dense(2, 3))
    with pytest.raises(RuntimeError, match=r"'weight' is \(\(4, 2\), torch.float32\) in the net"):
        load_sharded(str(tmp_path), nn.Dense(2, 4))
    with pytest.raises(RuntimeError, match="another network.*bias"):
        load_sharded(str(tmp_path), nn.Dense(2, 3, has_bias=False))


class _Harm:
    def __reduce__(self):
        return os.mkdir, ("harmed",)


def test_reading_executes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_sharded("run", nn.Dense(2, 3))
    for content in (pickle.dumps(_Harm()), b"", pickle.dumps([1])):
        Path("run/1/.metadata").write_bytes(content)
        with pytest.raises(ValueError, match="metadata"):
            load_sharded("run", nn.Dense(2, 3))
    assert not Path("harmed").exists()


def test_a_damaged_part_changes_nothing(tmp_path):
    save_sharded(str(tmp_path), nn.Dense(2, 3))
    part = tmp_path / "1" / "__0_0.distcp"
    part.write_bytes(b"\0" * len(part.read_bytes()))
    net = nn.Dense(2, 3)
    before = net.weight.asnumpy().copy()
    with pytest.raises(ValueError, match="__0_0.distcp' is damaged: its checksum differs"):
        load_sharded(str(tmp_path), net)
    assert (net.weight.asnumpy() == before).all()


def _changed_metadata(folder, change):
    path = folder / "1" / ".metadata"
    found = pickle.loads(path.read_bytes())
    change(found)
    path.write_bytes(pickle.dumps(found))
    about = folder / "1" / "process_0.json"
    said = json.loads(about.read_text())
    said["files"][".metadata"] = checksum(str(path))
    about.write_text(json.dumps(said))


@pytest.mark.parametrize("where", ["../../elsewhere", "/etc/passwd", "", "..", 3])
def test_entries_are_in_the_folder(where, tmp_path):
    save_sharded(str(tmp_path), nn.Dense(2, 3))

    def change(found):
        for key, place in found.storage_data.items():
            found.storage_data[key] = dataclasses.replace(place, relative_path=where)

    _changed_metadata(tmp_path, change)
    with pytest.raises(ValueError, match="no file of the folder"):
        load_sharded(str(tmp_path), nn.Dense(2, 3))


def test_what_is_no_tensor_is_not_unpickled(tmp_path):
    save_sharded(str(tmp_path), nn.Dense(2, 3))
    _changed_metadata(tmp_path, lambda found: found.state_dict_metadata.update(
        weight=BytesStorageMetadata()))
    with pytest.raises(ValueError, match="'weight' is no tensor"):
        load_sharded(str(tmp_path), nn.Dense(2, 3))


@pytest.mark.parametrize("name", ["current", "1/process_0.json", "1/.metadata", "1/__0_0.distcp"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null", b"[" * 100_000,
                                     b"9" * 40,
                                     b'{"size": "x"}', b'{"size": 1, "state": "[]"}'])
def test_damaged_files_are_named(name, content, tmp_path):
    save_sharded(str(tmp_path), nn.Dense(2, 3))
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=os.path.basename(name)):
        load_sharded(str(tmp_path), nn.Dense(2, 3))


def test_each_changed_bit_is_noticed(tmp_path):
    save_sharded(str(tmp_path), nn.Dense(2, 3), number=7)
    for path in sorted((tmp_path / "1").iterdir()):
        whole = path.read_bytes()
        for place in range(0, len(whole), max(1, len(whole) // 12)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1:])
            try:
                assert load_sharded(str(tmp_path), nn.Dense(2, 3)) == {"number": 7}
            except ValueError as error:
                assert path.name in str(error)
            else:
                assert path.suffix == ".json" and b'"size"' not in whole[place - 9:place]
        path.write_bytes(whole)


@pytest.mark.parametrize("text, wanted", [
    (None, 0), (b"0", 0), (b"7", 7), (b"9" * 18, 10**18 - 1), (b"9" * 19, None), (b"", None),
    (b"-1", None), (b"1 ", None)])
def test_the_number_of_the_newest(text, wanted, tmp_path):
    if text is not None:
        (tmp_path / "current").write_bytes(text)
    if wanted is None:
        with pytest.raises(ValueError, match="must hold the number of a checkpoint"):
            sharded._current(str(tmp_path))
    else:
        assert sharded._current(str(tmp_path)) == wanted


def test_what_was_left_unfinished_is_removed(tmp_path):
    new = tmp_path / "new"
    assert sharded._begin(str(new)) == (0, 1)
    assert [each.name for each in new.iterdir()] == ["1"]
    (new / "current").write_text("3")
    for name in ("1", "2", "3", "4", "own"):
        (new / name).mkdir(exist_ok=True)
        for file in ("__0_0.distcp", ".metadata", ".metadata.tmp", "process_0.json",
                     ".process_0.json.host.7-0.tmp"):
            (new / name / file).touch()
    assert sharded._begin(str(new)) == (3, 4)
    assert sorted(each.name for each in new.iterdir()) == ["3", "4", "current", "own"]
    assert list((new / "4").iterdir()) == [] and (new / "3" / ".metadata").exists()


def test_folders_of_the_user_stay_whatever_their_names(tmp_path):
    """A checkpoint's folder is known by what it holds."""
    own = [tmp_path / name / file for name, file in (
        ("0", "weights.npy"), ("1", "__0_0.distcp.bak"), ("3", "process_0.json"),
        ("2024", ".metadata"))]
    for path in own:
        path.parent.mkdir()
        path.touch()
        (path.parent / "notes.txt").touch()
    (tmp_path / "7").touch()
    net = nn.Dense(2, 2)
    for step, numbers in enumerate(["2", "4", "5"]):
        save_sharded(str(tmp_path), net, step=step)
        assert load_sharded(str(tmp_path), net) == {"step": step}
        assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
            ["0", "1", "3", "7", "2024", "current", numbers])
    assert all(path.exists() and (path.parent / "notes.txt").exists() for path in own)
