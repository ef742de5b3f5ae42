"""Names of checkpoint files: which prefix is free, which are a run's, which were written first."""

import os

import pytest

from lamella.train.callback.checkpoint_files import CheckpointManager, age, free_prefix


@pytest.mark.parametrize("names, wanted", [
    ([], "net"), (["net.ckpt"], "net"), (["other-1_1.ckpt"], "net"), (["net-1_1.ckpt"], "net_1"),
    (["net-1_1.safetensors"], "net_1"), (["net-1_1.txt"], "net"), (["network-1_1.ckpt"], "net"),
    (["net_1-1_1.ckpt"], "net_2"), (["net_7-1_1.ckpt", "net-1_1.ckpt", "net_2-9_9.ckpt"], "net_8"),
    (["net_0-1_1.ckpt"], "net_1"), (["net_x-1_1.ckpt"], "net"), (["net_12_1.ckpt"], "net"),
    (["net-1_1_breakpoint.ckpt"], "net"), (["net-1_1_breakpoint.safetensors"], "net"),
    (["net_10-1_1.ckpt", "net_9-1_1.ckpt"], "net_11"),
    (["a/net-1_1.ckpt"], "net"), (["netx1-1_1.ckpt"], "net"), (["abc-1_1.ckpt"], "net")])
def test_a_prefix_that_no_run_before_has_used(names, wanted, tmp_path):
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert free_prefix(str(tmp_path), "net") == wanted


@pytest.mark.parametrize("names, wanted", [
    ([], "net"), (["net-1_1.ckpt"], "net"), (["net-1_1_breakpoint.ckpt"], "net_1"),
    (["net-1_1_breakpoint.safetensors"], "net_1"), (["net-1_1.safetensors"], "net"),
    (["net_3-1_1_breakpoint.ckpt", "net_8-1_1.ckpt"], "net_4")])
def test_files_of_runs_that_failed_are_counted_by_themselves(names, wanted, tmp_path):
    for name in names:
        (tmp_path / name).touch()
    assert free_prefix(str(tmp_path), "net", after_error=True) == wanted


@pytest.mark.parametrize("form", ["ckpt", "safetensors"])
def test_files_of_a_prefix(form, tmp_path):
    for name in ("net-1_2", "net-10_3", "net_1-1_2", "net-1_2a", "xnet-1_2", "net-",
                 "net-1_2_breakpoint"):
        (tmp_path / f"{name}.{form}").touch()
    (tmp_path / "net-5_5.other").touch()
    manager = CheckpointManager(form)
    assert (manager.ckpoint_num, manager.ckpoint_filelist) == (0, [])
    manager.update_ckpoint_filelist(str(tmp_path), "net")
    assert sorted(os.path.basename(path) for path in manager.ckpoint_filelist) == sorted(
        f"{name}.{form}" for name in ("net-1_2", "net-10_3", "net-"))
    assert manager.ckpoint_num == 3


def test_the_file_that_was_written_first_goes(tmp_path, caplog):
    manager = CheckpointManager()
    for number, when in ((1, 300), (2, 100), (3, 200)):
        path = tmp_path / f"net-{number}.ckpt"
        path.touch()
        os.utime(path, (when, when))
        assert age(str(path)) == when * 10**9
    manager.update_ckpoint_filelist(str(tmp_path), "net")
    left = []
    while manager.ckpoint_num:
        manager.remove_oldest_ckpoint_file()
        left.append(sorted(os.listdir(tmp_path)))
    assert left == [["net-1.ckpt", "net-3.ckpt"], ["net-1.ckpt"], []]
    # one that another process has removed is as old as now, and is forgotten
    manager._ckpoint_filelist.append(str(tmp_path / "gone.ckpt"))
    assert age(manager.ckpoint_filelist[0]) > 1e18
    manager.remove_oldest_ckpoint_file()
    assert manager.ckpoint_num == 0


def test_of_the_files_of_some_minutes_the_first_is_kept(tmp_path):
    """Those of less than two minutes before."""
    for second in (870, 880, 881, 900, 990):
        (tmp_path / f"net-1_{second}.ckpt").touch()
        os.utime(tmp_path / f"net-1_{second}.ckpt", (second, second))
    manager = CheckpointManager()
    manager.update_ckpoint_filelist(str(tmp_path), "net")
    manager.keep_one_ckpoint_per_minutes(2, 1000.0)
    assert sorted(os.listdir(tmp_path)) == [f"net-1_{n}.ckpt" for n in (870, 880, 881)]
