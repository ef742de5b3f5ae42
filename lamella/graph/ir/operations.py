"""Side effects of operations: aliases of their inputs, mutations, random numbers."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.fx import Graph, Node

from .failures import RAISING, family_of

# marks in a node's `meta`: FAILS: nothing reads its result, but it may raise an error; CAUGHT: the
# program may catch its error
FAILS, CAUGHT = "fails", "caught"
# kernels that change running statistics, most without their schema saying so; not their gradients
_IMPURE = ("aten.native_batch_norm.", "aten._native_batch_norm_legit.default",
           "aten.cudnn_batch_norm.", "aten.miopen_batch_norm.", "aten._batch_norm_with_update.")
_RUNNING, _TRAINING = ((3, "running_mean"), (4, "running_var")), (5, "training")  # their arguments
# operations that read the metadata of their first argument alone
_OF_A_FORM = ("ones_like", "zeros_like", "full_like", "new_zeros", "new_ones", "new_full")
# operations that may return their input, or a view of it, without the schema saying so
_PERHAPS_VIEWS = ("aten.reshape", "aten.contiguous", "aten._reshape_alias", "aten.to.",
                  "aten.expand_as", "aten._unsafe_view")


class Effects(NamedTuple):
    """The side effects of an operation, for all arguments.

    Attributes:
        namespace: the library that it belongs to, such as ``"aten"``.
        shared: the arguments, by position and name, that its results may alias.
        written: the arguments that it mutates.
        is_random: whether it may draw random numbers; `draws` says whether a call does.
        dropout: the position and name of the share that it drops, without which it draws nothing.
        is_impure: whether it mutates running statistics in training; most schemas don't say so.
        is_check: whether it returns nothing, but may raise an error.
        may_fail: whether it may raise an error for some values of its tensors.
        may_be_view: whether its result may alias its input, though its schema doesn't say.
        is_exchange: whether it is a collective: each replay calls it once, in order.
        is_python: whether Python computes it, of numbers.
        shaped_by_values: whether the shape of its result is data-dependent.
        gives_python: whether it turns a tensor into a Python value.
        reshapes_in_place: whether it changes the metadata of a tensor in place.
        only_computes: whether it is one of PyTorch's kernels without any effect, in every call.
        of_a_form: whether it reads the metadata of its first argument alone.
    """

    namespace: str = ""
    shared: tuple[tuple[int, str], ...] = ()
    written: tuple[tuple[int, str], ...] = ()
    is_random: bool = False
    dropout: tuple[int, str] | None = None
    is_impure: bool = False
    is_check: bool = False
    may_fail: bool = False
    may_be_view: bool = False
    is_exchange: bool = False
    is_python: bool = False
    shaped_by_values: bool = False
    gives_python: bool = False
    reshapes_in_place: bool = False
    only_computes: bool = False
    of_a_form: bool = False

    def draws(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether a call with these arguments draws random numbers."""
        if not self.is_random or self.dropout is None:
            return self.is_random
        return _given(self.dropout, args, kwargs, 0.0) != 0.0

    def mutated(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Those arguments of a call that it mutates, also where its schema doesn't say so."""
        places = self.written
        if self.is_impure and _given(_TRAINING, args, kwargs, True):
            places = _RUNNING
        found = [_given(place, args, kwargs) for place in places]
        return [value for value in found if value is not None]


def _given(place: tuple[int, str], args: Sequence[Any], kwargs: Mapping[str, Any],
           otherwise: Any = None) -> Any:
    """The argument at a position, or with a name."""
    number, name = place
    return args[number] if number < len(args) else kwargs.get(name, otherwise)


_effects: dict[int, tuple[Any, Effects]] = {}  # by identity: an operation's hash is slow


def effects_of(target: Any) -> Effects:
    """The side effects of the operation of a node."""
    found = _effects.get(id(target))
    if found is None:
        if hasattr(target, "effects"):  # a loop, which only its graph keeps alive
            return target.effects
        found = _effects[id(target)] = target, _effects_by_schema(target)
    return found[1]


def mutating(nodes: Iterable[Node]) -> Iterator[Node]:
    """Those nodes that mutate any of their arguments."""
    for node in nodes:
        if node.op == "call_function" and effects_of(node.target).mutated(node.args, node.kwargs):
            yield node


def _effects_by_schema(target: Any) -> Effects:
    schema = getattr(target, "_schema", None)
    if schema is None:
        return Effects(is_exchange=getattr(target, "is_exchange", False),
                       is_python=getattr(target, "is_python", False))
    name, tags = str(target), getattr(target, "tags", ())
    arguments = [(i, a.name, a.alias_info) for i, a in enumerate(schema.arguments)
                 if a.alias_info is not None]
    known = Effects(
        namespace=target.namespace,
        shared=tuple([(i, name) for i, name, _ in arguments]),
        written=tuple([(i, name) for i, name, alias in arguments if alias.is_write]),
        is_random=torch.Tag.nondeterministic_seeded in tags,
        dropout=next(((i, a.name) for i, a in enumerate(schema.arguments)
                      if a.name in ("dropout", "dropout_p")), None),
        is_impure=name.startswith(_IMPURE),
        is_check=not schema.returns,
        may_fail=target.namespace == "aten" and family_of(target) in RAISING,
        may_be_view=name.startswith(_PERHAPS_VIEWS),
        shaped_by_values=torch.Tag.dynamic_output_shape in tags,
        gives_python=torch.Tag.data_dependent_output in tags,
        reshapes_in_place=torch.Tag.inplace_view in tags,
        of_a_form=target.namespace == "aten" and family_of(target) in _OF_A_FORM)
    return known._replace(only_computes=known.namespace == "aten" and not (
        known.written or known.is_random or known.is_impure or known.is_check
        or known.shaped_by_values or known.gives_python or known.reshapes_in_place))


def bases_of(nodes: Iterable[Node], given: Iterable[Node] = ()) -> dict[Node, set[Node]]:
    """The alias set of each node: the nodes whose memory it may lie in; itself unless a view.

    Args:
        nodes: the nodes, in order.
        given: further nodes before them, which have memory of their own, whatever computes them.
    """
    found: dict[Node, set[Node]] = {node: {node} for node in given}
    parts: dict[object, Node] = {}
    for node in nodes:
        bases = None
        if node.op == "call_function":
            target = node.target
            known = effects_of(target)
            if target is operator.getitem:
                several, number = node.args
                bases = found[several]  # type: ignore[index]
                if isinstance(several, Node) and bases == {several}:  # each has its own memory
                    bases = {parts.setdefault((several, number), node)}
            elif known.may_be_view:
                bases = set().union(*(found[n] for n in node.all_input_nodes), {node})
            elif known.shared:
                given = nodes_in([_given(place, node.args, node.kwargs) for place in known.shared])
                bases = found[given[0]] if len(given) == 1 else set().union(
                    *(found[n] for n in given))
        found[node] = bases or {node}
    return found


def written_by(node: Node, bases: dict[Node, set[Node]]) -> set[Node]:
    """The nodes whose memory an operation mutates."""
    if node.op != "call_function":
        return set()
    mutated = effects_of(node.target).mutated(node.args, node.kwargs)
    return set().union(*(bases[n] for n in nodes_in(mutated))) if mutated else set()


def never_written(nodes: Sequence[Node]) -> set[Node]:
    """The nodes whose memory no operation among them mutates, by its schema."""
    bases = bases_of(nodes)
    written = set().union(*(written_by(node, bases) for node in mutating(nodes)), ())
    return {node for node in nodes if bases[node].isdisjoint(written)}


def nodes_in(value: object) -> list[Node]:
    """The nodes in an argument."""
    if isinstance(value, Node):
        return [value]
    if isinstance(value, (list, tuple)):
        return [n for v in value for n in nodes_in(v)]
    return []


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in arguments or results of a kernel."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors_in(part)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def is_random(node: Node) -> bool:
    """Whether an operation draws random numbers."""
    if node.op != "call_function":
        return False
    known = effects_of(node.target)
    return known.is_random and known.draws(node.args, node.kwargs)


def is_exchange(node: Node) -> bool:
    """Whether an operation is a collective."""
    return node.op == "call_function" and effects_of(node.target).is_exchange


def is_alone(node: Node) -> bool:
    """Whether an operation is a collective, or Python computes it: it is a stage of its own."""
    if node.op != "call_function":
        return False
    known = effects_of(node.target)
    return known.is_exchange or known.is_python


def sweep(graph: Graph) -> None:
    """Remove dead code.

    PyTorch's `eliminate_dead_code` also checks the whole graph, and warns of generators.
    """
    for node in reversed(graph.nodes):
        if not node.users and not must_stay(node):
            graph.erase_node(node)


def sweep_recorded(graph: Graph) -> None:
    """Remove dead code of a graph whose kernels were all called by the program.

    The program gets their errors. So kernels that may fail stay, even if nothing reads their
    results; these are marked. What a pass leaves behind later isn't marked, and `sweep` removes it.
    """
    read: set[Node] = set()
    for node in reversed(graph.nodes):
        if node not in read and not must_stay(node):
            if may_fail(node):
                node.meta[FAILS] = True
            else:
                if not node.users:
                    graph.erase_node(node)
                continue
        if node.op != "call_function" or not effects_of(node.target).of_a_form:
            read.update(node.all_input_nodes)


def may_fail(node: Node) -> bool:
    """Whether a node's kernel may raise an error for some values of its tensors."""
    return node.op == "call_function" and effects_of(node.target).may_fail


def must_stay(node: Node) -> bool:
    """Whether a node has side effects: mutations, checks, random numbers, collectives, errors."""
    if node.op != "call_function":
        return node.op in ("placeholder", "output")
    known = effects_of(node.target)
    return (bool(known.mutated(node.args, node.kwargs)) or known.is_check or known.is_exchange
            or FAILS in node.meta
            or known.is_random and known.draws(node.args, node.kwargs))


def last_uses(nodes: Iterable[Node]) -> dict[Node, list[Node]]:
    """For each node the values whose last use it is (liveness)."""
    seen: set[Node] = set()
    found: dict[Node, list[Node]] = {}
    for node in reversed(list(nodes)):
        mine = [n for n in (*node.all_input_nodes, node) if n not in seen]
        found[node] = list(dict.fromkeys(mine)) if node.op != "placeholder" else []
        seen.update(mine)
    return found
