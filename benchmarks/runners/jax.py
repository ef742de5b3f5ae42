"""JAX: the whole step under `jax.jit`, the old parameters' memory given to the new ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from ..workload import LeftOut, Step, Workload


def prepare(threads: int, device: str) -> None:
    """Before anything is measured, in a process of its own."""
    jax.config.update("jax_default_matmul_precision", "highest")  # no TF32, as for the others
    platform = "gpu" if device == "cuda" else "cpu"
    try:
        jax.config.update("jax_default_device", jax.devices(platform)[0])
    except RuntimeError:
        raise LeftOut("this build of JAX has no GPU") from None


def build(workload: Workload, contestant: str, device: str, weights: list[np.ndarray],
          data: list[np.ndarray]) -> Step:
    program = workload.written_in("jax")
    if hasattr(program, "inputs"):
        data = program.inputs(*data)
    inputs = [jnp.asarray(x) for x in data]
    params, state = program.model(iter(weights)) if weights else (None, None)
    if workload.does == "train":
        run = _training(program, params, state, inputs, workload.precision)
    else:
        function = jax.jit(getattr(program, workload.does))
        model = params if state is None else (params, state)
        run = functools.partial(function, model, *inputs)

    def memory() -> int:
        return jax.devices()[0].memory_stats()["peak_bytes_in_use"]

    return Step(run, jax.block_until_ready, lambda result: np.asarray(result, np.float32),
                device_memory=memory if device == "cuda" else None)


def _training(program: Any, params: Any, state: Any, inputs: list[jax.Array],
              precision: str) -> Callable[[], jax.Array]:
    first, update = program.optimizer
    moments = first(params)
    low = precision == "bfloat16"

    def lowered(tree: Any) -> Any:
        if not low:
            return tree
        return jax.tree.map(lambda x: x.astype(jnp.bfloat16) if x.dtype == jnp.float32 else x, tree)

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
    def step(params: Any, state: Any, moments: Any, *inputs: jax.Array) -> Any:
        def loss(params: Any) -> Any:
            return program.loss(lowered(params), state, *lowered(inputs))

        (value, state), gradients = jax.value_and_grad(loss, has_aux=True)(params)
        params, moments = update(params, gradients, moments)
        return value, params, state, moments

    def run() -> jax.Array:
        nonlocal params, state, moments
        value, params, state, moments = step(params, state, moments, *inputs)
        return value

    return run
