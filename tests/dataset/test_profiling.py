"""The profiler of pipelines: MindSpore's files, with the operations that 2.10 names."""

import json
import os

import numpy as np
import psutil
import pytest
from lamella._c_dataengine import GlobalContext

import lamella.dataset as ds
from lamella.dataset import profiling


@pytest.fixture
def profiler(monkeypatch):
    monkeypatch.setenv("RANK_ID", "3")
    found = GlobalContext.profiling_manager()
    found.init()
    found.start()
    yield found
    found.init()


def read(folder, name):
    return json.loads((folder / f"{name}_3.json").read_text())


def kinds(folder):
    return [one["op_type"] for one in read(folder, "pipeline_profiling")["op_info"]]


def test_files_of_a_pipeline(profiler, tmp_path):
    data = ds.GeneratorDataset([np.zeros(2)] * 8, "a").map(np.negative, "a").batch(2).repeat(2)
    for _ in data.create_tuple_iterator(num_epochs=2):
        pass
    profiler.stop()
    profiler.save(str(tmp_path))
    operations = read(tmp_path, "pipeline_profiling")["op_info"]
    assert [(one["op_type"], one.get("children"), one["metrics"] is None) for one in operations] \
        == [("EpochCtrlOp", [1], True), ("RepeatOp", [2], True), ("BatchOp", [3], False),
            ("MapOp", [4], False), ("GeneratorOp", None, False)]
    used = read(tmp_path, "minddata_cpu_utilization")
    assert used["process_memory_info"]["rss_mbytes"][0] > 1 and len(used["op_info"]) == 5
    memory = used["system_memory_info"]
    assert memory["used_sys_memory_mbytes"][0] <= memory["total_sys_memory_mbytes"][0]
    lines = (tmp_path / "dataset_iterator_profiling_3.txt").read_text().splitlines()
    assert len(lines) == 4 * 8 and {len(line.split()) for line in lines} == {5}
    ahead = str(ds.config.get_prefetch_size())
    assert [line.split()[:3] for line in lines] == [
        [*kind, str(row)] for row in range(1, 9) for kind in ("01", "02", "00", ("1", ahead))]


def test_nothing_is_written_where_nothing_ran(profiler, tmp_path):
    profiler.stop()
    profiler.save(str(tmp_path))
    assert not list(tmp_path.iterdir())
    with pytest.raises(RuntimeError, match="isn't running"):
        profiler.stop()


def test_inline_operations_and_one_epoch(profiler, tmp_path):
    one, two = (ds.NumpySlicesDataset([1, 2]) for _ in range(2))
    for _ in (one + two).rename("column_0", "b").take(3).skip(1):
        pass
    profiler.stop()
    profiler.save(str(tmp_path))
    assert kinds(tmp_path) == ["SkipOp", "TakeOp", "RenameOp", "ConcatOp", "GeneratorOp",
                               "GeneratorOp"]


def test_an_iterator_made_before_is_not_followed(tmp_path):
    profiler = GlobalContext.profiling_manager()
    rows = ds.NumpySlicesDataset([1, 2]).create_tuple_iterator()
    profiler.start()
    next(rows)
    profiler.stop()
    profiler.save(str(tmp_path))
    assert not list(tmp_path.iterdir())


class Clock:
    """Stands for the module `time`."""

    def __init__(self):
        self.now = 50.0

    def monotonic(self):
        return self.now


def test_how_long_rows_took(profiler, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(profiling, "time", clock)

    def rows():
        for number, seconds in enumerate((0.25, 1.5, 0.125)):
            clock.now += seconds
            yield number

    found = []
    for row in profiler._timed(rows()):
        found.append(row)
        clock.now += 10  # what the program does with it
        if row == 1:
            profiler.active = False
    ahead = ds.config.get_prefetch_size()
    assert found == [0, 1, 2]
    assert "".join(profiler._rows).splitlines() == [
        "0 1 1 0 50250", "0 2 1 250 50250", "0 0 1 250 50250", f"1 {ahead} 1 0 50250",
        "0 1 2 0 61750", "0 2 2 1500 61750", "0 0 2 1500 61750", f"1 {ahead} 2 0 61750"]


def test_shares_of_the_processors_time(profiler, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    keys = ("time machine_user machine_sys machine_idle process_user process_sys rss_mbytes "
            "vss_mbytes pss_mbytes total_sys_memory_mbytes available_sys_memory_mbytes "
            "used_sys_memory_mbytes").split()
    samples = [dict(zip(keys, values, strict=True)) for values in (
        (10.0, 1.0, 2.0, 30.0, 0.5, 0.25, 1, 2, 3, 9, 5, 4),
        (15.0, 5.0, 3.0, 45.0, 2.5, 0.45, 4, 5, 6, 9, 4, 5))]
    assert profiling._shares(*samples, "machine") == {"user": 20, "sys": 5, "idle": 75}
    assert profiling._shares(*samples, "process") == {"user": 10, "sys": 1}
    profiler._samples, profiler._operations = samples, [{"op_id": 0}, {"op_id": 1}]
    found = profiler._used(123)
    process = {"sys_utilization": [1], "user_utilization": [10]}
    assert found == {
        "cpu_processor_num": 4, "sampling_interval": 123, "time_stamp": [10000, 15000],
        "device_info": {"idle_utilization": [75], "sys_utilization": [5], "user_utilization": [20]},
        "process_info": process,
        "op_info": [{"op_id": n, "metrics": process} for n in range(2)],
        "process_memory_info": {"pss_mbytes": [3, 6], "rss_mbytes": [1, 4], "vss_mbytes": [2, 5]},
        "system_memory_info": {"available_sys_memory_mbytes": [5, 4],
                               "total_sys_memory_mbytes": [9, 9],
                               "used_sys_memory_mbytes": [4, 5]}}
    same = profiling._shares(samples[0], samples[0], "machine")  # no time between them
    assert same == {"user": 0, "sys": 0, "idle": 0}


def test_memory_and_times_as_psutil_tells_them():
    found, process, machine = profiling._sample(), psutil.Process(), psutil.virtual_memory()
    mebi = 2**20
    near = process.memory_full_info()
    assert found["total_sys_memory_mbytes"] == machine.total / mebi
    assert found["available_sys_memory_mbytes"] == pytest.approx(machine.available / mebi, rel=0.5)
    assert found["used_sys_memory_mbytes"] == (
        found["total_sys_memory_mbytes"] - found["available_sys_memory_mbytes"])
    for name, wanted in (("rss", near.rss), ("vss", near.vms), ("pss", near.pss)):
        assert found[f"{name}_mbytes"] == pytest.approx(wanted / mebi, rel=0.1)
    whole, own = psutil.cpu_times(), process.cpu_times()
    assert found["machine_user"] == pytest.approx(whole.user + whole.nice, rel=0.1)
    assert found["machine_sys"] == pytest.approx(whole.system, rel=0.1)
    assert found["machine_idle"] == pytest.approx(whole.idle, rel=0.1)
    assert found["process_user"] == pytest.approx(own.user, rel=0.3)
    assert profiling._proportional(7.0) == pytest.approx(near.pss / mebi, rel=0.1)


def numbers(name):
    return ds.NumpySlicesDataset({name: [1, 2]}, shuffle=False)


def test_operations_level_by_level(monkeypatch):
    joined = ds.zip((numbers("a").map(abs, num_parallel_workers=2).skip(1),
                     numbers("b").batch(1), numbers("c"))).repeat(2)
    found = profiling.operations_of(joined, 1)
    assert [(one["op_id"], one["op_type"], one.get("children")) for one, _ in found] == [
        (0, "RepeatOp", [1]), (1, "ZipOp", [2, 3, 4]), (2, "SkipOp", [5]), (3, "BatchOp", [6]),
        (4, "GeneratorOp", None), (5, "MapOp", [7]), (6, "GeneratorOp", None),
        (7, "GeneratorOp", None)]
    assert [one["num_workers"] for one, _ in found][5] == 2
    assert [one["metrics"] for one, _ in found] == [None, None, None, {}, {}, {}, {}, {}]
    assert [node for _, node in found][:2] == [joined, joined.children[0]]
    for epochs in (-1, 2):
        several = profiling.operations_of(joined, epochs)
        assert several[0][0]["op_type"] == "EpochCtrlOp" and several[0][1] is None
        assert [one.get("children") for one, _ in several][:3] == [[1], [2], [3, 4, 5]]
    monkeypatch.setenv("MS_INDEPENDENT_DATASET", "true")
    (about, node), = profiling.operations_of(joined, 2)
    assert (about["op_type"], about["num_workers"], node) == ("ReceiveBridgeOp", 1, None)


def test_records_are_parsed_by_an_operation_of_their_own(tmp_path):
    (tmp_path / "a.tfrecord").touch()
    data = ds.TFRecordDataset(str(tmp_path / "a.tfrecord"), num_parallel_workers=2).take(1)
    found = profiling.operations_of(data, 1)
    assert [(one["op_type"], one.get("children")) for one, _ in found] == [
        ("TakeOp", [1]), ("MapOp", [2]), ("TFReaderOp", None)]
    assert found[1][1] is data.children[0] and found[2][1] is None
