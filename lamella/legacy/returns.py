"""Primitives of reinforcement learning: weights copied at once, and discounted returns."""

from __future__ import annotations

from typing import Any

import torch

from ..core.require import boolean, of_type, within
from ..ops.arguments import require, typed
from ..ops.assign import assign
from ..ops.primitive import Primitive
from ..tensors.tensor import Tensor, wrap

__all__ = ["BatchAssign", "DiscountedReturn"]


class BatchAssign(Primitive):
    """Gives the Parameters of one tuple the values of another's.

    Args:
        lock: accepted for the graph's sake.

    Inputs:
        - **dst_model** - a tuple of Parameters.
        - **source_model** - a tuple of Parameters or Tensors of the same shapes and types.

    Raises:
        ValueError: if the numbers of Parameters or their shapes differ.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.returns import BatchAssign
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> BatchAssign()((w,), (ms.Tensor([2.0]),))
        >>> print(w.value())
        [2.]
    """

    def __init__(self, lock: bool = True):
        super().__init__("BatchAssign")
        self.add_prim_attr("lock", boolean(lock, "lock", self.name))

    def __call__(self, dst_model: Any, source_model: Any) -> None:
        for what, value in (("dst_model", dst_model), ("source_model", source_model)):
            of_type(value, (tuple, list), what, self.name)
        require(len(dst_model) == len(source_model), ValueError,
                f"For '{self.name}', 'dst_model' and 'source_model' must have as many Parameters, "
                f"but got {len(dst_model)} and {len(source_model)}.")
        for old, new in zip(dst_model, source_model, strict=True):
            assign(old, new)


class DiscountedReturn(Primitive):
    """At each step the reward and gamma times what follows it in its episode.

    Args:
        gamma: above 0, at most 1.

    Inputs:
        - **reward** - Tensor (T, N, ...) of float16 or float32.
        - **done** - Tensor (T, N, ...) of bool: where an episode ends.
        - **last_state_value** - Tensor (N, ...): the value of what follows the last step.

    Outputs:
        Tensor of the shape of `reward`, with gradients.

    Raises:
        TypeError: if a type differs.
        ValueError: if `gamma` is out of range, or shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.returns import DiscountedReturn
        >>> reward, done = ms.ops.ones((3, 1)), ms.Tensor([[False], [True], [False]])
        >>> print(DiscountedReturn(0.5)(reward, done, ms.Tensor([4.0])).asnumpy().ravel())
        [1.5 1.  3. ]
    """

    def __init__(self, gamma: float):
        super().__init__("DiscountedReturn")
        self.add_prim_attr("gamma", within(gamma, 0, 1, "(]", "gamma", self.name))

    def __call__(self, reward: Tensor, done: Tensor, last_state_value: Tensor) -> Tensor:
        kinds = (torch.float16, torch.float32)
        rewards = typed(reward, self.name, "reward", kinds)
        after = typed(last_state_value, self.name, "last_state_value", (rewards.dtype,))
        ends = typed(done, self.name, "done", (torch.bool,))
        require(rewards.dim() > 0 and rewards.dim() == ends.dim()
                and rewards.shape[0] == ends.shape[0], ValueError,
                f"For '{self.name}', 'reward' and 'done' must have as many dimensions and steps, "
                f"but got shapes {reward.shape} and {done.shape}.")
        require(rewards.shape[1:] == after.shape, ValueError,
                f"For '{self.name}', 'last_state_value' must have the shape "
                f"{reward.shape[1:]}, but got {last_state_value.shape}.")
        found = []
        for step in reversed(range(rewards.shape[0])):
            after = rewards[step] + self.gamma * after * ~ends[step]
            found.append(after)
        return wrap(torch.stack(found[::-1]) if found else rewards)
