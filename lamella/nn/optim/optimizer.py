"""Optimizer: what all optimizers share — parameters and their groups, learning rates, weight decay.

A step of an optimizer is `Optimizer.update_by`: it collects the raw tensors of parameters,
gradients and states into lists, one set for each *group* of parameters that share type, device,
learning rate and decay, and hands them to a rule of `ops.primitives.update_rules`. How the
parameters fall into groups is worked out once and kept as long as what it was worked out from is
the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from ...core import context, cuts
from ...core import dtype as mstype
from ...core.errors import describe
from ...core.spreading import spreading
from ...core.state import state
from ...ops.primitives.update_rules import held, kernels, like_parameters, off_tape
from ...ops.primitives.update_states import FittingStates, Shapes
from ...tensors.parameter import Parameter, ParameterTuple
from ...tensors.tensor import Tensor, wrap
from ..cell import Cell
from ..cell_tree import operator
from ..checks import non_negative_float, of_type, one_of, positive_float
from ..container import CellList
from ..learning_rate_schedule import LearningRateSchedule
from .grouping import Group, Grouping, centralized, written
from .held_numbers import HeldNumbers
from .settings import (
    _ConvertToCell,
    _IteratorLearningRate,
    _WrappedWeightDecay,
    as_list,
    check_named_once,
    checked_group,
    in_order,
    opt_init_args_register,
)

__all__ = ["Optimizer", "opt_init_args_register"]


class Optimizer(Cell):
    """The base of optimizers: called with a tuple of gradients, it updates its parameters.

    A subclass defines ``construct(gradients)``. Where parameters are not grouped, `weight_decay`
    leaves out those with 'beta' or 'gamma' in their names.

    Args:
        learning_rate: a number; a list, tuple or 1-D Tensor with a value for each step; or a
            `LearningRateSchedule`, called with `global_step`.
        parameters: Parameters, or dicts that each describe a group: ``params``, and optionally
            ``lr``, ``weight_decay`` and ``grad_centralization``; a last dict with only
            ``order_params`` gives the order of the gradients.
        weight_decay: a number of 0 or more, or a Cell that computes it from the step.
        loss_scale: what the loss was multiplied by; gradients are divided by it.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.
        RuntimeError: if a parameter is in two groups.
        KeyError: if a group has an unknown key.

    Examples:
        >>> import lamella as ms
        >>> class Descent(ms.nn.Optimizer):
        ...     def construct(self, gradients):
        ...         lr = self.get_lr()
        ...         for p, g in zip(self.parameters, self.decay_weight(gradients)):
        ...             p.set_data(p - lr * g)
        ...         return True
        >>> w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
        >>> step = Descent(0.5, [w], weight_decay=0.2)
        >>> _ = step((ms.Tensor([1.0, 1.0]),))
        >>> print(w.value())
        [0.39999998 1.3       ]
    """

    # what subclasses call
    _operators = {"assignadd": operator("AssignAdd"), "map_": operator("Map"),
                  "map_reverse": operator("Map", None, True), "hyper_map": operator("HyperMap"),
                  "hyper_map_reverse": operator("HyperMap", None, True)}
    _support_parallel_optimizer = False
    _elementwise = True  # whether an update of some elements needs no others
    _has_settable_target = False
    _python_numbers: tuple[str, ...] = ()  # Parameters that a step reads as Python's numbers
    _is_function = False  # see functional.py

    def __init__(self, learning_rate: Any, parameters: Any, weight_decay: Any = 0.0,
                 loss_scale: float = 1.0):
        super().__init__(auto_prefix=False)
        name = type(self).__name__
        listed = as_list(parameters, "parameters")
        if not all(isinstance(p, Parameter) for p in listed) and not all(
                isinstance(p, dict) for p in listed):
            kinds = sorted({type(p).__name__ for p in listed})
            raise TypeError(f"For 'Optimizer', 'parameters' must hold only Parameters or only "
                            f"dicts, but got {', '.join(kinds)}.")
        loss_scale = float(loss_scale) if isinstance(loss_scale, int) else loss_scale
        positive_float(loss_scale, "loss_scale", name)
        self.loss_scale = loss_scale
        self.need_scale = loss_scale != 1.0
        self.reciprocal_scale: Any = Tensor(1.0 / loss_scale, mstype.float32)
        self.param_rank = None
        self.use_parallel = False
        self.grad_centralization = False
        self.dynamic_lr = False
        self.dynamic_weight_decay = False
        self.is_group = isinstance(listed[0], dict)
        self.is_group_lr = False
        self.is_group_params_ordered = False
        self._unique = True
        self._target = context.get_context("device_target")
        self.global_step = Parameter(Tensor([0], mstype.int32), name="global_step")
        self.global_step_increase_tensor = Tensor([1], mstype.int32)

        rate = self._checked_rate(learning_rate)
        if self.is_group:
            self._set_groups(listed, rate, weight_decay)
        else:
            self.learning_rate: Any = self._built_rate(rate, "learning_rate")
            self._set_single_decay(listed, weight_decay)
        self._parameters: Any = self.parameters
        self.param_length = len(self.parameters)
        self.optim_filter = (True,) * self.param_length
        self._fitting = FittingStates()
        self._grouping = Grouping()
        self._decays = HeldNumbers()
        spreading().place(self)

    # -- parameters and groups -------------------------------------------------------------------

    def _set_single_decay(self, parameters: list[Any], weight_decay: Any) -> None:
        decay = self._checked_decay(weight_decay)
        check_named_once(parameters)
        self.parameters: Any = ParameterTuple(parameters)
        self.decay_flags = tuple("beta" not in p.name and "gamma" not in p.name for p in parameters)
        self.dynamic_decay_flags: Any = isinstance(decay, Cell)
        self.exec_weight_decay = isinstance(decay, Cell) or decay > 0
        self.weight_decay: Any = decay if isinstance(decay, Cell) else Tensor(decay, mstype.float32)

    def _set_groups(self, groups: list[Any], rate: Any, weight_decay: Any) -> None:
        """Work out what belongs to each parameter from the groups' dicts."""
        groups = [checked_group(group) for group in groups]
        rates = [self._checked_rate(g["lr"]) if "lr" in g else None for g in groups]
        self.is_group_lr = any("lr" in g for g in groups)
        lengths = {r.size for r in (rate, *rates) if isinstance(r, Tensor) and r.ndim == 1}
        if len(lengths) > 1:
            raise ValueError(f"For 'Optimizer', all lists of learning rates must have the same "
                             f"length, but got lengths {sorted(lengths)}.")
        default_rate = self._built_rate(rate, "learning_rate")
        default_decay = self._checked_decay(weight_decay)
        members: list[tuple[Parameter, Any, Any, bool]] = []
        seen: set[str] = set()
        order: list[Parameter] | None = None
        for number, (group, own_rate) in enumerate(zip(groups, rates, strict=True)):
            if "order_params" in group:
                order, self.is_group_params_ordered = group["order_params"], True
                continue
            lr = default_rate if own_rate is None else self._built_rate(
                own_rate, f"learning_rate_group_{number}")
            decay = self._checked_decay(group["weight_decay"]) if "weight_decay" in group \
                else default_decay
            for parameter in group["params"]:
                if parameter.name in seen:
                    raise RuntimeError(f"For 'Optimizer', the parameter '{parameter.name}' is in "
                                       f"the groups twice.")
                seen.add(parameter.name)
                members.append((parameter, lr, decay, group.get("grad_centralization", False)))
        if order:
            members = in_order(members, order)
        self.group_lr = [m[1] for m in members]
        self.group_params = [m[0] for m in members]
        self.group_weight_decay = [m[2] for m in members]
        self.group_grad_centralization = [m[3] for m in members]
        self.grad_centralization_flags = tuple(self.group_grad_centralization)
        if not self.is_group_lr:
            self.learning_rate = default_rate
        elif self.dynamic_lr:
            self.learning_rate = CellList(self.group_lr, auto_prefix=False)
        else:
            self.learning_rate = ParameterTuple(self.group_lr)
        self.parameters = ParameterTuple(self.group_params)
        self.dynamic_decay_flags = tuple(isinstance(d, Cell) for d in self.group_weight_decay)
        self.decay_flags = tuple(isinstance(d, Cell) or d > 0 for d in self.group_weight_decay)
        self.exec_weight_decay = any(self.decay_flags)
        self.weight_decay = tuple(d if isinstance(d, Cell) else Tensor(d, mstype.float32)
                                  for d in self.group_weight_decay)

    def _checked_decay(self, weight_decay: Any) -> Any:
        name = type(self).__name__
        if isinstance(weight_decay, Cell):
            self.dynamic_weight_decay = True
            return _WrappedWeightDecay(weight_decay, self.loss_scale)
        if isinstance(weight_decay, bool) or not isinstance(weight_decay, (int, float)):
            raise TypeError(f"For '{name}', 'weight_decay' must be an int, a float or a Cell, "
                            f"but got {weight_decay!r} of type {type(weight_decay).__name__}.")
        non_negative_float(float(weight_decay), "weight_decay", name)
        return float(weight_decay) * self.loss_scale

    def _checked_rate(self, rate: Any) -> Any:
        """A learning rate as a float, a Tensor of rank 0 or 1, or a schedule."""
        name = type(self).__name__
        if isinstance(rate, (int, float)) and not isinstance(rate, bool):
            non_negative_float(float(rate), "learning_rate", name)
            return float(rate)
        if isinstance(rate, Tensor) and rate.ndim == 0:
            return Tensor(rate.asnumpy(), mstype.float32)
        if isinstance(rate, LearningRateSchedule):
            self.dynamic_lr = True
            return rate
        if isinstance(rate, str) or not isinstance(rate, (Tensor, Iterable)):
            raise TypeError(f"For '{name}', 'learning_rate' must be a number, a Tensor, a list of "
                            f"numbers or a LearningRateSchedule, but got {rate!r} of type "
                            f"{type(rate).__name__}.")
        if isinstance(rate, Tensor) and rate.ndim > 1:
            raise ValueError(f"For '{name}', a Tensor 'learning_rate' must have 0 or 1 dimensions, "
                             f"but got shape {rate.shape}.")
        self.dynamic_lr = True
        values = rate.asnumpy() if isinstance(rate, Tensor) else [float(value) for value in rate]
        return Tensor(values, mstype.float32)

    def _built_rate(self, rate: Any, name: str) -> Any:
        """A checked learning rate as a Parameter or a schedule."""
        if isinstance(rate, LearningRateSchedule):
            return rate
        if isinstance(rate, Tensor) and rate.ndim == 1:
            return _IteratorLearningRate(rate, name)
        rate = Parameter(Tensor(rate, mstype.float32), name=name)
        return _ConvertToCell(rate) if self.is_group_lr and self.dynamic_lr else rate

    # -- properties ------------------------------------------------------------------------------

    @property
    def unique(self) -> bool:
        """Whether the gradients' rows are unique already; kept, has no effect here."""
        return self._unique

    @unique.setter
    def unique(self, value: bool) -> None:
        of_type(value, bool, "unique", "Optimizer")
        self._unique = value

    @property
    def target(self) -> str:
        """Where the parameters are updated: the device they are on."""
        return self._target

    @target.setter
    def target(self, value: str) -> None:
        if not self._has_settable_target:
            raise NotImplementedError(f"'{type(self).__name__}' updates parameters where they are; "
                                      f"its 'target' can't be set.")
        self._set_base_target(value)

    def _set_base_target(self, value: str) -> None:
        of_type(value, str, "target", "Optimizer")
        one_of(value, ("CPU", "Ascend", "GPU"), "target", "Optimizer")
        if value != self._target and value != "CPU":
            raise ValueError(f"For 'Optimizer', 'target' can't be {value!r} "
                             f"on the device {self._target!r}.")
        self._target = value

    # -- what a step is made of ------------------------------------------------------------------

    def get_lr(self) -> Any:
        """The learning rate of this step: a scalar Tensor, or a tuple of one for each parameter."""
        rate = self.learning_rate
        if not self.dynamic_lr:
            return rate
        if not self.is_group_lr:
            return _scalar(rate(self.global_step))
        found: dict[int, Tensor] = {}
        for schedule in rate:
            if id(schedule) not in found:
                found[id(schedule)] = _scalar(schedule(self.global_step))
        return tuple(found[id(schedule)] for schedule in rate)

    def get_weight_decay(self) -> Any:
        """The weight decay of this step, times the loss scale; a tuple where there are groups."""
        if not self.dynamic_weight_decay:
            return self.weight_decay
        if not self.is_group:
            return self.weight_decay(self.global_step)
        return tuple(decay(self.global_step) if dynamic else decay for decay, dynamic
                     in zip(self.weight_decay, self.dynamic_decay_flags, strict=True))

    def get_lr_parameter(self, param: Any) -> Any:
        """The Parameter or schedule with the learning rate of `param`, or of each in a list.

        Raises:
            TypeError: if `param` is neither a Parameter nor a list of them.
            ValueError: if a Parameter is not this optimizer's.

        Examples:
            >>> import lamella as ms
            >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
            >>> ms.nn.Momentum([{"params": [w], "lr": 0.05}], 0.1, 0.9).get_lr_parameter(w)
            Parameter (name=learning_rate_group_0, shape=(), dtype=Float32, requires_grad=True)
        """
        of_type(param, (Parameter, list), "param", "get_lr_parameter")
        places = {id(p): i for i, p in enumerate(self.parameters)}
        rates = []
        for one in param if isinstance(param, list) else [param]:
            of_type(one, Parameter, "param", "get_lr_parameter")
            if id(one) not in places:
                raise ValueError(f"For 'get_lr_parameter', the parameter '{one.name}' is not among "
                                 f"this optimizer's.")
            rate = self.learning_rate[places[id(one)]] if self.is_group_lr else self.learning_rate
            wrapped = isinstance(rate, (_ConvertToCell, _IteratorLearningRate))
            rates.append(rate.learning_rate if wrapped else rate)
        return rates if isinstance(param, list) else rates[0]

    def flatten_gradients(self, gradients: Any) -> Any:
        """The gradients as they are: they need no flattening here."""
        return gradients

    def _grad_sparse_indices_deduplicate(self, gradients: Any) -> Any:
        """The gradients as they are: none has an index twice here."""
        return gradients

    def _is_dynamic_lr_or_weight_decay(self) -> bool:
        """Whether a schedule gives the learning rate or the decay, so that steps must be counted.

        Optimizers that derive from this ask before they add to `global_step`.
        """
        return self.dynamic_lr or self.dynamic_weight_decay

    def decay_weight(self, gradients: Any) -> Any:
        """The gradients with ``weight_decay * parameter`` added where it applies."""
        if not self.exec_weight_decay:
            return gradients
        decay = self.get_weight_decay()
        decays = decay if self.is_group else [decay] * self.param_length
        return tuple(
            wrap(g._raw + held(p) * d._raw.to(g._raw.dtype)) if flag else g for d, flag, p, g
            in zip(decays, self.decay_flags, self.parameters, gradients, strict=True))

    def gradients_centralization(self, gradients: Any) -> Any:
        """The gradients less their mean over all but the first dimension, where a group says so.

        As in MindSpore only those whose second dimension is a multiple of 16 (Yong et al. 2020).
        """
        if not self.is_group:
            return gradients
        return tuple(centralized(g) if flag else g for flag, g
                     in zip(self.grad_centralization_flags, gradients, strict=True))

    def scale_grad(self, gradients: Any) -> Any:
        """The gradients divided by the loss scale."""
        if not self.need_scale:
            return gradients
        scale = getattr(self.reciprocal_scale, "_raw", self.reciprocal_scale)
        return tuple(wrap(g._raw * scale) for g in gradients)

    def broadcast_params(self, optim_result: Any) -> Any:
        """The parameters, in a tuple for each device: each device holds all of them here."""
        return [tuple(self.parameters)]

    def construct(self, *hyper_params: Any) -> Any:
        """Update the parameters; subclasses define it."""
        raise NotImplementedError(f"'{type(self).__name__}' must define construct(gradients).")

    # -- the step of the built-in optimizers -----------------------------------------------------

    def check_gradients(self, gradients: Any) -> None:
        """Refuse gradients that don't fit the parameters, before a step changes anything.

        Raises:
            TypeError: if `gradients` is not a tuple or list of Tensors.
            ValueError: if their number or a shape is not that of the parameters.
        """
        name = type(self).__name__
        try:
            shapes = [g._raw.shape for g in gradients]
        except (TypeError, AttributeError):
            raise TypeError(f"For '{name}', the gradients must be a tuple of Tensors, one for each "
                            f"parameter, but got {describe(gradients)}.") from None
        if len(shapes) != self.param_length:
            raise ValueError(f"For '{name}', the gradients must be as many as the "
                             f"{self.param_length} parameters, but got {len(shapes)}.")
        for shape, p in zip(shapes, self.parameters, strict=True):
            if shape != p._data.shape and (p.gradient_of is None or shape != p.shape):
                raise ValueError(f"For '{name}', the gradient of parameter '{p.name}' must have "
                                 f"shape {p.shape}, but got {tuple(shape)}.")
        if state.level is not None and not self._is_function:
            cuts.stepped([g._raw for g in gradients], state.level, name)

    def update_by(self, rule: Callable[..., None], gradients: Any, *states: Any,
                  lr: Any = None, prepared: bool = False, **options: Any) -> tuple[bool, ...]:
        """Count the step and run ``rule(params, gradients, *states, lr=, decay=, **options)``.

        Args:
            rule: a rule of `update_rules`, called once for each group of parameters.
            gradients: a gradient for each parameter.
            *states: ParameterTuples, one Parameter for each parameter.
            lr: what to use for the learning rate; default `get_lr`.
            prepared: whether the gradients need no centralization and no scaling, and the rule
                itself understands a decay that is computed again in each step.
            **options: more arguments of the rule.

        Returns:
            True for each parameter.
        """
        self.check_gradients(gradients)
        gradients = spreading().fit(self, states, gradients)
        if states:
            self._fitting.check(type(self).__name__, self.parameters, states, self.state_shapes)
        rates = self.get_lr() if lr is None else lr
        with self._unrecorded(), off_tape(self.parameters):
            explicit = not prepared and self._is_explicit()
            if explicit:
                gradients = self.decay_weight(gradients)
                gradients = self.gradients_centralization(gradients)
                gradients = self.scale_grad(gradients)
            params = self.parameters
            raws = like_parameters(params, [g._raw for g in gradients])
            if self.need_scale and not (explicit or prepared):
                scale = self.reciprocal_scale
                raws = kernels._foreach_mul(raws, getattr(scale, "_raw", scale))
            dynamic = self.get_weight_decay() if prepared and self.dynamic_weight_decay else None
            self.global_step._data.add_(1)
            for group in self._groups(explicit):
                rate = rates[group.rate] if isinstance(rates, tuple) else rates
                decay: Any = group.decay
                if dynamic is not None and self.decay_flags[group.rate]:
                    decay = (dynamic[group.rate] if self.is_group else dynamic)._raw.reshape(())
                where = group.indices
                if where is None:
                    lists = [[p._data for p in s] for s in states]
                    mine, grads = [p._data for p in params], raws
                else:
                    lists = [[s[i]._data for i in where] for s in states]
                    mine, grads = [params[i]._data for i in where], [raws[i] for i in where]
                if mine[0].is_meta:  # of another stage
                    continue
                rule(mine, grads, *lists, lr=getattr(rate, "_raw", rate), decay=decay, **options)
                if self._is_function:
                    written((params, *states), (mine, *lists), where)
        return (True,) * self.param_length

    def _unrecorded(self) -> Any:  # no gradient goes through a step, unless it is a function
        return torch.set_grad_enabled(self._is_function and torch.is_grad_enabled())

    def state_shapes(self, parameter: Parameter) -> Shapes | None:
        """The shape of each state of `parameter`; None if all have its own."""
        return None

    def _is_explicit(self) -> bool:
        """Whether gradients must be changed one by one before the rule, which then has no decay."""
        if self.dynamic_weight_decay and self.exec_weight_decay:
            return True
        if self.is_group and any(self.grad_centralization_flags):
            return True
        kind = type(self)
        return not (kind.decay_weight is Optimizer.decay_weight
                    and kind.scale_grad is Optimizer.scale_grad
                    and kind.gradients_centralization is Optimizer.gradients_centralization)

    def _groups(self, explicit: bool) -> list[Group]:
        decays = None
        if self.exec_weight_decay and not explicit:
            decays = self._decays.of(self, "weight_decay")
        cause = (self.decay_flags, decays, self.weight_decay, self.loss_scale, self.parameters,
                 self.learning_rate)
        kept = self._grouping
        if kept.cause is None or any(a is not b for a, b in zip(kept.cause, cause, strict=True)):
            kept.cause, kept.groups = cause, self._new_groups(decays)
        return kept.groups

    def _new_groups(self, decays: tuple[Any, ...] | None) -> list[Group]:
        """The groups, by the numbers in `weight_decay`, or without a decay."""
        found: dict[Any, list[int]] = {}
        for i, parameter in enumerate(self.parameters):
            raw = parameter._data
            decay: Any = 0.0
            if decays is not None and self.decay_flags[i]:
                number = decays[i if self.is_group else 0]
                own = self.weight_decay[i] if self.is_group else self.weight_decay
                decay = id(own) if number is None else number / self.loss_scale
            rate = id(self.group_lr[i]) if self.is_group_lr else 0
            found.setdefault((raw.dtype, raw.device, rate, decay), []).append(i)
        return [Group(None if len(found) == 1 else tuple(indices), indices[0],
                       key[3] if isinstance(key[3], float) else 0.0)
                for key, indices in found.items()]


def _scalar(rate: Tensor) -> Tensor:
    return wrap(rate._raw.reshape(()))
