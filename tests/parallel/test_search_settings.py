"""Settings that have no effect here; their defaults are those of MindSpore 2.10."""

import pytest

import lamella as ms
from lamella.parallel import search_settings as settings

COSTS = {
    "device_memory_capacity": 17179869184.0, "costmodel_alpha": 1.0, "costmodel_beta": 400.0,
    "costmodel_gamma": 0.001, "costmodel_communi_threshold": 2048.0,
    "costmodel_communi_const": 3072.0, "costmodel_communi_bias": 1024.0, "run_phase": 0,
    "costmodel_allreduce_fusion_algorithm": 0, "costmodel_allreduce_fusion_times": 0,
    "costmodel_allreduce_fusion_tail_percent": 0.1, "costmodel_allreduce_fusion_tail_time": 0.1}
SEARCH = {"fully_use_devices": False, "elementwise_op_strategy_follow": False,
          "enable_algo_approxi": False, "algo_approxi_epsilon": 0.1,
          "tensor_slice_align_enable": False, "tensor_slice_align_size": 16}
SERVER = {"enable_ps": False, "enable_ssl": False, "config_file_path": ""}


@pytest.mark.parametrize("family, get, change, reset", [
    (COSTS, settings.get_cost_model_context, settings.set_cost_model_context,
     settings.reset_cost_model_context),
    (SEARCH, ms.get_algo_parameters, ms.set_algo_parameters, ms.reset_algo_parameters),
    (SERVER, ms.get_ps_context, ms.set_ps_context, ms.reset_ps_context)],
    ids=["costs", "search", "server"])
def test_defaults_and_values(family, get, change, reset):
    found = {key: get(key) for key in family}
    assert found == pytest.approx(family) and [*map(type, found.values())] == [
        *map(type, family.values())]
    try:
        for key, value in family.items():
            if key != "enable_ps":  # there is no parameter server
                other = "x" if value == "" else not value if isinstance(value, bool) else value + 1
                change(**{key: other})
                assert get(key) == other
                with pytest.raises(TypeError, match=f"'{key}' must be"):
                    change(**{key: [other]})
    finally:
        reset()
    assert {key: get(key) for key in family} == found
    with pytest.raises(ValueError, match="'price' is not recognized"):
        change(price=1)
    with pytest.raises(ValueError, match="price is not recognized"):
        get("price")


def test_settings_of_the_search_by_themselves():
    settings._set_multi_subgraphs()
    settings._set_rp_matmul_mem_coef(0.5)
    get = settings.get_cost_model_context
    assert get("multi_subgraphs") is True and get("rp_matmul_mem_coef") == 0.5
    settings.reset_cost_model_context()
    assert get("multi_subgraphs") is False and get("rp_matmul_mem_coef") == 0.1


def test_there_is_no_parameter_server():
    with pytest.raises(RuntimeError, match="no parameter server"):
        ms.set_ps_context(enable_ps=True)
    assert ms.get_ps_context("enable_ps") is False
