"""The profiler of pipelines: MindSpore's files, with the operations that 2.10 names."""

import json

import numpy as np
import pytest
from lamella._c_dataengine import GlobalContext

import lamella.dataset as ds


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
