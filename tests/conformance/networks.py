"""Networks that cases call, here because MindSpore rewrites the source of a file only."""

import sys
from typing import Any

ms: Any = sys.modules.get("mindspore") or sys.modules["lamella"]
nn, ops = ms.nn, ms.ops
SEEN: list[Any] = []


class Net(nn.Cell):
    """Two layers with something between them; the types of what each gives are in `SEEN`."""

    def __init__(self, norm: Any, activation: Any):
        super().__init__()
        self.a = nn.Dense(4, 4)
        self.b = norm
        self.c = nn.Dense(4, 3)
        self.activation = activation

    def construct(self, x: Any) -> Any:
        """Numbers in three columns."""
        x = self.a(x)
        see(x)
        x = self.b(x)
        see(x)
        x = self.activation(x)
        see(x)
        x = self.c(x)
        see(x)
        return x


class Loss(nn.Cell):
    """A network whose result is a loss."""

    def __init__(self, net: Any):
        super().__init__()
        self.net = net

    def construct(self, x: Any) -> Any:
        """The sum of squares."""
        x = self.net(x)
        return ops.reduce_sum(x * x)


def see(x: Any) -> None:
    """Note the type of a Tensor."""
    SEEN.append(x.dtype)


def halved(tensors: Any) -> Any:
    """Tensors in float16, in which both frameworks compute alike."""
    if isinstance(tensors, (tuple, list)):
        return [halved(t) for t in tensors]
    return (tensors.value() if isinstance(tensors, ms.Parameter) else tensors).astype(ms.float16)


def result_of(net: Any, x: Any) -> list[Any]:
    """The type of the result, and what it is about."""
    y = net(x)
    return [y.dtype, y.astype(ms.float16)]


def types_of(net: Any, x: Any) -> list[Any]:
    """The type of the result, what it is about, and the types in between."""
    SEEN.clear()
    return [*result_of(net, x), [str(t).lower().split(".")[-1] for t in SEEN]]
