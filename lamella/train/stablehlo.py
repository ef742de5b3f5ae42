"""Functions as StableHLO, the language of XLA's compilers, in the form that `jax.export` reads."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.fx import GraphModule

from ..graph.guards.search import reachable_from
from ..graph.ir.operations import bases_of, written_by
from ..graph.passes import plain
from ..graph.runtime.compiled import Compiled
from ..graph.runtime.keys import raws_of
from ..graph.runtime.replay import Replay
from ..graph.tracing.results import New
from ..graph.tracing.undo import undone
from ..graph.xla.lowering import NotLowered
from ..graph.xla.lowering.graph import function_of
from ..graph.xla.rewriting import strided_from_bases, without_checks
from ..graph.xla.text import described
from ..machine.imports import without_draws

__all__ = ["stablehlo_of"]

PLATFORMS = ("cpu", "cuda", "tpu")


def stablehlo_of(fn: Callable[..., Any], args: Sequence[Any]) -> bytes:
    """A function of Tensors as StableHLO; the Tensors that it reads otherwise are constants of it.

    Args:
        fn: the function. It runs once, and its side effects are undone.
        args: examples of its arguments. The Tensors in them are the arguments there, in order; the
            results are those in what the function gives, in order.

    Raises:
        NotLowered: if the function does more than computing Tensors of Tensors, or has an operation
            that the table lacks.
        RuntimeError: if it can't be recorded.
    """
    compiled = Compiled(fn, fullgraph=True)
    with undone(reachable_from(fn, tuple(args), {})):
        compiled(*args)
        (replay,) = compiled.graphs(*args)
        _check_only_computes(replay)
        given = raws_of(tuple(args), {})
        values = replay.inputs.values(given, None)
        assert values is not None  # it was recorded with these
        text = _without_layouts(replay.execution.graph, values,
                                _results_in(replay.outputs.out_tree[0]))
        constants = [_array(raw) for raw in values[len(given):]]
    jax: Any = without_draws("jax")
    with jax.enable_x64(True):
        run = function_of(text)
        shapes = [jax.ShapeDtypeStruct(tuple(shape), dtype)
                  for shape, dtype in text["inputs"][:len(given)]]
        made = importlib.import_module("jax.export").export(
            jax.jit(lambda *arrays: run(*arrays, *constants), keep_unused=True),
            platforms=PLATFORMS)(*shapes)
        return bytes(made.serialize())


def _check_only_computes(replay: Replay) -> None:
    """Check that a recorded run has only made new Tensors."""
    execution, nodes = replay.execution, list(replay.execution.graph.graph.nodes)
    bases = bases_of(nodes)
    for does_more, what in (
            (execution.expected or replay.scalars, "reads values of Tensors"),
            (replay.fresh or execution.streams, "draws random numbers"),
            (any(base.op == "placeholder" for node in nodes for base in written_by(node, bases)),
             "changes Tensors that it was given, such as Parameters"),
            (not replay.outputs.only_gives or replay.outputs.assigns,
             "changes objects, or gives one that it was given")):
        if does_more:
            raise NotLowered(f"a function that {what}")


def _without_layouts(graph: GraphModule, values: list[torch.Tensor], wanted: list[int]
                     ) -> dict[str, Any]:
    """The description of a graph whose inputs and results lie in order, each an array of its own.

    Checks of factorizations are left out: what can't be computed is NaN or infinite.
    """
    graph = plain(graph)
    _copy_results(graph)
    checks = without_checks(graph)
    strided_from_bases(graph)
    found = described(graph, [x.resolve_conj().resolve_neg().contiguous() for x in values], checks)
    results = [[found["results"][i][0], [], None, None] for i in wanted]
    return {**found, "results": results, "packs": [[i] for i in range(len(results))],
            "checks": [], "flag": None}


def _copy_results(graph: GraphModule) -> None:
    """Let no result share memory with an input or another result: only values count."""
    end = next(iter(reversed(graph.graph.nodes)))
    with graph.graph.inserting_before(end):
        copies = [graph.graph.call_function(torch.ops.aten.clone.default, (node,))
                  for node in end.args[0]]
    end.args = (copies,)
    graph.recompile()


def _results_in(tree: Any) -> list[int]:
    """The numbers of the results in the description of what a function gives."""
    if type(tree) is New and not tree.own:
        return [tree.number]
    if isinstance(tree, (tuple, list)):
        return [number for part in tree for number in _results_in(part)]
    if isinstance(tree, dict):
        return [number for part in tree.values() for number in _results_in(part)]
    raise NotLowered("a result that is no new Tensor, nor a tuple, list or dict of some")


def _array(raw: torch.Tensor) -> np.ndarray:
    raw = raw.detach().cpu().resolve_conj().resolve_neg().contiguous()
    if raw.dtype is torch.bfloat16:
        kind = importlib.import_module("ml_dtypes").bfloat16
        return raw.view(torch.int16).numpy().view(kind).copy()
    return raw.numpy().copy()
