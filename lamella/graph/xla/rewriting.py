"""Rewritings of a graph before it is described: checks and memory layouts that XLA doesn't know."""

from __future__ import annotations

import operator
from collections.abc import Iterable

import torch
from torch.fx import GraphModule, Node

from ..ir.operations import bases_of
from .lowering import NotLowered

# where matrix factorizations tell whether they have succeeded
SUCCESS = {"linalg_inv_ex": 1, "linalg_cholesky_ex": 1, "linalg_lu_factor_ex": 2,
           "_linalg_solve_ex": 3}


def needs_rewriting(nodes: Iterable[Node]) -> bool:
    """Whether `without_checks` or `strided_from_bases` would change a graph of these nodes."""
    return any(_is_check(node) or is_strided(node) for node in nodes)


def without_checks(graph: GraphModule) -> int:
    """Take the checks of matrix factorizations out of a graph; what they check become its last
    results.

    Returns:
        How many those are.

    Raises:
        NotLowered: if anything else reads what is checked.
    """
    nodes = list(graph.graph.nodes)
    for node in nodes:
        place = SUCCESS.get(str(node.target).removeprefix("aten.").removesuffix(".default"))
        for part in node.users if place is not None else ():
            if part.target is operator.getitem and part.args[1] == place and not all(
                    _is_check(user) for user in part.users):
                raise NotLowered(f"the success of {node.target} as a value")
    made = dict.fromkeys(node.args[0] for node in nodes if _is_check(node))
    for node in nodes:
        if _is_check(node):
            graph.graph.erase_node(node)
    nodes[-1].args = ((*nodes[-1].args[0], *made),)
    return len(made)


def _is_check(node: Node) -> bool:
    return node.target is torch.ops.aten._linalg_check_errors.default


def strided_from_bases(graph: GraphModule) -> None:
    """Let as_strided, which addresses memory, take the value that owns the memory, not a view."""
    bases = bases_of(graph.graph.nodes)
    for node in graph.graph.nodes:
        if is_strided(node) and len(node.args) > 3:
            (base, *others) = bases[node.all_input_nodes[0]]
            if not others:
                node.update_arg(0, base)


def is_strided(node: Node) -> bool:
    return node.target is torch.ops.aten.as_strided.default
