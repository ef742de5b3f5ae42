"""`build_train_network`: a network, its loss and its optimizer as one training step."""

from __future__ import annotations

from typing import Any

from ..core import dtype as mstype
from ..core.require import of_type, one_of
from ..nn.cell import Cell
from ..nn.optim.optimizer import Optimizer
from ..nn.wrap import (
    GradAccumulationCell,
    TrainOneStepCell,
    TrainOneStepWithLossScaleCell,
    WithLossCell,
)
from .loss_scale_manager import DynamicLossScaleManager, LossScaleManager
from .mixed_precision import auto_mixed_precision, get_black_list, lower_all_but, to_float32

__all__ = ["build_train_network"]

_LOW = {"keep_batchnorm_fp32": False, "cast_model_type": mstype.float16, "loss_scale_manager": None}
_FULL = {**_LOW, "cast_model_type": mstype.float32}
_config_level: dict[str, dict[str, Any]] = {
    "O0": _FULL, "O1": _FULL, "auto": _FULL, "O3": _LOW,
    "O2": {**_LOW, "keep_batchnorm_fp32": True, "loss_scale_manager": DynamicLossScaleManager()}}


class _WithFloat32Loss(Cell):
    """A network followed by a loss that is computed in float32."""

    def __init__(self, backbone: Cell, loss_fn: Cell):
        super().__init__(auto_prefix=False)
        self._backbone = backbone
        self._loss_fn = loss_fn

    def construct(self, data: Any, label: Any) -> Any:
        """The loss of the network's output for `data`."""
        return self._loss_fn(to_float32(self._backbone(data)), to_float32(label))


def build_train_network(network: Cell, optimizer: Any, loss_fn: Cell | None = None,
                        level: str = "O0", boost_level: str = "O0", **kwargs: Any) -> Cell:
    """A Cell that does one step of training.

    Args:
        network: the network.
        optimizer: the optimizer.
        loss_fn: the loss; None if the network gives it itself.
        level: as `auto_mixed_precision`; "O2" also scales the loss dynamically.
        boost_level: accepted as MindSpore does; training is not boosted.
        **kwargs: what replaces the level's own choice: ``cast_model_type`` (float16 or float32),
            ``keep_batchnorm_fp32`` (a bool), ``loss_scale_manager``.

    Returns:
        A Cell of the network's inputs and the label, in training mode.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: for an unknown level or keyword.

    Examples:
        >>> import lamella as ms
        >>> class Scale(ms.nn.Cell):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.w = ms.Parameter(ms.Tensor(3.0), name="w")
        ...     def construct(self, x):
        ...         return self.w * x
        >>> net = Scale()
        >>> step = ms.amp.build_train_network(net, ms.nn.SGD(net.trainable_params(), 0.5))
        >>> print(step(ms.Tensor(2.0)), net.w.value())
        6.0 2.0
    """
    of_type(optimizer, Optimizer, "optimizer", "build_train_network")
    _check_level(level, boost_level)
    config = {**_config_level[level], **_checked(kwargs)}
    network = _lowered(network, config, level)
    if loss_fn is not None:
        network = _add_loss_network(network, loss_fn, config["cast_model_type"])
    manager, scale = config["loss_scale_manager"], None
    if manager is not None:
        update = manager.get_update_cell()
        if update is not None:
            return TrainOneStepWithLossScaleCell(network, optimizer, update).set_train()
        scale = manager.get_loss_scale()
    if scale is None:
        parts = [c.micro_size for _, c in network.cells_and_names()
                 if isinstance(c, GradAccumulationCell)]
        scale = 1.0 / parts[0] if parts else None
    return TrainOneStepCell(network, optimizer, scale).set_train()


def _check_level(level: str, boost_level: str) -> None:
    of_type(level, str, "level", "build_train_network")
    one_of(level, ("O0", "O1", "O2", "O3", "auto"), "level", "build_train_network")
    one_of(boost_level, ("O0", "O1", "O2"), "boost_level", "build_train_network")


def _add_loss_network(network: Cell, loss_fn: Cell, cast_model_type: Any) -> Cell:
    """The network followed by its loss, which is computed in float32."""
    of_type(loss_fn, Cell, "loss_fn", "build_train_network")
    low = cast_model_type in (mstype.float16, mstype.bfloat16) or getattr(
        network, "_amp_level", None) in ("O2", "O3", "auto")
    return (_WithFloat32Loss if low else WithLossCell)(network, loss_fn)


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    known = ("cast_model_type", "keep_batchnorm_fp32", "loss_scale_manager")
    unknown = [key for key in options if key not in known]
    if unknown:
        raise ValueError(f"For 'build_train_network', the keywords can be {', '.join(known)}, "
                         f"but got {unknown}.")
    kind = options.get("cast_model_type", mstype.float32)
    if kind not in (mstype.float16, mstype.float32):
        raise TypeError(f"For 'build_train_network', 'cast_model_type' must be float16 or float32, "
                        f"but got {kind!r}.")
    if not isinstance(options.get("keep_batchnorm_fp32", False), bool):
        raise TypeError(f"For 'build_train_network', 'keep_batchnorm_fp32' must be a bool, "
                        f"but got {options['keep_batchnorm_fp32']!r}.")
    manager = options.get("loss_scale_manager")
    if manager is not None and not isinstance(manager, LossScaleManager):
        raise TypeError(f"For 'build_train_network', 'loss_scale_manager' must be a "
                        f"LossScaleManager, but got {type(manager).__name__}.")
    return options


def _lowered(network: Cell, config: dict[str, Any], level: str) -> Cell:
    if config["cast_model_type"] is mstype.float16:
        kept = tuple(get_black_list()) if config["keep_batchnorm_fp32"] else ()
        return lower_all_but(network, mstype.float16, kept)
    return network if level in ("O2", "O3") else auto_mixed_precision(network, level)
