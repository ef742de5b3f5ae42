"""Cells that add a loss, gradients or an optimizer to a network."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...autodiff.level import current
from ...autodiff.reverse import GradOperation, differentiate
from ...autodiff.run import record
from ...autodiff.tree import map_tensors, tensors
from ...communication import exchange
from ...communication.groups import group_of
from ...communication.settings import get_auto_parallel_context
from ...core.spreading import as_whole, spreading
from ...tensors.parameter import Parameter, ParameterTuple
from ...tensors.tensor import Tensor, wrap
from ..cell import Cell
from ..checks import of_type
from .grad_reducer import DistributedGradReducer

__all__ = ["ForwardValueAndGrad", "ParameterUpdate", "TrainOneStepCell",
           "VirtualDatasetCellTriple", "WithEvalCell", "WithGradCell", "WithLossCell"]


class WithLossCell(Cell):
    """A network followed by a loss.

    Args:
        backbone: the network.
        loss_fn: the loss, called with the network's output and the label.

    Inputs:
        - **data** - what the network takes.
        - **label** - the label.

    Outputs:
        The loss.

    Examples:
        >>> import lamella as ms
        >>> class Twice(ms.nn.Cell):
        ...     def construct(self, x):
        ...         return x * 2
        >>> net = ms.nn.WithLossCell(Twice(), lambda out, label: (out - label).abs())
        >>> print(net(ms.Tensor(3.0), ms.Tensor(5.0)))
        1.0
    """

    def __init__(self, backbone: Any, loss_fn: Any):
        super().__init__(auto_prefix=False)
        self._backbone = backbone
        self._loss_fn = loss_fn

    def construct(self, data: Any, label: Any) -> Any:
        """The loss of the network's output for `data`."""
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self) -> Any:
        """The network."""
        return self._backbone


class WithGradCell(Cell):
    """The gradients of a network's loss by its trainable parameters.

    Args:
        network: the network.
        loss_fn: the loss; None if the network gives it itself.
        sens: the gradient of the loss to start from; default ones.

    Inputs:
        Those of the network, and the label if there is a `loss_fn`.

    Outputs:
        A tuple of gradients, one for each trainable parameter.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Dense(1, 1, weight_init="ones")
        >>> gradients = ms.nn.WithGradCell(net, lambda out, label: (out - label).sum())
        >>> print(gradients(ms.Tensor([[3.0]]), ms.Tensor([[1.0]]))[0])
        [[3.]]
    """

    def __init__(self, network: Cell, loss_fn: Any = None, sens: Any = None):
        super().__init__(auto_prefix=False)
        self.network = network
        self.loss_fn = loss_fn
        self.weights = ParameterTuple(network.trainable_params())
        self.grad = GradOperation(get_by_list=True, sens_param=sens is not None)
        self.sens = sens
        self.network_with_loss = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.network_with_loss.set_train()

    def construct(self, *inputs: Any) -> Any:
        """The gradients."""
        given = inputs if self.sens is None else (*inputs, self.sens)
        return self.grad(self.network_with_loss, self.weights)(*given)


class ForwardValueAndGrad(Cell):
    """What a network gives, and its gradients.

    Args:
        network: a Cell or function.
        weights: the Parameters to differentiate by, with `get_by_list`.
        get_all: differentiate by all inputs.
        get_by_list: differentiate by `weights`.
        sens_param: the last input is the gradient of the output to start from.

    Inputs:
        Those of the network, and that gradient.

    Outputs:
        A pair: what the network gives, and gradients in the form of `ops.GradOperation`.

    Raises:
        TypeError: if an argument is of the wrong type.

    Examples:
        >>> import lamella as ms
        >>> run = ms.nn.ForwardValueAndGrad(lambda x: x * x, get_all=True)
        >>> value, gradients = run(ms.Tensor(3.0))
        >>> print(value, gradients[0])
        9.0 6.0
    """

    def __init__(self, network: Any, weights: Any = None, get_all: bool = False,
                 get_by_list: bool = False, sens_param: bool = False):
        super().__init__(auto_prefix=False)
        if not callable(network):
            raise TypeError(f"For 'ForwardValueAndGrad', 'network' must be a Cell or a function, "
                            f"but got {type(network).__name__}.")
        of_type(get_all, bool, "get_all", "ForwardValueAndGrad")
        of_type(get_by_list, bool, "get_by_list", "ForwardValueAndGrad")
        of_type(sens_param, bool, "sens_param", "ForwardValueAndGrad")
        if get_by_list:
            of_type(weights, (tuple, list), "weights", "ForwardValueAndGrad")
        self.network = network
        if isinstance(network, Cell):
            network.set_grad()
        self.weights = weights
        self.get_all = get_all
        self.get_by_list = get_by_list
        self.sens_param = sens_param
        self.grad = GradOperation(get_all, get_by_list, sens_param)

    def construct(self, *inputs: Any) -> tuple[Any, Any]:
        """The value and the gradients."""
        inputs, sens = (inputs[:-1], inputs[-1]) if self.sens_param else (inputs, None)
        positions: tuple[int, ...] = ()
        if self.get_all:
            positions = tuple(i for i, x in enumerate(inputs) if next(tensors(x), None) is not None)
        elif not self.get_by_list:
            positions = (0,)
        weights = tuple(self.weights) if self.get_by_list else ()
        value, by_inputs, by_weights = differentiate(self.network, inputs, {}, positions, weights,
                                                     sens=sens)
        own: Any = tuple(by_inputs) if self.get_all else by_inputs[0] if by_inputs else None
        if not self.get_by_list:
            return value, own
        return value, (own, tuple(by_weights)) if self.get_all else tuple(by_weights)


def loss_and_gradients(network: Callable[..., Any], inputs: tuple, weights: Any,
                       start: Callable[[Any], Any] | None = None,
                       reducer: Any = None) -> tuple[Any, tuple[Tensor, ...]]:
    """What `network` gives and its gradients by `weights`, in one run.

    Args:
        start: makes the gradient to start from out of what the network gave; default ones.
        reducer: what adds up the gradients of several processes; default: nothing does.
    """
    outer = current()
    network = spreading().trained(network, "TrainOneStepCell", start)
    run = record(network, inputs, {}, tuple(), tuple(weights), outer)
    sens = None if start is None else start(run.value)
    reduction = None
    if isinstance(reducer, DistributedGradReducer) and outer is None:
        reduction = reducer.begin([None if w.gradient_of is not None else w._raw for w in weights])
    if reduction is None:
        gradients = tuple(run.backward(run.value, sens))
        if reducer is not None:
            gradients = reducer(gradients)
    else:
        # a gradient that comes in several pieces, or is scattered, isn't complete before the end
        early = not any(run.level.assigned.values()) and not run.special
        for place, alias in enumerate(run.aliases if early else ()):
            if alias.requires_grad:
                alias.register_hook(partial(reduction.ready, place))
        raws = [gradient._raw for gradient in run.backward(run.value, sens)]
        gradients = tuple([wrap(raw) for raw in as_whole(reduction.finish(raws))])
    loss = run.value
    if outer is None:
        loss = map_tensors(lambda t: wrap(t._raw.detach()), loss)
    return loss, gradients


class Identity(Cell):
    """The reducer of gradients in a world of one process: returns them unchanged."""

    def construct(self, x: Any) -> Any:
        """`x`."""
        return x


class TrainOneStepCell(Cell):
    """One step of training: loss, gradients, update.

    Args:
        network: the network with its loss.
        optimizer: the optimizer.
        sens: the gradient of the loss to start from; default 1.
        return_grad: whether to give the gradients too.

    Inputs:
        Those of the network.

    Outputs:
        The loss before the update; with `return_grad` also a dict of gradients by parameter name.

    Raises:
        ValueError: if `sens` is 0.

    Examples:
        >>> import lamella as ms
        >>> class Square(ms.nn.Cell):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.w = ms.Parameter(ms.Tensor(3.0), name="w")
        ...     def construct(self, x):
        ...         return (self.w * x) ** 2
        >>> net = Square()
        >>> step = ms.nn.TrainOneStepCell(net, ms.nn.SGD(net.trainable_params(), 0.5))
        >>> print(step(ms.Tensor(1.0)), net.w.value())
        9.0 0.0
    """

    def __init__(self, network: Any, optimizer: Any, sens: Any = None, return_grad: bool = False):
        super().__init__(auto_prefix=False)
        if isinstance(sens, (int, float)) and sens == 0:
            raise ValueError("For 'TrainOneStepCell', 'sens' must not be 0.")
        for what, given, need in (("network", network, "set_grad"),
                                  ("optimizer", optimizer, "parameters")):
            if not hasattr(given, need):
                raise TypeError(f"For 'TrainOneStepCell', '{what}' must be a Cell with "
                                f"'{need}', but got {given!r} of type {type(given).__name__}.")
        self.network = network
        self.network.set_grad()
        self.optimizer = optimizer
        self.weights = optimizer.parameters
        self.grad = GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens = GradOperation(get_by_list=True)
        self.sense_flag = sens is not None
        self.sens = 1.0 if sens is None else sens
        self.return_grad = return_grad
        if return_grad:
            self.weights_name = [p.name for p in self.weights]
        self.parallel_mode = get_auto_parallel_context("parallel_mode")
        self.reducer_flag = self.parallel_mode in ("data_parallel", "hybrid_parallel")
        self.grad_reducer: Any = Identity()
        if self.reducer_flag:
            self.grad_reducer = DistributedGradReducer(self.weights)
        self._starts_alike = self.reducer_flag and get_auto_parallel_context("parameter_broadcast")
        self.use_graceful_exit = False  # subclasses ask; `OnRequestExit` alone ends a run here

    def start_alike(self) -> None:
        """With the option ``parameter_broadcast``, begin with the parameters of process 0."""
        if not self._starts_alike:
            return
        self._starts_alike = False
        world = group_of(None, "TrainOneStepCell")
        for parameter in self.network.get_parameters():
            parameter.assign_raw(exchange.broadcast("TrainOneStepCell", parameter._raw, 0, world))

    def construct(self, *inputs: Any) -> Any:
        """Train on `inputs`."""
        self.start_alike()
        start = self._start if self.sense_flag else None
        loss, grads = loss_and_gradients(self.network, inputs, self.weights, start,
                                         self.grad_reducer)
        self.optimizer(grads)
        if self.return_grad:
            return loss, dict(zip(self.weights_name, grads, strict=True))
        return loss

    def _start(self, loss: Any) -> Any:
        sens = self.sens._raw if isinstance(self.sens, Tensor) else self.sens
        return map_tensors(lambda t: wrap(t._raw.detach().new_ones(t.shape) * sens), loss)


class WithEvalCell(Cell):
    """A network for evaluation, with its loss.

    Args:
        network: the network.
        loss_fn: the loss.
        add_cast_fp32: whether to convert output and label to float32 first.

    Inputs:
        - **data** - what the network takes.
        - **label** - the label.

    Outputs:
        A tuple: the loss, the network's output, the label.

    Examples:
        >>> import lamella as ms
        >>> class Twice(ms.nn.Cell):
        ...     def construct(self, x):
        ...         return x * 2
        >>> net = ms.nn.WithEvalCell(Twice(), lambda out, label: out - label)
        >>> print(*net(ms.Tensor(3.0), ms.Tensor(5.0)))
        1.0 6.0 5.0
    """

    def __init__(self, network: Any, loss_fn: Any, add_cast_fp32: bool = False):
        super().__init__(auto_prefix=False)
        of_type(add_cast_fp32, bool, "add_cast_fp32", "WithEvalCell")
        self._network = network
        self._loss_fn = loss_fn
        self.add_cast_fp32 = add_cast_fp32

    def construct(self, data: Any, label: Any) -> tuple[Any, Any, Any]:
        """Loss, output and label."""
        outputs = self._network(data)
        if self.add_cast_fp32:
            outputs, label = map_tensors(_to_float32, outputs), map_tensors(_to_float32, label)
        return self._loss_fn(outputs, label), outputs, label


def _to_float32(tensor: Tensor) -> Tensor:
    raw = tensor._raw
    return wrap(raw.float()) if raw.is_floating_point() else tensor


class ParameterUpdate(Cell):
    """Sets a Parameter by hand.

    Args:
        param: the Parameter.

    Inputs:
        - **x** - the new data, of the Parameter's shape.

    Outputs:
        `x`.

    Raises:
        TypeError: if `param` is no Parameter.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.ParameterUpdate(w)(ms.Tensor([5.0]))
        >>> print(w.value())
        [5.]
    """

    def __init__(self, param: Parameter):
        super().__init__(auto_prefix=False)
        of_type(param, Parameter, "param", "ParameterUpdate")
        self._param = param

    def construct(self, x: Tensor) -> Tensor:
        """Set the Parameter to `x`."""
        self._param.set_data(x)
        return x


class _VirtualDatasetCell(Cell):
    """The network itself: inputs need no splitting in one process."""

    def __init__(self, backbone: Any):
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, *inputs: Any) -> Any:
        """The network's output."""
        return self._backbone(*inputs)


class VirtualDatasetCellTriple(_VirtualDatasetCell):
    """A network of three inputs, which it gets as they are.

    Args:
        backbone: the network.

    Examples:
        >>> import lamella as ms
        >>> class Sum(ms.nn.Cell):
        ...     def construct(self, a, b, c):
        ...         return a + b + c
        >>> one = ms.Tensor(1.0)
        >>> print(ms.nn.VirtualDatasetCellTriple(Sum())(one, one, one))
        3.0
    """
