import os
import time

import pytest
import torch

import lamella as ms
from lamella import device_context, hal, runtime
from lamella.device.device_context.ascend import op_precision, op_tuning


@pytest.fixture(autouse=True)
def _on_the_cpu():
    ms.set_device("CPU")


def test_streams_of_a_cpu_have_nothing_to_wait_for():
    stream = runtime.Stream()
    with runtime.StreamCtx(stream):
        x = ms.Tensor([1.0]) + 1
    event = stream.record_event()
    stream.wait_event(event)
    stream.wait_stream(runtime.current_stream())
    stream.synchronize()
    assert stream.query() and event.query() and x.asnumpy() == 2.0
    assert str(runtime.default_stream()) == "Stream(device_name=CPU, device_id:0, stream id:0)"
    runtime.set_cur_stream(stream)
    runtime.synchronize()


def test_events_measure_time():
    begin, end = runtime.Event(enable_timing=True), runtime.Event(enable_timing=True)
    begin.record()
    ms.ops.ones((50, 50)).matmul(ms.ops.ones((50, 50)))
    end.record()
    assert begin.elapsed_time(end) > 0
    with pytest.raises(RuntimeError, match="enable_timing=True"):
        begin.elapsed_time(runtime.Event())


def test_memory_of_a_cpu_is_not_counted():
    assert runtime.memory_allocated() == runtime.max_memory_reserved() == 0
    assert runtime.memory_stats()["total_idle_memory"] == 0
    assert "total allocated memory" in runtime.memory_summary()
    runtime.empty_cache()
    runtime.reset_peak_memory_stats()
    runtime.set_memory(init_size="1GB", max_size="2.5GB")
    assert hal.memory_allocated("CPU") == 0


def test_threads_and_cores():
    before = torch.get_num_threads()
    runtime.dispatch_threads_num(1)
    assert torch.get_num_threads() == 1
    device_context.cpu.op_tuning.threads_num(before)
    assert torch.get_num_threads() == before
    cores = os.sched_getaffinity(0)
    first = min(cores)
    try:
        runtime.set_cpu_affinity(True, [f"{first}-{first}"])
        assert os.sched_getaffinity(0) == {first}
    finally:
        os.sched_setaffinity(0, cores)
    runtime.set_cpu_affinity(False)
    runtime.set_kernel_launch_group(2, 8)


@pytest.mark.parametrize("call, kind, text", [
    (lambda: runtime.set_memory(max_size="x"), ValueError, "'max_size' must be a number"),
    (lambda: runtime.set_memory(max_size=1), TypeError, "'max_size' must be"),
    (lambda: runtime.set_memory(optimize_level="O3"), ValueError, "but got O3"),
    (lambda: runtime.dispatch_threads_num(0), ValueError, "at least 1"),
    (lambda: runtime.dispatch_threads_num("2"), TypeError, "must be an int"),
    (lambda: runtime.set_cpu_affinity(3), TypeError, "'enable_affinity' must be"),
    (lambda: runtime.set_cpu_affinity(True, ["0"]), ValueError, "written as '0-3'"),
    (lambda: runtime.set_cpu_affinity(True, ["9998-9999"]), ValueError, "no core 9998"),
    (lambda: runtime.set_cur_stream(3), TypeError, "must be a Stream"),
    (lambda: runtime.Stream("high"), TypeError, "'priority' must be an int"),
    (lambda: hal.is_available("TPU"), ValueError, "must be one of"),
    (lambda: hal.get_device_name(7, "CPU"), ValueError, "there are 1 devices"),
    (lambda: device_context.ascend.device_count(), RuntimeError, "Ascend not exist"),
    (lambda: op_precision.matmul_allow_hf32("yes"), ValueError, "must be one of"),
    (lambda: device_context.gpu.op_precision.matmul_allow_tf32(1), TypeError, "must be a bool"),
], ids=range(15))
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_settings_of_ascends_compiler_have_no_effect():
    for setting, values in ((op_tuning.op_compile, (True, False)),
                            (op_tuning.aoe_tune_mode, ("online", "offline")),
                            (op_tuning.aoe_job_type, ("1", "2"))):
        assert [setting(value) for value in values] == [None, None]
        with pytest.raises(ValueError, match="must be one of"):
            setting("3")


def test_devices():
    assert hal.is_available("CPU") and not hal.is_available("Ascend")
    assert hal.device_count("CPU") == 1 and hal.get_device_name(0, "CPU") == "CPU"
    assert hal.get_device_properties(0, "CPU") is hal.get_device_capability(0, "CPU") is None
    assert device_context.cpu.is_available() and not device_context.ascend.is_available()
    op_precision.precision_mode("force_fp16")
    assert op_precision.precision_mode.value == "force_fp16"


def test_a_block_on_another_device():
    assert tuple(ms.get_current_device()) == ("CPU", 0)
    with ms.DeviceCtx("CPU"):
        assert ms.Tensor([1.0]).to_torch().device.type == "cpu"
    for name, text in (("meta", "no device 'meta'"), ("TPU", "must be")):
        with pytest.raises(ValueError, match=text), ms.DeviceCtx(name):
            pass


def test_a_gpu_is_queried_where_there_is_one():
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    with ms.DeviceCtx("GPU"):
        x = ms.ops.ones((1000, 1000))
        assert runtime.memory_allocated() >= 4e6 and hal.get_device_properties(0).total_memory > 0
        with runtime.StreamCtx(runtime.Stream()):
            event = runtime.current_stream().record_event()
        event.synchronize()
        runtime.synchronize()
        assert event.query() and x.sum() == 1e6
    assert hal.memory_allocated("CPU") == 0


@pytest.mark.parametrize("size, good", [
    ("1GB", True), ("1024GB", True), ("2.5GB", True), ("0.5GB", True), ("10.GB", True),
    ("0GB", False), ("GB", False), ("01GB", False), ("1 GB", False), ("1gb", False), ("1", False),
    ("-1GB", False), ("1MB", False)])
def test_sizes_of_memory(size, good):
    for name in ("init_size", "increase_size", "max_size"):
        if good:
            assert runtime.set_memory(**{name: size}) is None
        else:
            with pytest.raises(ValueError, match=f"'{name}' must be a number above 0 and 'GB'"):
                runtime.set_memory(**{name: size})
    assert runtime.set_memory(optimize_level="O0") is runtime.set_memory(optimize_level="O1")


@pytest.mark.parametrize("call", [
    lambda v: runtime.set_kernel_launch_group(v), lambda v: runtime.set_kernel_launch_group(2, v)])
def test_counts_are_one_or_more(call):
    assert call(1) is None
    for wrong, kind in ((0, ValueError), (-1, ValueError), (1.0, TypeError), (True, TypeError)):
        with pytest.raises(kind, match="For 'set_kernel_launch_group'"):
            call(wrong)


def test_ranges_of_cores():
    cores = os.sched_getaffinity(0)
    highest = (os.cpu_count() or 1) - 1
    try:
        runtime.set_cpu_affinity(True, [f"0-{highest}"])
        whole = os.sched_getaffinity(0)
        assert cores <= whole
        with pytest.raises(ValueError, match=f"no core {highest + 1}"):
            runtime.set_cpu_affinity(True, [f"{highest}-{highest + 2}"])
        for nothing in (None, []):
            runtime.set_cpu_affinity(True, nothing)
        assert os.sched_getaffinity(0) == whole
        for wrong, kind in (("0-1", TypeError), ([0], ValueError), (["0-"], ValueError),
                            (["a-b"], ValueError)):
            with pytest.raises(kind, match="set_cpu_affinity"):
                runtime.set_cpu_affinity(True, wrong)
    finally:
        os.sched_setaffinity(0, cores)


def test_devices_by_number():
    for call in (hal.get_device_name, hal.get_device_capability, hal.get_device_properties):
        call(0, "CPU")
        for wrong, kind in ((1, ValueError), (-1, ValueError), ("0", TypeError), (True, TypeError)):
            with pytest.raises(kind, match=f"For '{call.__name__}', "):
                call(wrong, "CPU")
    assert hal.is_initialized("CPU") and hal.get_arch_list("CPU") is None
    assert hal.device_count() == 1 and not hal.is_initialized("Ascend")
    for name in ("memory_allocated", "empty_cache", "memory_stats", "reset_peak_memory_stats"):
        getattr(hal, name)()
        with pytest.raises(ValueError, match=f"For '{name}', 'device_target' must be one of"):
            getattr(hal, name)("TPU")


def test_the_summary_of_memory():
    lines = runtime.memory_summary().splitlines()
    assert len(lines) == 7 and len(set(map(len, lines))) == 1
    assert lines[0] == lines[-1] == "|" + "-" * (len(lines[1]) - 2) + "|"
    assert lines[1].split() == ["|", "total", "reserved", "memory", "|", "0", "B", "|"]


def test_blocks_within_blocks():
    outer = ms.DeviceCtx("CPU", 3)
    with outer:
        with outer, ms.DeviceCtx("CPU", 5):
            assert tuple(ms.get_current_device()) == ("CPU", 5)
        assert repr(ms.get_current_device()) == "('CPU', 3)"
    assert tuple(ms.get_current_device()) == ("CPU", 0)


def test_streams_of_a_cpu_are_one():
    one, other = runtime.Stream(), runtime.Stream(-1)
    assert one == other and hash(one) == hash(other) and one != "stream" and one.id == 0
    event = runtime.Event()
    assert other.record_event(event) is event


def test_the_time_between_events_has_a_sign():
    one, two = runtime.Event(enable_timing=True), runtime.Event(enable_timing=True)
    before = time.perf_counter()
    one.record()
    two.record()
    most = 1000 * (time.perf_counter() - before)
    assert 0 <= one.elapsed_time(two) == -two.elapsed_time(one) <= most
    assert one.elapsed_time(one) == 0
    two._time = one._time + 0.5
    assert one.elapsed_time(two) == pytest.approx(500)
    for wrong, right in ((runtime.Event(), one), (one, runtime.Event())):
        with pytest.raises(RuntimeError, match="enable_timing=True"):
            wrong.elapsed_time(right)
