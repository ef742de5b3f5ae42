"""GraphCell: a network that was read from a file, as a Cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor
from .cell import Cell

__all__ = ["Graph", "GraphCell"]


class Graph:
    """What `load` has read: a function and the Parameters that it reads.

    Attributes:
        program: the function, of the Parameters and a tuple of the inputs.
        parameters: the Parameters.
    """

    def __init__(self, program: Callable[[list[Parameter], tuple[Any, ...]], Any],
                 parameters: list[Parameter]):
        self.program, self.parameters = program, parameters

    def __call__(self, *inputs: Any) -> Any:
        """The network's output for `inputs`."""
        return self.program(self.parameters, inputs)


class GraphCell(Cell):
    """A network that `load` has read from a file; it can be run and trained.

    It has the mode, training or not, that the network had when it was exported.

    Args:
        graph: what `load` gave.
        params_init: other values for Parameters, by name.
        obf_random_seed: accepted as MindSpore does; there is no obfuscation, so it must be None.

    Inputs:
        Those of the network.

    Outputs:
        Those of the network.

    Raises:
        TypeError: if `graph` or `params_init` is of the wrong type.
        ValueError: if `params_init` has an unknown name or a value of another shape.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> net = ms.nn.Dense(2, 1, weight_init="ones", has_bias=False)
        >>> path = os.path.join(tempfile.mkdtemp(), "net.mindir")
        >>> x = ms.Tensor([[1.0, 2.0]])
        >>> ms.export(net, x, file_name=path, file_format="MINDIR")
        >>> print(ms.nn.GraphCell(ms.load(path))(x))
        [[3.]]
    """

    def __init__(self, graph: Graph, params_init: Mapping[str, Any] | None = None,
                 obf_random_seed: int | None = None):
        super().__init__(auto_prefix=False)
        if not isinstance(graph, Graph):
            raise TypeError(f"For 'GraphCell', 'graph' must be what 'load' gave, "
                            f"but got {type(graph).__name__}.")
        if obf_random_seed is not None:
            raise ValueError("For 'GraphCell', 'obf_random_seed' must be None: there is no "
                             "obfuscation.")
        given = {} if params_init is None else params_init
        if not isinstance(given, Mapping):
            raise TypeError(f"For 'GraphCell', 'params_init' must be a dict, "
                            f"but got {type(given).__name__}.")
        known = {parameter.name: parameter for parameter in graph.parameters}
        for name, value in given.items():
            if name not in known:
                raise ValueError(f"For 'GraphCell', 'params_init' has {name!r}, which is none of "
                                 f"the parameters {sorted(known)}.")
            if not isinstance(value, Tensor):
                raise TypeError(f"For 'GraphCell', 'params_init' must hold Tensors or Parameters, "
                                f"but got {name!r}: {type(value).__name__}.")
            known[name].set_data(value)
        self.graph = graph
        for parameter in graph.parameters:
            self.insert_param_to_cell(parameter.name.replace(".", "_"), parameter,
                                      check_name_contain_dot=False)

    def construct(self, *inputs: Any) -> Any:
        """The network's output."""
        return self.graph(*inputs)
