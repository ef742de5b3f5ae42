"""Settings of MindSpore's strategy search and parameter server, which have no effect here."""

from __future__ import annotations

from typing import Any

from ..core.docstrings import documented_like
from ..core.settings import Settings

__all__ = ["get_algo_parameters", "get_ps_context", "reset_algo_parameters", "reset_ps_context",
           "set_algo_parameters", "set_ps_context"]


def _set(settings: Settings, given: dict[str, Any]) -> None:
    for key, value in given.items():
        if key not in settings:
            raise ValueError(f"For '{settings.family}', the keyword {key!r} is not recognized. "
                             f"Known: {', '.join(settings)}.")
        kind = type(settings.defaults[key])
        if type(value) is not kind:
            raise TypeError(f"The parameter '{key}' must be {kind}, but got {type(value)}")
    settings.update(given)


def _get(settings: Settings, key: str) -> Any:
    if key not in settings:
        raise ValueError(f"Get context keyword {key} is not recognized!")
    return settings[key]


_algorithm = Settings("set_algo_parameters", {
    "fully_use_devices": False, "elementwise_op_strategy_follow": False,
    "enable_algo_approxi": False, "algo_approxi_epsilon": 0.1,
    "tensor_slice_align_enable": False, "tensor_slice_align_size": 16})
_server = Settings("set_ps_context", {
    "enable_ps": False, "enable_ssl": False, "config_file_path": "", "client_password": "",
    "server_password": "", "scheduler_manage_port": 11202})
_costs = Settings("set_cost_model_context", {
    "device_memory_capacity": 17179869184.0, "costmodel_alpha": 1.0, "costmodel_beta": 400.0,
    "costmodel_gamma": 0.001, "costmodel_communi_threshold": 2048.0,
    "costmodel_communi_const": 3072.0, "costmodel_communi_bias": 1024.0, "run_phase": 0,
    "costmodel_allreduce_fusion_algorithm": 0, "costmodel_allreduce_fusion_times": 0,
    "costmodel_allreduce_fusion_tail_percent": 0.1, "costmodel_allreduce_fusion_tail_time": 0.1,
    "multi_subgraphs": False, "algo_single_loop": True, "rp_matmul_mem_coef": 0.1})


def set_algo_parameters(**kwargs: Any) -> None:
    """Keep parameters of MindSpore's search for strategies; there is none here to steer.

    Raises:
        ValueError: for a name that MindSpore doesn't have.
        TypeError: for a value of the wrong type.
    """
    _set(_algorithm, kwargs)


def get_algo_parameters(attr_key: str) -> Any:
    """What `set_algo_parameters` was given, or the default.

    Raises:
        ValueError: for a name that MindSpore doesn't have.
    """
    return _get(_algorithm, attr_key)


def reset_algo_parameters() -> None:
    """Put the parameters of `set_algo_parameters` back to their defaults."""
    _algorithm.clear()


def set_ps_context(**kwargs: Any) -> None:
    """Keep settings of training with a parameter server.

    Raises:
        ValueError: for a name that MindSpore doesn't have.
        TypeError: for a value of the wrong type.
        RuntimeError: if a parameter server is asked for: there is none here.
    """
    if kwargs.get("enable_ps"):
        raise RuntimeError("For 'set_ps_context', 'enable_ps' must be False: Lamella has no "
                           "parameter server. Train with 'data_parallel' instead.")
    _set(_server, kwargs)


def get_ps_context(attr_key: str) -> Any:
    """What `set_ps_context` was given, or the default.

    Raises:
        ValueError: for a name that MindSpore doesn't have.
    """
    return _get(_server, attr_key)


def reset_ps_context() -> None:
    """Put the settings of `set_ps_context` back to their defaults."""
    _server.clear()


@documented_like(set_algo_parameters)
def set_cost_model_context(**kwargs: Any) -> None:
    """Keep parameters of the costs by which MindSpore searches for strategies."""
    _set(_costs, kwargs)


def get_cost_model_context(attr_key: str) -> Any:
    """What `set_cost_model_context` was given, or the default.

    Raises:
        ValueError: for a name that MindSpore doesn't have.
    """
    return _get(_costs, attr_key)


def reset_cost_model_context() -> None:
    """Put the parameters of `set_cost_model_context` back to their defaults."""
    _costs.clear()


def _set_multi_subgraphs(multi_subgraph: bool = True) -> None:
    _set(_costs, {"multi_subgraphs": multi_subgraph})


def _set_rp_matmul_mem_coef(coef: float) -> None:
    _set(_costs, {"rp_matmul_mem_coef": coef})
