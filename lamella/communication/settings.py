"""The settings of parallelism over processes: kept, checked, and read where they matter.

Data parallelism reads the mode, `gradients_mean`, `device_num` and `parameter_broadcast`. The modes
that spread operators over processes mean, in a world of one, what stand-alone means. The other
settings steer MindSpore's own search for strategies and fusion of messages;
`get_auto_parallel_context` answers what was set.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ..core.settings import Settings
from . import groups
from .groups import GlobalComm, get_group_size, get_rank

__all__ = [
    "ParallelMode", "get_auto_parallel_context", "reset_auto_parallel_context",
    "set_auto_parallel_context",
]


class ParallelMode:
    """The names of the parallel modes.

    Examples:
        >>> import lamella as ms
        >>> ms.ParallelMode.DATA_PARALLEL
        'data_parallel'
    """

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = [STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL]


_SPLITTING = (ParallelMode.SEMI_AUTO_PARALLEL, ParallelMode.AUTO_PARALLEL)
_FUSION = ("openstate", "allreduce", "allgather", "reducescatter")

_DEFAULTS: dict[str, Any] = {
    "device_num": 1, "global_rank": 0, "gradients_mean": False, "gradient_fp32_sync": True,
    "loss_repeated_mean": True, "pipeline_stages": 1, "auto_pipeline": False,
    "pipeline_result_broadcast": False, "pipeline_segments": 1, "pipeline_interleave": False,
    "pipeline_scheduler": "1f1b", "parallel_mode": "stand_alone",
    "search_mode": "recursive_programming", "parameter_broadcast": False,
    "strategy_ckpt_load_file": "", "strategy_ckpt_save_file": "", "group_ckpt_save_file": "",
    "full_batch": False, "dataset_strategy": "data_parallel", "enable_parallel_optimizer": False,
    "force_fp32_communication": False, "grad_accumulation_step": 1, "all_reduce_fusion_config": [],
    "communi_parallel_mode": "all_group_parallel", "optimizer_weight_shard_size": -1,
    "optimizer_weight_shard_aggregated_save": False, "sharding_propagation": False,
    "enable_alltoall": False, "dump_local_norm": False, "dump_local_norm_path": "",
    "dump_device_local_norm": False, "auto_parallel_new_interface": False,
    "init_param_in_compile": True,
    "parallel_optimizer_config": {"gradient_accumulation_shard": False,
                                  "parallel_optimizer_threshold": 64},
    "comm_fusion": {"openstate": True, **{kind: {"mode": "auto", "config": None}
                                          for kind in _FUSION[1:]}},
    "strategy_ckpt_config": {"load_file": "", "save_file": "", "only_trainable_params": True},
}
_MERGED = ("parallel_optimizer_config", "comm_fusion", "strategy_ckpt_config")
_CHOICES = {
    "parallel_mode": ParallelMode.MODE_LIST,
    "search_mode": ["recursive_programming", "dynamic_programming", "sharding_propagation"],
    "communi_parallel_mode": ["all_group_parallel", "same_server_group_parallel",
                              "no_group_parallel"],
    "pipeline_scheduler": ["1f1b", "gpipe", "seqpipe", "seqvpp", "seqsmartvpp", "zero_bubble_v"],
}
_settings = Settings("set_auto_parallel_context", _DEFAULTS)


def _get(key: str) -> Any:
    return _settings[key]


def set_auto_parallel_context(**kwargs: Any) -> None:
    """Set how work is spread over processes.

    Args:
        parallel_mode: one of `ParallelMode`. ``"data_parallel"`` and ``"hybrid_parallel"`` have
            `nn.TrainOneStepCell` and `nn.DistributedGradReducer` add up gradients.
            ``"semi_auto_parallel"`` and ``"auto_parallel"`` spread operators over processes.
        gradients_mean: whether gradients are then divided by the number of processes.
        device_num, global_rank: the number of processes and this one's; default: the world's.
        parameter_broadcast: whether training starts from process 0's parameters.
        enable_parallel_optimizer: whether optimizers made from now on
            keep their parameters and states cut in parts, one for each process.
            ``parallel_optimizer_config`` says from how many KB on, in how many parts, and with
            ``optimizer_level="level3"`` that wholes are gathered where they are used, and kept
            neither there nor for the backward pass.
        pipeline_stages: in how many stages the network of an `nn.PipelineCell` is run, with
            ``"semi_auto_parallel"`` or ``"auto_parallel"``; processes are shared out among them.
        pipeline_config: ``{"pipeline_scheduler": "1f1b"}``, ``"gpipe"`` or ``"zero_bubble_v"``: in
            what order. With ``"pipeline_interleave": True`` a stage may run several chunks of the
            network: values may go from the last stage back to the first.
        **kwargs: MindSpore's other settings are kept and have no effect.

    Raises:
        ValueError: for a name that MindSpore doesn't have, or a value outside its range.
        TypeError: for a value of the wrong type.
        RuntimeError: if the number of processes is no multiple of ``pipeline_stages``.

    Examples:
        >>> import lamella as ms
        >>> ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
        >>> ms.get_auto_parallel_context("gradients_mean")
        True
        >>> ms.reset_auto_parallel_context()
    """
    checked = {}
    for key, value in kwargs.items():
        if key == "auto_parallel_search_mode":
            key = "search_mode"
        if key == "pipeline_config":
            given = _merged(key, value, ("pipeline_interleave", "pipeline_scheduler"), {})
            checked.update({name: _checked(name, each) for name, each in given.items()})
        elif key == "parallel_optimizer_config":
            checked[key] = _optimizer_config(value)
        elif key in _MERGED:
            checked[key] = _merged(key, value, tuple(_DEFAULTS[key]), _get(key))
        elif key in _DEFAULTS:
            checked[key] = _checked(key, value)
        else:
            raise ValueError(f"For 'set_auto_parallel_context', the keyword {key} is not "
                             f"recognized. Known keywords: {', '.join(sorted(_DEFAULTS))}.")
    if "pipeline_stages" in checked:
        _check_stages(checked["pipeline_stages"], _world_size())
    for key, value in checked.items():  # of `full_batch` and `dataset_strategy` the later counts
        _settings[key] = value
        if key == "dataset_strategy":
            _settings["full_batch"] = value == "full_batch"
        elif key == "full_batch" and (value or isinstance(_get("dataset_strategy"), str)):
            _settings["dataset_strategy"] = "full_batch" if value else "data_parallel"
    for old, new in (("strategy_ckpt_load_file", "load_file"),
                     ("strategy_ckpt_save_file", "save_file")):
        if old in checked:
            _settings["strategy_ckpt_config"] = {**_get("strategy_ckpt_config"), new: checked[old]}


def _checked(key: str, value: Any) -> Any:
    if key == "dataset_strategy":
        return _dataset_strategy(value)
    _check_type(key, value, _DEFAULTS[key])
    if key in _CHOICES and value not in _CHOICES[key]:
        known = ", ".join(repr(choice) for choice in _CHOICES[key])
        raise ValueError(f"For 'set_auto_parallel_context', the context configuration "
                         f"parameter '{key}' only support {known}, "
                         f"but got the value : {value}.")
    if key == "global_rank" and not 0 <= value <= 4095:
        raise ValueError(f"The context configuration parameter 'global_rank' must be in [0, 4095], "
                         f"but got the value of global_rank : {value}.")
    if key in ("device_num", "pipeline_stages", "pipeline_segments",
               "grad_accumulation_step") and value < 1:
        raise ValueError(f"The context configuration parameter '{key}' must be a positive integer, "
                         f"but got the value of {key} : {value}.")
    if key == "all_reduce_fusion_config" and value != sorted(set(value)):
        raise ValueError(f"For 'set_auto_parallel_context', the numbers in '{key}' must ascend, "
                         f"but got {value}.")
    return copy.copy(value)


def _check_type(key: str, value: Any, default: Any) -> None:
    if not isinstance(value, type(default)) or isinstance(value, bool) != isinstance(default, bool):
        raise TypeError(f"The parameter '{key}' must be {type(default)}, but got {type(value)} "
                        f"({value!r}) in 'set_auto_parallel_context'.")


def _dataset_strategy(value: Any) -> Any:
    if isinstance(value, str):
        if value not in ("full_batch", "data_parallel"):
            raise ValueError(f"For 'set_auto_parallel_context', the argument 'dataset_strategy' "
                             f"must be 'full_batch' or 'data_parallel', but got the value : "
                             f"{value}.")
        return value
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"For 'set_auto_parallel_context', the argument 'dataset_strategy' must be "
                        f"str or tuple type, but got the type : {type(value)}.")
    return [list(each) if isinstance(each, (tuple, list)) else each for each in value]


def _optimizer_config(value: Any) -> dict[str, Any]:
    """How optimizers cut their parameters; ``"optimizer_level"`` is kept if it is given."""
    name = "parallel_optimizer_config"
    known = (*_DEFAULTS[name], "optimizer_weight_shard_size", "optimizer_level")
    found = _merged(name, value, known, _get(name))
    for key, default in _DEFAULTS[name].items():
        _check_type(f"{name}.{key}", found[key], default)
    if found["parallel_optimizer_threshold"] < 0:
        raise ValueError(f"For 'set_auto_parallel_context', the 'parallel_optimizer_threshold' in "
                         f"'{name}' must be 0 or more, but got "
                         f"{found['parallel_optimizer_threshold']}.")
    level = found.get("optimizer_level", "level1")
    if level not in ("level1", "level2", "level3"):
        raise ValueError(f"For 'set_auto_parallel_context', the 'optimizer_level' in '{name}' must "
                         f"be 'level1', 'level2' or 'level3', but got {level!r}.")
    size = "optimizer_weight_shard_size"
    if size in found:
        _checked(size, found[size])
    return found


def _merged(key: str, value: Any, known: tuple[str, ...], before: dict) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"The parameter '{key}' must be {dict}, but got {type(value)} "
                        f"({value!r}) in 'set_auto_parallel_context'.")
    unknown = [name for name in value if name not in known]
    if unknown:
        kind = KeyError if key == "comm_fusion" else ValueError
        raise kind(f"For 'set_auto_parallel_context', the keys of '{key}' must be among "
                   f"{list(known)}, but got {unknown}.")
    return {**before, **value}


def get_auto_parallel_context(attr_key: str) -> Any:
    """What was set by `set_auto_parallel_context`, or the default.

    Args:
        attr_key: the setting's name.

    Raises:
        ValueError: if there is none of that name.

    Examples:
        >>> import lamella as ms
        >>> ms.get_auto_parallel_context("parallel_mode")
        'stand_alone'
    """
    if attr_key == "auto_parallel_search_mode":
        attr_key = "search_mode"
    if attr_key == "full_batch_is_set":
        return _settings.was_set("full_batch")
    if attr_key not in _DEFAULTS:
        raise ValueError(f"For 'get_auto_parallel_context', the keyword {attr_key} is not "
                         f"recognized. Known keywords: {', '.join(sorted(_DEFAULTS))}.")
    return copy.deepcopy(_get(attr_key))


def reset_auto_parallel_context() -> None:
    """Put all settings of `set_auto_parallel_context` back to their defaults.

    Examples:
        >>> import lamella as ms
        >>> ms.reset_auto_parallel_context()
        >>> ms.get_auto_parallel_context("parallel_mode")
        'stand_alone'
    """
    _settings.clear()


def check_feasible(size: int) -> None:
    """Check that the settings mean something here for so many processes.

    Raises:
        RuntimeError: if the processes can't be shared out among stages of a pipeline.
    """
    _check_stages(_get("pipeline_stages"), size)


def _check_stages(stages: int, size: int) -> None:
    if size > 1 and size % stages:
        raise RuntimeError(f"For 'set_auto_parallel_context', the number of processes must be a "
                           f"multiple of the {stages} 'pipeline_stages', but got {size} processes.")


groups.checks.append(check_feasible)


def _world_size() -> int:
    return get_group_size() if GlobalComm.INITED else 1


# names that programs import from `mindspore.parallel._utils` and its neighbours

class _AutoParallelContext:
    """The settings as an object with a setter and a getter for each."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        what, _, key = name.partition("_")
        if what == "get" and key.endswith("_is_set"):
            return lambda: _settings.was_set(key[:-len("_is_set")])
        if key not in _DEFAULTS or what not in ("get", "set"):
            raise AttributeError(f"The auto parallel context has no {name!r}.", name=name)
        if what == "get":
            return lambda: get_auto_parallel_context(key)
        return lambda value: set_auto_parallel_context(**{key: value})

    def set_all_reduce_fusion_split_indices(self, indices: list[int], group: str = "") -> None:
        """Keep which gradients go into one message."""
        set_auto_parallel_context(all_reduce_fusion_config=indices)

    def get_all_reduce_fusion_split_indices(self, group: str = "") -> list[int]:
        """Which gradients were to go into one message."""
        return get_auto_parallel_context("all_reduce_fusion_config")

    def reset(self) -> None:
        """Put all settings back to their defaults."""
        reset_auto_parallel_context()


_the_context = _AutoParallelContext()


def auto_parallel_context() -> _AutoParallelContext:
    """The settings as an object."""
    return _the_context


def _get_parallel_mode() -> str:
    """The mode."""
    return _get("parallel_mode")


def _is_sharding_propagation() -> bool:
    return _get("search_mode") == "sharding_propagation" or _get("sharding_propagation")


def _is_in_auto_parallel_mode() -> bool:
    return _get_parallel_mode() in _SPLITTING


def _is_in_data_parallel_mode() -> bool:
    return _get_parallel_mode() == ParallelMode.DATA_PARALLEL


def _is_in_hybrid_parallel_mode() -> bool:
    return _get_parallel_mode() == ParallelMode.HYBRID_PARALLEL


def _is_parallel_mode() -> bool:
    return _get_parallel_mode() != ParallelMode.STAND_ALONE


def _get_full_batch() -> bool:
    return _get("full_batch")


def _get_pipeline_stages() -> int:
    return _get("pipeline_stages")


def _get_gradients_mean() -> bool:
    return _get("gradients_mean")


def _get_device_num() -> int:
    """The number of processes that share the work: what was set, else the world's."""
    if not _is_parallel_mode():
        return 1
    return _settings["device_num"] if _settings.was_set("device_num") else get_group_size()


def _get_stage_device_num() -> int:
    return _get_device_num() // _get_pipeline_stages()


def _get_global_rank() -> int:
    """This process's rank: what was set, else in the world."""
    if not _is_parallel_mode():
        return 0
    return _settings["global_rank"] if _settings.was_set("global_rank") else get_rank()


def _get_parameter_broadcast() -> bool:
    return _get("parameter_broadcast")


def _get_enable_parallel_optimizer() -> bool:
    return _get("enable_parallel_optimizer")


def shards_optimizer() -> bool:
    """Whether optimizers cut their parameters in parts, one for each process."""
    return (_get("enable_parallel_optimizer") and _world_size() > 1
            and _get_parallel_mode() in ("data_parallel", *_SPLITTING))


def _get_grad_accumulation_shard() -> bool:
    return _get("parallel_optimizer_config")["gradient_accumulation_shard"]


def _device_number_check(parallel_mode: str, device_number: int) -> None:
    if parallel_mode == ParallelMode.STAND_ALONE and device_number != 1:
        raise ValueError(f"If parallel_mode is stand_alone, device_number must be 1, "
                         f"device_number: {device_number}, parallel_mode:{parallel_mode}")


def _is_role_sched() -> bool:
    """Whether this process is a scheduler; here none is."""
    return False
