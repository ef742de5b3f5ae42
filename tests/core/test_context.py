"""Options of the process and the choice of a device."""

import pytest
import torch

import lamella as ms
from lamella import context
from lamella.core.settings import FAMILIES


@pytest.fixture(autouse=True)
def _restored():
    device = context._device
    with context._settings.kept():
        yield
    context._device = device
    torch.use_deterministic_algorithms(False)


def test_modes():
    assert (ms.GRAPH_MODE, ms.PYNATIVE_MODE) == (0, 1)
    assert ms.get_context("mode") == ms.PYNATIVE_MODE
    ms.set_context(mode=ms.GRAPH_MODE)
    assert context.get_context("mode") == 0
    ms.set_context(mode=ms.PYNATIVE_MODE)


def test_options_without_effect_are_kept():
    ms.set_context(save_graphs=False, max_device_memory="2GB")
    assert ms.get_context("max_device_memory") == "2GB"
    del FAMILIES["set_context"]["max_device_memory"]  # back to its default
    assert ms.get_context("print_file_path") == ""


def test_devices():
    ms.set_device("CPU")
    assert ms.get_context("device_target") == "CPU" and ms.get_context("device_id") == 0
    assert ms.Tensor([1.0]).device == "CPU"
    ms.set_context(device_target="Ascend")  # a script written for Ascend runs on what is there
    assert ms.get_context("device_target") == "Ascend"
    assert context.current_device().type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_determinism_and_recursion():
    ms.set_deterministic(True)
    assert torch.are_deterministic_algorithms_enabled()
    assert ms.get_context("deterministic") == "ON"
    ms.set_context(deterministic="OFF")
    assert not torch.are_deterministic_algorithms_enabled()
    ms.set_recursion_limit(50)
    assert ms.get_context("max_call_depth") == 50


@pytest.mark.parametrize("call, error, message", [
    (lambda: ms.set_context(mode=2), ValueError, "GRAPH_MODE .0. or PYNATIVE_MODE .1., but got 2"),
    (lambda: ms.set_context(nothing=1), ValueError, "the option 'nothing' is not known"),
    (lambda: ms.get_context("nothing"), ValueError, "the option 'nothing' is not known"),
    (lambda: ms.set_device("TPU"), ValueError, "'CPU', 'GPU' or 'Ascend', but got 'TPU'"),
    (lambda: ms.set_device("CPU", -1), ValueError, "must be an int of 0 or more, but got -1"),
    (lambda: ms.set_device("GPU", 10_000), ValueError, "GPU 10000 was asked for, but this machine"),
    (lambda: ms.set_deterministic(1), TypeError, "must be a bool, but got 1"),
    (lambda: ms.set_deterministic("MAYBE"), TypeError, "must be a bool, but got 'MAYBE'"),
    (lambda: ms.set_recursion_limit(0), ValueError, "must be an int above 0, but got 0"),
    (lambda: ms.set_recursion_limit("9"), TypeError, "must be an int, but got '9' of type str"),
    (lambda: ms.get_context(1), TypeError, "'attr_key' must be a str, but got 1"),
    (lambda: ms.set_context(mode="a"), TypeError, "The parameter 'mode' must be <class 'int'>, but "
                                                  "got <class 'str'>"),
    (lambda: ms.set_context(save_graphs=[1]), TypeError, "'save_graphs' must be .<class 'bool'>, "
                                                         "<class 'int'>., but got <class 'list'>"),
    (lambda: ms.set_context(max_device_memory=8), TypeError, "'max_device_memory' must be"),
    (lambda: ms.set_context(check_bprop=1), TypeError, "'check_bprop' must be <class 'bool'>"),
    (lambda: ms.set_context(ascend_config=1), TypeError, "'ascend_config' must be <class 'dict'>"),
    (lambda: ms.set_context(deterministic="a"), ValueError, r"one of \['ON', 'OFF'\], but got 'a'"),
    (lambda: ms.set_context(memory_optimize_level="O2"), ValueError, r"one of \['O0', 'O1'\]"),
    (lambda: ms.set_context(max_call_depth=0), ValueError, "must be 1 or more, but got 0"),
    (lambda: ms.set_device("CPU", 1.5), TypeError, "'device_id' must be <class 'int'>, but got"),
])
def test_errors_say_what_was_wrong(call, error, message):
    before = dict(context._settings)
    with pytest.raises(error, match=message):
        call()
    assert context._settings == before


@pytest.mark.parametrize("option, value", [
    ("enable_ge", False), ("host_scheduling_max_threshold", ""),
    ("save_graphs_path", "."), ("max_device_memory", 1024.0),
    ("op_timeout", 900), ("exec_order", "bfs"), ("ascend_config", {}), ("debug_level", 0),
    ("reserve_class_name_in_scope", True), ("enable_compile_cache", None), ("topo_order", "")])
def test_options_without_effect_have_the_defaults_of_mindspore(option, value):
    found = ms.get_context(option)
    assert found == value and type(found) is type(value)


# by option: values that it can have, and those that are refused
VALUES = {
    "mode": ([0, 1], [-1, 2]), "max_call_depth": ([1, 9], [0, -1]),
    "runtime_num_threads": ([0, 3], [-1]), "inter_op_parallel_num": ([0, 3], [-1]),
    "op_timeout": ([0, 3], [-1]), "debug_level": ([0, 1], [2, -1]),
    "deterministic": (["ON", "OFF"], ["on", ""]), "exec_order": (["bfs", "dfs"], ["", "BFS"]),
    "memory_optimize_level": (["O0", "O1"], ["O2"]),
    "aoe_tune_mode": (["online", "offline"], ["both"]),
    "jit_level": (["", "O0", "O1", "O2"], ["O3"]), "jit_syntax_level": ([0, 1, 2], [3, -1]),
    "save_graphs": ([0, 1, 2, 3, True, False], [4, -1]),
    "jit_config": ([{}, {"jit_level": "O1"}], [{"jit_level": "O3"}])}


@pytest.mark.parametrize("option", VALUES)
def test_values_of_options(option):
    good, bad = VALUES[option]
    for value in good:
        ms.set_context(**{option: value})
        assert ms.get_context(option) == value
    for value in bad:
        with pytest.raises(ValueError, match="For 'set_context'"):
            ms.set_context(**{option: value})
        assert ms.get_context(option) == good[-1]
    with pytest.raises(TypeError):
        ms.set_context(**{option: object()})
    ms.set_context(mode=ms.PYNATIVE_MODE)


def test_a_device_is_the_first_unless_it_is_numbered():
    ms.set_device("CPU", 3)  # whatever its number, there is one
    assert ms.get_context("device_id") == 3 and context.current_device() == torch.device("cpu")
    ms.set_device("CPU")
    assert ms.get_context("device_id") == 0
    ms.set_context(device_id=2)
    assert (ms.get_context("device_target"), ms.get_context("device_id")) == ("CPU", 2)
    for wrong in (-1, True):
        with pytest.raises((ValueError, TypeError), match="device_id"):
            ms.set_device("CPU", wrong)
    for wrong in (1, None, ["CPU"]):
        with pytest.raises((ValueError, TypeError), match="device_target"):
            ms.set_device(wrong)


@pytest.mark.parametrize("target, count, words", [("GPU", 1, "GPUs"), ("Ascend", 0, "GPUs"),
                                                  ("own", 2, "devices 'own'")])
def test_a_line_names_each_kind_once(target, count, words, monkeypatch, capsys):
    monkeypatch.setattr(context, "_said", set())
    for _ in range(2):
        context.say_cpu_instead(target, 5, count)
    assert capsys.readouterr().err == (f"lamella: the program asked for {target} 5, and this "
                                       f"machine shows {count} {words}; it runs on the CPU.\n")
