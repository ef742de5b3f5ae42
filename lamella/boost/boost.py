"""`AutoBoost`: which algorithms of this room a training uses."""

from __future__ import annotations

from typing import Any

from ..communication.groups import group_of
from ..communication.settings import get_auto_parallel_context
from ..core.require import one_of
from ..nn.cell import Cell
from ..nn.optim import SGD
from .base import OptimizerProcess, ParameterProcess
from .grad_freeze import GradientFreeze
from .less_batch_normalization import LessBN
from .principal import local_components

__all__ = ["AutoBoost"]

_ALGORITHMS = ("less_bn", "grad_freeze", "adasum", "grad_accumulation", "dim_reduce",
               "loss_scale_group")
_LEVELS = {"O0": (), "O1": ("less_bn", "grad_freeze"), "O2": ("less_bn", "grad_freeze", "adasum")}
_MODES = ("auto", "manual", "enable_all", "disable_all")
_DEFAULTS: dict[str, dict[str, Any]] = {
    "less_bn": {"fn_flag": True, "gc_flag": True},
    "grad_freeze": {"param_groups": 10, "freeze_type": 1, "freeze_p": 0.7, "total_steps": 65536},
    "grad_accumulation": {"grad_accumulation_step": 1},
    "dim_reduce": {"rho": 0.55, "gamma": 0.9, "alpha": 0.001, "sigma": 0.4, "n_components": 32,
                   "pca_mat_path": None, "weight_load_dir": None, "timeout": 1800},
    "common": {"device_number": 8, "gradient_split_groups": None}}


class AutoBoost:
    """The algorithms of a training, and their numbers: one set for the process.

    Args:
        level: ``"O0"`` none, ``"O1"`` `LessBN` and `GradientFreeze`, ``"O2"`` `AdaSum` too.
        boost_config_dict: a dict of dicts. ``"boost"`` has ``"mode"``: ``"auto"`` (as `level`
            says), ``"manual"`` (as the dict says, by the names of the algorithms: ``less_bn``,
            ``grad_freeze``, ``adasum``, ``grad_accumulation``, ``dim_reduce``,
            ``loss_scale_group``), ``"enable_all"`` or ``"disable_all"``; ``"common"`` and the
            algorithms' names have their numbers.

    Attributes:
        boost_config: whether each algorithm is used.

    Raises:
        ValueError: if the mode is another one, or a number isn't known.

    Examples:
        >>> import lamella as ms
        >>> found = ms.boost.AutoBoost("O1", {"grad_freeze": {"freeze_p": 0.5}})
        >>> found.boost_config["grad_freeze"], found.freeze_p, ms.boost.AutoBoost() is found
        (True, 0.5, True)
        >>> ms.boost.AutoBoost("O0").boost_config["grad_freeze"]
        False
    """

    _instance: AutoBoost | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> AutoBoost:
        if AutoBoost._instance is None:
            AutoBoost._instance = object.__new__(cls)
        return AutoBoost._instance

    def __init__(self, level: str | None = None, boost_config_dict: Any = None):
        if level is None and boost_config_dict is None and hasattr(self, "boost_config"):
            return  # asked for the one that there is
        self.level = level if level in _LEVELS else "O0"
        given = boost_config_dict or {}
        mode = one_of(given.get("boost", {}).get("mode", "auto"), _MODES, "mode", "AutoBoost")
        used = {name: name in _LEVELS[self.level] for name in _ALGORITHMS}
        if mode == "manual":
            used.update({k: bool(v) for k, v in given["boost"].items() if k in used})
        elif mode != "auto":
            used = dict.fromkeys(used, mode == "enable_all")
        self.boost_config = used
        for part, numbers in _DEFAULTS.items():
            own = given.get(part, {})
            unknown = set(own) - set(numbers)
            if unknown:
                raise ValueError(f"For 'AutoBoost', {part!r} has the options "
                                 f"{', '.join(numbers)}, but got {', '.join(sorted(unknown))}.")
            for name, default in numbers.items():
                setattr(self, name, own.get(name, default) if part == "common" or used.get(
                    part) else default)
        self.gradient_groups = self._split_points(self.gradient_split_groups)
        self.local_pca_mat_path: str | None = None
        self._param_processer = ParameterProcess()

    def __getattr__(self, name: str) -> Any:  # the numbers, which `__init__` sets
        raise AttributeError(f"'AutoBoost' object has no attribute {name!r}", name=name, obj=self)

    @staticmethod
    def _split_points(given: Any) -> list[int] | None:
        if given is not None and not isinstance(given, (list, int)):
            raise ValueError(f"For 'AutoBoost', 'gradient_split_groups' must be an int or a list, "
                             f"but got {given!r}.")
        return [given] if isinstance(given, int) else given

    def network_auto_process_train(self, network: Cell, optimizer: Any) -> tuple[Cell, Any]:
        """The network and the optimizer to train with.

        Args:
            network: the network.
            optimizer: its optimizer.
        """
        if self.boost_config["dim_reduce"]:
            alone = get_auto_parallel_context("parallel_mode") == "stand_alone"
            world = group_of(None, "AutoBoost")
            self.local_pca_mat_path = local_components(
                self.weight_load_dir, self.pca_mat_path, self.n_components,
                0 if alone else world.rank, 1 if alone else world.size, network)
            optimizer = SGD(network.trainable_params(), learning_rate=1.0)
            optimizer.dim_reduce = True
            return network, optimizer
        if self.boost_config["less_bn"]:
            network = LessBN(network, fn_flag=self.fn_flag)
            process = OptimizerProcess(optimizer)
            parameters = self._param_processer.assign_parameter_group(network.trainable_params(),
                                                                      self.gradient_groups)
            process.origin_params = ParameterProcess.generate_group_params(parameters,
                                                                           process.origin_params)
            if self.gc_flag:
                process.add_grad_centralization(network)
            optimizer = process.generate_new_optimizer()
        if self.boost_config["grad_freeze"]:
            freeze = GradientFreeze(self.param_groups, self.freeze_type, self.freeze_p,
                                    self.total_steps)
            network, optimizer = freeze.freeze_generate(network, optimizer)
        if self.boost_config["adasum"]:
            optimizer.adasum = True
        return network, optimizer

    def network_auto_process_eval(self, network: Cell) -> Cell:
        """The network to evaluate."""
        if self.boost_config["less_bn"] and not self.boost_config["dim_reduce"]:
            return LessBN(network)
        return network
