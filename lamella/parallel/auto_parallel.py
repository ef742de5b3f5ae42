"""`AutoParallel`: a network whose operators are spread over processes, with settings of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..autodiff.reverse import trains
from ..communication import settings
from ..communication.groups import group_of
from ..nn.cell import Cell
from ..tensors.tensor import Tensor, wrap
from . import parts, pipeline, sharding, stages

__all__ = ["AutoParallel", "reshard", "set_op_strategy_config", "shard"]

_MODES = {"semi_auto": "semi_auto_parallel", "sharding_propagation": "auto_parallel",
          "recursive_programming": "auto_parallel"}


def _trains(network: Callable[..., Any]) -> bool:
    """Whether a network, or a Cell in it, differentiates something by weights."""
    if not isinstance(network, Cell):
        return trains(network)
    return any(trains(held) for _, cell in network.cells_and_names()
               for held in (*vars(cell).values(), type(cell).construct))


class AutoParallel(Cell):
    """Runs a network, with its loss, on all processes together.

    What it gives is what one process would give for the whole batch, in each of them. Strategies
    (``Primitive.shard``, ``Cell.shard``) say how operators are cut; the layouts of others follow
    from those by PyTorch's DTensor. In a world of one it is the network.

    Args:
        network: the network with its loss, or a function of Tensors; or a whole step: a Cell such
            as `TrainOneStepCell`, or a function with a gradient call by weights that is one of its
            variables.
        parallel_mode: ``"semi_auto"``, ``"sharding_propagation"`` or ``"recursive_programming"``;
            the three mean the same here: there is no search for strategies.

    Raises:
        TypeError: if `network` can't be called.
        ValueError: if there is no such mode.

    Examples:
        >>> import lamella as ms
        >>> from lamella.parallel.auto_parallel import AutoParallel
        >>> net = AutoParallel(ms.nn.Dense(2, 1, weight_init="ones", bias_init="zeros"))
        >>> print(net(ms.Tensor([[1.0, 2.0]])))
        [[3.]]
    """

    def __init__(self, network: Callable[..., Any], parallel_mode: str = "semi_auto"):
        super().__init__(auto_prefix=False)
        if not callable(network):
            raise TypeError(f"For 'AutoParallel', 'network' must be a Cell or a function, but got "
                            f"{type(network).__name__}.")
        if parallel_mode not in _MODES:
            raise ValueError(f"For 'AutoParallel', 'parallel_mode' must be one of {list(_MODES)}, "
                             f"but got {parallel_mode!r}.")
        self.network = network
        self._trains: bool | None = None  # found at the first call, when all variables are there
        self._settings: dict[str, Any] = {"parallel_mode": _MODES[parallel_mode]}

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """What the network gives for the inputs of all processes."""
        with self._applied():
            if self._trains is None:
                self._trains = _trains(self.network)
            if stages.in_use() and not (self._trains and isinstance(self.network, Cell)):
                return pipeline.staged(self.network, "AutoParallel")(*args, **kwargs)
            # a network that trains shards the function that it differentiates
            if not sharding.splits() or self._trains:
                return self.network(*args, **kwargs)
            return sharding.region(self.network, "AutoParallel")(*args, **kwargs)

    @contextmanager
    def _applied(self) -> Iterator[None]:
        """A block with this network's settings."""
        with settings._settings.kept():
            settings.set_auto_parallel_context(**self._settings)
            yield

    def _set(self, **kwargs: Any) -> None:
        """Note settings, checked as `set_auto_parallel_context` does."""
        before = self._settings
        self._settings = {**before, **kwargs}
        try:
            with self._applied():
                pass
        except Exception:
            self._settings = before
            raise

    def dataset_strategy(self, config: Any) -> None:
        """Declare which part of each input this process is given.

        Args:
            config: ``"data_parallel"`` (its rows, the default), ``"full_batch"`` (all), or for each
                input a tuple, in how many parts each dimension is cut, or a `Layout`.
        """
        self._set(dataset_strategy=config)

    def hsdp(self, shard_size: int = -1, threshold: int = 64, optimizer_level: str = "level1"
             ) -> None:
        """Keep trainable Parameters, and optimizers' states of them, cut in parts, from now on.

        Args:
            shard_size: in how many; -1: as many as there are processes.
            threshold: Parameters of fewer KB stay whole.
            optimizer_level: with ``"level3"`` wholes are gathered where they are used, and again
                for the backward pass; ``"level1"`` and ``"level2"`` are the same.

        Raises:
            ValueError: if an argument is out of its range.
        """
        if not isinstance(shard_size, int) or (shard_size < 1 and shard_size != -1):
            raise ValueError(f"For 'AutoParallel.hsdp', 'shard_size' must be an int above 0, or "
                             f"-1, but got {shard_size!r}.")
        if not isinstance(threshold, int) or threshold < 0:
            raise ValueError(f"For 'AutoParallel.hsdp', 'threshold' must be an int of 0 or more, "
                             f"but got {threshold!r}.")
        self._set(enable_parallel_optimizer=True, parallel_optimizer_config={
            "parallel_optimizer_threshold": threshold, "optimizer_weight_shard_size": shard_size,
            "optimizer_level": optimizer_level})
        if group_of(None, "AutoParallel.hsdp").size > 1:
            with self._applied():
                parts.place(self.trainable_params(), parts.placement_of())

    def pipeline(self, stages: int = 1, output_broadcast: bool = False, interleave: bool = False,
                 scheduler: str = "1f1b") -> None:
        """Set the number of pipeline stages; see `nn.PipelineCell`.

        Args:
            stages: how many; the number of processes must be a multiple.
            output_broadcast: has no effect: all processes have what the last stage gives.
            interleave: whether values may go from the last stage back to the first, so that a
                stage runs several chunks of the network.
            scheduler: in what order: ``"1f1b"``, ``"gpipe"`` or ``"zero_bubble_v"``.
        """
        self._set(pipeline_stages=stages, pipeline_result_broadcast=output_broadcast,
                  pipeline_interleave=interleave, pipeline_scheduler=scheduler)

    def get_pipeline_stages(self) -> int:
        """The number of stages."""
        return self._settings.get("pipeline_stages", 1)

    def comm_fusion(self, config: dict[str, Any]) -> None:
        """Keep how MindSpore would join messages; gradients travel in few messages anyway."""
        self._set(comm_fusion=config)

    def enable_gradients_mean(self) -> None:
        """Has no effect: gradients are those of the loss of the whole batch."""
        self._set(gradients_mean=True)

    def disable_gradient_fp32_sync(self) -> None:
        """Has no effect: gradients are added up in their own type."""
        self._set(gradient_fp32_sync=False)

    def disable_loss_repeated_mean(self) -> None:
        """Has no effect: no loss is counted several times."""
        self._set(loss_repeated_mean=False)

    def enable_fp32_communication(self) -> None:
        """Has no effect: sums are made in the type of what is summed, 16 bits in 32."""
        self._set(force_fp32_communication=True)

    def load_param_strategy_file(self, file_path: str) -> None:
        """Keep the name of a strategy file."""
        self._set(strategy_ckpt_config={"load_file": file_path})

    def save_param_strategy_file(self, file_path: str) -> None:
        """Say where `save_checkpoint` with ``integrated_save=False`` writes how Parameters are cut.
        """
        self._set(strategy_ckpt_config={"save_file": file_path})

    def strategy_file(self) -> str:
        """The name that `save_param_strategy_file` was given, or an empty one."""
        return self._settings.get("strategy_ckpt_config", {}).get("save_file", "")

    def set_group_ckpt_save_file(self, file_path: str) -> None:
        """Keep the name of a file of groups; none is written."""
        self._set(group_ckpt_save_file=file_path)


def shard(fn: Callable[..., Any], in_strategy: Any, out_strategy: Any = None,
          parameter_plan: dict[str, Any] | None = None, device: str = "Ascend", level: int = 0
          ) -> Callable[..., Any]:
    """The function with inputs and results cut over processes.

    That means something in the modes ``"semi_auto_parallel"`` and ``"auto_parallel"`` alone. There,
    inputs are laid out by the strategies, the layouts of all operators inside follow from that by
    PyTorch's DTensor, and results are whole again, unless this is inside of such a function.

    Args:
        fn: a function or a Cell. Its inputs are the same in all processes.
        in_strategy: for each input a tuple, in how many parts each dimension is cut, or a
            `Layout`, or None.
        out_strategy: the same for each output; default: as it comes.
        parameter_plan: the same for Parameters of a Cell, by name.
        device, level: accepted as MindSpore does.

    Raises:
        TypeError: if an argument is of the wrong type.

    Examples:
        >>> import lamella as ms
        >>> from lamella.parallel.auto_parallel import shard
        >>> product = shard(ms.ops.matmul, in_strategy=((2, 1), (1, 1)))
        >>> print(product(ms.ops.ones((2, 2)), ms.ops.ones((2, 1))).shape)
        (2, 1)
    """
    for name, value, kinds in (("in_strategy", in_strategy, (tuple, sharding.Layout)),
                               ("out_strategy", out_strategy, (tuple, type(None)))):
        if not isinstance(value, kinds):
            raise TypeError(f"For 'Shard', the '{name}' should be a tuple, but got "
                            f"{type(value).__name__}")
    if parameter_plan is not None:
        if not isinstance(fn, Cell) or not isinstance(parameter_plan, dict):
            raise TypeError(f"If 'parameter_plan' is set, it must be a dict, and 'fn' a Cell, but "
                            f"got {type(parameter_plan).__name__} and {type(fn).__name__}.")
        sharding.plan_parameters(fn, parameter_plan, "shard")
    return sharding.shard(fn, in_strategy, out_strategy)


def reshard(tensor: Tensor, layout: sharding.Layout) -> Tensor:
    """The Tensor, laid out over processes by a `Layout`, where operators are spread over them;
    elsewhere, and always in value, the Tensor itself.

    Args:
        tensor: the Tensor.
        layout: a `Layout` that has been called, which tells for each dimension the axis that cuts
            it.

    Raises:
        TypeError: if an argument is of another type.

    Examples:
        >>> import lamella as ms
        >>> from lamella.parallel.function import reshard
        >>> layout = ms.Layout((1, 1), ("dp", "mp"))
        >>> print(reshard(ms.Tensor([1.0, 2.0]), layout("mp")))
        [1. 2.]
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Reshard takes in Tensor type as the first input param, but got: "
                        f"{type(tensor)}.")
    if not isinstance(layout, sharding.Layout):
        raise TypeError(f"Reshard only support type mindspore.parallel.Layout, but got: "
                        f"{type(layout)}.")
    if not sharding.in_region():
        return tensor
    return wrap(sharding.lay_out(tensor._raw, layout, "reshard"))


def set_op_strategy_config(mode: str = "SAVE", path: str = "") -> None:
    """Has no effect but checks: there is no search for strategies, so none are written or read.

    Args:
        mode: ``"SAVE"`` or ``"LOAD"``.
        path: an absolute path that ends in ``.json``.

    Raises:
        KeyError: if an argument is something else.
    """
    if not os.path.isabs(path):
        raise KeyError("File path must be an absolute path")
    if os.path.splitext(path)[1] != ".json":
        raise KeyError("File type must be .json")
    if mode not in ("SAVE", "LOAD"):
        raise KeyError("Type must be 'SAVE' or 'LOAD'")
