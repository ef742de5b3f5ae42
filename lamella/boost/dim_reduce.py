"""Quasi-Newton steps in a small subspace, found from earlier trainings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..communication import exchange
from ..communication.groups import group_of
from ..core.context import current_device
from ..nn.cell import Cell
from ..tensors.parameter import Parameter, ParameterTuple
from ..tensors.tensor import Tensor, wrap

__all__ = ["DimReduce"]

_SEARCHES = 2
_CURVATURE = 1e-20


class DimReduce(Cell):
    """A step of a quasi-Newton method (BFGS) in the space of principal components, and of gradient
    descent with momentum outside of it.

    With ``g = P grad``, the direction ``d = -B g`` and ``s = rho^m d``, where m is the first of 0
    and 1 for which the loss falls below ``loss + sigma g s`` (s is 0 if neither does), what the
    optimizer gets is ``alpha momentum - Pᵀ s``; the momentum is ``gamma momentum + grad - Pᵀ g``.

    Args:
        network: the network with its loss.
        optimizer: one that subtracts what it gets, such as SGD with a learning rate of 1.
        weight: the Parameters.
        pca_mat_local: the rows of P that this process has, an array.
        n_components: how many rows P has.
        rho, gamma, alpha, sigma: see above.
        rank, rank_size: this process, and how many share P.

    Inputs:
        - **loss** - the loss before the step.
        - **old_grad** - the gradients.
        - **loss_scale** - what they are to be divided by.
        - **weight** - the Parameters, which are changed.
        - **weight_clone** - Parameters that hold the same, before and after.
        - **\\*inputs** - those of the network.

    Outputs:
        `loss`.

    Raises:
        ValueError: if `pca_mat_local` doesn't have a column for each weight.

    Examples:
        >>> import numpy as np
        >>> import lamella as ms
        >>> class Bowl(ms.nn.Cell):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.w = ms.Parameter(ms.Tensor([3.0, 2.0]), name="w")
        ...     def construct(self):
        ...         return 0.5 * (self.w ** 2).sum()
        >>> net = Bowl()
        >>> weights, optimizer = ms.ParameterTuple([net.w]), ms.nn.SGD([net.w], 1.0)
        >>> step = ms.boost.DimReduce(net, optimizer, weights, np.array([[1.0, 0.0]]), 1, 0.5, 0.9,
        ...                           0.1, 0.4, 0, 1)
        >>> _ = step(net(), (net.w.value(),), 1.0, weights, weights.clone("before"))
        >>> print(net.w.value())  # the minimum along the first axis, a step of 0.1 along the other
        [0.  1.8]
    """

    def __init__(self, network: Cell, optimizer: Any, weight: Sequence[Parameter],
                 pca_mat_local: np.ndarray, n_components: int, rho: float, gamma: float,
                 alpha: float, sigma: float, rank: int, rank_size: int):
        super().__init__(auto_prefix=False)
        self.network, self.optimizer = network, optimizer
        self.gamma, self.alpha, self.sigma = gamma, alpha, sigma
        self.rank, self.rank_size, self.n_components = rank, rank_size, n_components
        self.rho_list = [float(rho) ** time for time in range(_SEARCHES)]
        self._sizes = [parameter.size for parameter in weight]
        if pca_mat_local.ndim != 2 or pca_mat_local.shape[1] != sum(self._sizes):
            raise ValueError(f"For 'DimReduce', 'pca_mat_local' must have {sum(self._sizes)} "
                             f"columns, one for each weight, but got shape "
                             f"{pca_mat_local.shape}.")
        self._rows = torch.tensor(np.asarray(pca_mat_local), dtype=torch.float32,
                                  device=current_device())

        def state(name: str, array: Any) -> Parameter:
            return Parameter(Tensor(array), name=name, requires_grad=False)

        self.bk = state("bk", np.eye(n_components, dtype=np.float32))
        self.gk_last = state("gk_last", np.zeros(n_components, np.float32))
        self.sk = state("sk", np.zeros(n_components, np.float32))
        self.gk_last_init = state("gk_last_init", np.array(False))
        self.grad_res_momentum = ParameterTuple(weight).clone("grad_res_momentum", "zeros")

    def construct(self, loss: Tensor, old_grad: Sequence[Tensor], loss_scale: Any,
                  weight: Sequence[Parameter], weight_clone: Sequence[Parameter],
                  *inputs: Any) -> Tensor:
        """Take a step."""
        scale = loss_scale._raw.reshape(-1)[0] if isinstance(loss_scale, Tensor) else loss_scale
        with torch.no_grad():
            gradient = torch.cat([g._raw.float().reshape(-1) for g in old_grad]) / scale
            old_loss = self._mean(loss)
            gk = self._projected(gradient)
            kept = self.bk._raw.clone(), self.gk_last._raw.clone()
            dk = -self._curved(gk) @ gk
            step = self._back(dk)
        rho = next((rho for rho in self.rho_list if self._is_good(
            rho, step, old_loss + self.sigma * rho * float(gk @ dk), weight, weight_clone,
            inputs)), 0.0)
        with torch.no_grad():
            if rho:
                self.sk.assign_raw(rho * dk)
            else:
                self.bk.assign_raw(kept[0])
                self.gk_last.assign_raw(kept[1])
            rest = gradient - self._back(gk)
            self._update(rest, rho * step, weight, weight_clone)
        return loss

    def _mean(self, loss: Tensor) -> float:
        raw = loss._raw.detach().float().mean()
        if self.rank_size > 1:
            raw = exchange.all_reduce("DimReduce", raw, "sum", self._world()) / self.rank_size
        return float(raw)

    def _world(self) -> Any:
        return group_of(None, "DimReduce")

    def _projected(self, vector: torch.Tensor) -> torch.Tensor:
        """P times a vector."""
        found = self._rows @ vector
        if self.rank_size > 1:
            found = exchange.all_gather("DimReduce", found, self._world()).reshape(-1)
        return found[:self.n_components]

    def _back(self, numbers: torch.Tensor) -> torch.Tensor:
        """The transpose of P times a vector."""
        each = len(self._rows)
        mine = numbers[self.rank * each:(self.rank + 1) * each]
        found = self._rows[:len(mine)].T @ mine
        if self.rank_size > 1:
            found = exchange.all_reduce("DimReduce", found, "sum", self._world())
        return found

    def _curved(self, gk: torch.Tensor) -> torch.Tensor:
        """The inverse Hessian after this gradient, by BFGS (Nocedal and Wright, 2006, 6.17)."""
        bk, sk = self.bk._raw, self.sk._raw
        yk = gk - self.gk_last._raw
        curvature = yk @ sk
        if bool(self.gk_last_init._raw) and float(curvature) > _CURVATURE:
            turn = torch.eye(len(gk), device=gk.device) - torch.outer(yk, sk) / curvature
            bk = turn.T @ bk @ turn + torch.outer(sk, sk) / curvature
            self.bk.assign_raw(bk)
        self.gk_last_init.assign_raw(torch.ones_like(self.gk_last_init._raw))
        self.gk_last.assign_raw(gk)
        return bk

    def _split(self, flat: torch.Tensor, weight: Sequence[Parameter]) -> tuple[Tensor, ...]:
        return tuple([wrap(part.reshape(w.shape).to(w._raw.dtype))
                      for part, w in zip(flat.split(self._sizes), weight, strict=True)])

    def _is_good(self, rho: float, step: torch.Tensor, limit: float, weight: Sequence[Parameter],
                 weight_clone: Sequence[Parameter], inputs: tuple[Any, ...]) -> bool:
        """Whether the loss is below a limit after a step, which is taken back."""
        self.optimizer(self._split(-rho * step, weight))
        found = self._mean(self.network(*inputs))
        for parameter, before in zip(weight, weight_clone, strict=True):
            parameter.assign_raw(before._raw.clone())
        return found < limit

    def _update(self, rest: torch.Tensor, step: torch.Tensor, weight: Sequence[Parameter],
                weight_clone: Sequence[Parameter]) -> None:
        moved = []
        for momentum, part in zip(self.grad_res_momentum, rest.split(self._sizes), strict=True):
            new = self.gamma * momentum._raw.float() + part.reshape(momentum.shape)
            momentum.assign_raw(new.to(momentum._raw.dtype))
            moved.append(new.reshape(-1))
        self.optimizer(self._split(self.alpha * torch.cat(moved) - step, weight))
        for parameter, kept in zip(weight, weight_clone, strict=True):
            kept.assign_raw(parameter._raw.clone())
