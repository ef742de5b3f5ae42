"""Settings: graphs depend on those that they read, whoever reads them."""

from __future__ import annotations

import warnings

import pytest

import lamella as ms
import lamella.mint.distributed.in_place  # noqa: F401  (settings of its own)
from lamella import Tensor, jit
from lamella.core.settings import FAMILIES, Settings
from lamella.dataset import config
from lamella.parallel import search_settings
from lamella.parallel.strategy import enable_save_strategy_online  # noqa: F401  (likewise)

X = Tensor([1.0, 2.0])
EVERY = [(family, name) for family, settings in sorted(FAMILIES.items()) for name in settings]


def another(value):
    """Another value of the type of this one."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, (int, float)):
        return type(value)(not value)
    if isinstance(value, dict):
        return {**value, "another": True}
    return [*value, 1] if isinstance(value, list) else f"{value}_"


@pytest.mark.parametrize("family, name", EVERY, ids=[f"{f}: {n}" for f, n in EVERY])
def test_a_compiled_function_follows_each_setting(family, name):
    settings = FAMILIES[family]
    compiled = jit(lambda x: (x * 2, repr(settings[name])))
    with settings.kept():
        for value in (settings[name], another(settings[name]), settings[name]):
            settings[name] = value
            for _ in range(2):
                assert compiled(X)[1] == repr(value)
    assert compiled.report()["traces"] == 2 and not compiled.report()["eager"]


GETTERS = [
    ("context", ms.get_context, "save_graphs", lambda v: ms.set_context(save_graphs=v), (2, 0)),
    ("inert", ms.get_context, "op_timeout", lambda v: ms.set_context(op_timeout=v), (2, 0)),
    ("parallel", ms.get_auto_parallel_context, "gradients_mean",
     lambda v: ms.set_auto_parallel_context(gradients_mean=v), (True, False)),
    ("algorithm", search_settings.get_algo_parameters, "tensor_slice_align_size",
     lambda v: search_settings.set_algo_parameters(tensor_slice_align_size=v), (32, 16)),
    ("costs", search_settings.get_cost_model_context, "costmodel_beta",
     lambda v: search_settings.set_cost_model_context(costmodel_beta=v), (1.0, 400.0)),
    ("seed", lambda _: ms.get_seed(), "", ms.set_seed, (3, 4)),
    ("seed of data", lambda _: config.get_seed(), "", config.set_seed, (3, 4)),
    ("seed of all, of data", lambda _: config.get_seed(), "", ms.set_seed, (3, 4)),
    ("rows", lambda _: config.get_prefetch_size(), "", config.set_prefetch_size, (3, 16)),
    ("generator", lambda _: ms.initial_seed(), "", ms.manual_seed, (3, 4)),
]


@pytest.mark.parametrize("get, name, put, values", [g[1:] for g in GETTERS],
                         ids=[g[0] for g in GETTERS])
def test_a_compiled_function_follows_each_getter(get, name, put, values):
    compiled = jit(lambda x: (x * float(get(name)), get(name)))
    for value in (*values, values[0]):
        put(value)
        for _ in range(2):
            product, found = compiled(X)
            assert found == value and product.asnumpy().tolist() == [value, 2.0 * value]
    put(values[-1])


def test_a_layer_that_reads_a_setting_is_followed(monkeypatch):
    reducer = ms.nn.DistributedGradReducer((ms.Parameter(Tensor([1.0])),))
    settings = FAMILIES["set_auto_parallel_context"]
    monkeypatch.setattr(type(reducer), "construct", lambda self, x: x * settings["device_num"])
    compiled = jit(reducer)
    with settings.kept():
        for value in (1, 1, 3, 3):
            settings["device_num"] = value
            assert compiled(X).asnumpy().tolist() == [value, 2.0 * value]


@pytest.mark.parametrize("change", [
    lambda: ms.set_context(max_call_depth=77), lambda: ms.set_seed(5),
    lambda: ms.set_auto_parallel_context(device_num=2), lambda: config.set_seed(6),
    ms.reset_auto_parallel_context, lambda: search_settings.set_algo_parameters(),
    lambda: ms.manual_seed(5), lambda: ms.set_rng_state(ms.get_rng_state())])
def test_a_function_that_changes_settings_does_so_in_each_call(change):
    def state():
        return [dict(settings) for settings in FAMILIES.values()], ms.initial_seed(), (
            ms.get_rng_state().asnumpy().tolist())

    def step(x):
        change()
        return x * 2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = jit(step)
        for settings in FAMILIES.values():
            settings.clear()
        for _ in range(3):
            ms.manual_seed(1)
            ms.set_auto_parallel_context(device_num=4)
            ms.set_context(max_call_depth=9)
            step(X)
            wanted = state()
            ms.manual_seed(1)
            ms.set_auto_parallel_context(device_num=4)
            ms.set_context(max_call_depth=9)
            compiled(X)
            assert state() == wanted
    for settings in FAMILIES.values():
        settings.clear()


def test_unguarded_settings_need_no_new_graph():
    settings = Settings("a family of a test", {"a": 1, "b": 2}, unguarded=("b",))
    try:
        compiled = jit(lambda x: x * settings["a"] + settings["b"])
        assert compiled(X).asnumpy().tolist() == [3.0, 4.0]
        settings["b"] = 5
        compiled(X)
        assert compiled.report()["traces"] == 1
        settings["a"] = 2
        assert compiled(X).asnumpy().tolist() == [7.0, 9.0]
        with pytest.raises(KeyError):
            settings["c"] = 1
        assert settings.was_set("a") and "c" not in settings and len(settings) == 2
        del settings["a"]
        assert settings["a"] == 1 and not settings.was_set("a")
    finally:
        del FAMILIES["a family of a test"]
