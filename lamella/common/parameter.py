"""`common.parameter`: Parameter, ParameterTuple and the buffers that a Cell may be given."""

from typing import Any

from ..core.require import of_type
from ..tensors.parameter import Parameter, ParameterTuple
from ..tensors.parameter import is_generated_name as _is_generated_name
from ..tensors.tensor import Tensor, wrap

__all__ = ["Parameter", "ParameterTuple"]


class _BufferKind(type(Tensor)):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class _Buffer(Tensor, metaclass=_BufferKind):
    """A Tensor that a Cell registers as its buffer when it is set as an attribute.

    Args:
        data: its values; gradients don't flow through it.
        persistent: whether it is part of the Cell's `state_dict`.

    Raises:
        ValueError: if `data` is None.
        TypeError: if it is no Tensor.

    Examples:
        >>> import lamella as ms
        >>> class Shift(ms.nn.Cell):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.by = _Buffer(ms.Tensor([1.0]))
        >>> [name for name, _ in Shift().named_buffers()]
        ['by']
    """

    def __new__(cls, data: Any, *, persistent: bool = True) -> Any:
        """A plain Tensor that is marked as a buffer."""
        if data is None:
            raise ValueError("For '_Buffer', 'data' must be a Tensor, but got None.")
        of_type(data, Tensor, "data", "_Buffer")
        marked = wrap(data._raw.detach())
        marked.__dict__.update(_is_buffer=True, persistent=persistent)
        return marked


def _is_parameter_generated(param_name: Any) -> bool:
    """Whether a Parameter's name was made up because none was given."""
    return isinstance(param_name, str) and _is_generated_name(param_name)
