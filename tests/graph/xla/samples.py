"""Each row of the table on PyTorch's own sample inputs: ``python -m tests.graph.xla.samples``.

PyTorch has sample inputs for each of its operations. They are run, forward and backward, and each
kernel that they call is noted with its arguments and results. Then the table computes the same.
"""

from __future__ import annotations

import collections
import operator
import sys
import warnings
from typing import Any

import torch
from torch.fx import Graph, GraphModule
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from lamella.graph.ir.operations import effects_of
from lamella.graph.xla.lowering import TABLE, NotLowered
from lamella.graph.xla.lowering.graph import OPTIONS, function_of
from lamella.graph.xla.text import described

MOST = 3  # calls of each row and type
LARGEST = 2000  # elements
DTYPES = (torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.float64, torch.uint8,
          torch.complex64)
TOLERANCE = {torch.complex64: 2e-4, torch.complex128: 1e-9, torch.float64: 1e-9,
             torch.float32: 2e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}


class Noted(TorchDispatchMode):
    """Notes the calls of kernels that the table has, with copies of what they got and gave."""

    def __init__(self, most: int = MOST):
        super().__init__()
        self.calls: dict[Any, list[tuple]] = collections.defaultdict(list)
        self.most = most

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = str(func).removeprefix("aten.")
        before = None
        if name in TABLE and not effects_of(func).written:
            tensors = [x for x in pytree.tree_leaves((args, kwargs))
                       if isinstance(x, torch.Tensor)]
            texts = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, str)]
            kind = (name, *sorted({str(x.dtype) for x in tensors}), *texts)  # each mode, too
            if (len(self.calls[kind]) < self.most and all(
                    x.numel() <= LARGEST and x.layout is torch.strided for x in tensors)):
                before = pytree.tree_map(_copied, (args, kwargs))
        made = func(*args, **kwargs)
        if before is not None:
            self.calls[kind].append((func, *before, pytree.tree_map(_copied, made)))
        return made


def _copied(x: Any) -> Any:
    return x.detach().clone() if isinstance(x, torch.Tensor) else x


def note(names: set[str] | None = None, most: int = MOST, dtypes: Any = DTYPES
         ) -> dict[Any, list[tuple]]:
    """The calls of kernels in the samples of PyTorch's operations, or of those with these names.
    """
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.opinfo import core

    # it looks for a test of unittest's by asking where the code of each frame stands: 0.3 s
    core.extract_test_fn = lambda: None  # type: ignore[attr-defined]
    # that module forbids to set `torch.backends`' flags, which other tests do
    backends: Any = torch.backends.disable_global_flags
    backends.__globals__["__allow_nonbracketed_mutation_flag"] = True

    noted = Noted(most)
    for operation in op_db:
        if names is not None and operation.name not in names:
            continue
        for dtype in dtypes:
            if dtype in operation.supported_dtypes("cpu"):
                _run(operation, dtype, noted)
    return noted.calls


def _run(operation: Any, dtype: torch.dtype, noted: Noted) -> None:
    needs = operation.supports_autograd and (
        dtype.is_floating_point or dtype.is_complex)
    samples = iter(operation.sample_inputs("cpu", dtype, requires_grad=needs))
    for _ in range(4):
        try:
            sample = next(samples)
            with noted:
                made = operation(sample.input, *sample.args, **sample.kwargs)
                outs = [x for x in pytree.tree_leaves(made)
                        if isinstance(x, torch.Tensor) and x.requires_grad]
                if outs:
                    sum((x.abs() if x.is_complex() else x.float()).sum() for x in outs).backward()
        except StopIteration:
            return
        except Exception:  # noqa: BLE001, S112  (a sample that PyTorch itself refuses)
            continue


def graph_of(func: Any, args: tuple, kwargs: dict) -> tuple[GraphModule, list[torch.Tensor]]:
    """A graph of one call, and its inputs."""
    graph, inputs = Graph(), []

    def node(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        inputs.append(x)
        return holders.pop(0)

    count = sum(isinstance(x, torch.Tensor) for x in pytree.tree_leaves(
        (args, kwargs)))
    holders = [graph.placeholder(f"x{i}") for i in range(count)]
    own, its = pytree.tree_map(node, (args, kwargs))
    made = graph.call_function(func, tuple(own), its)
    known = effects_of(func)
    count = len(func._schema.returns)
    if str(func._schema.returns[0].type) == "List[Tensor]":
        count = len(func(*args, **kwargs))
    outs = ([made] if count == 1 and "List" not in str(func._schema.returns[0].type)
            else [graph.call_function(operator.getitem, (made, i)) for i in range(count)])
    # copied, since a result that is a view of an input is none of XLA's
    outs = [graph.call_function(torch.ops.aten.clone.default, (o,), {
        "memory_format": torch.contiguous_format}) for o in outs] if known.shared or (
            known.may_be_view) else outs
    graph.output(tuple(outs))
    return GraphModule(torch.nn.Module(), graph), inputs


def check(calls: list[tuple]) -> list[str]:
    """What differs between the table and PyTorch's kernels, in words; the calls are compiled once.
    """
    import jax
    import jax.numpy as jnp

    wrong, parts, wanted = [], [], []
    for func, args, kwargs, made in calls:
        try:
            graph, inputs = graph_of(func, args, kwargs)
            if not all(_is_plain(x) for x in pytree.tree_leaves(made)):
                continue
            text = described(graph, inputs)
            run = function_of({**text, "packs": [[i] for i in range(len(text["results"]))]})
            order = [x if o is None else x.permute(o)
                     for x, o in zip(inputs, text["places"], strict=True)]
            arrays = [jnp.asarray(_array(x)) for x in order]
            with jax.enable_x64(True):
                jax.eval_shape(run, *arrays)
        except NotLowered as reason:
            wrong.append(f"left out {func}: {reason}")
            continue
        except Exception as error:  # noqa: BLE001
            wrong.append(f"FAILED {func}: {type(error).__name__} {str(error)[:200]} "
                         f"{_short(args)} {kwargs}")
            continue
        parts.append((run, arrays))
        wanted.append((func, args, kwargs, [pytree.tree_leaves(made), text]))
    with jax.enable_x64(True):
        compiled = jax.jit(lambda given: [run(*its) for (run, _), its in zip(
            parts, given, strict=True)]).lower([a for _, a in parts]).compile(
                {**OPTIONS, "xla_backend_optimization_level": 0,
                 "xla_llvm_disable_expensive_passes": True})
        found = compiled([a for _, a in parts])
    for (func, args, kwargs, (want, text)), got in zip(wanted, found, strict=True):
        for a, b, (*_, order, gaps) in zip(want, got, text["results"], strict=True):
            b = _tensor(b)
            if gaps:
                b = b.as_strided(a.shape, gaps)
            if order:
                b = b.permute(sorted(range(len(order)), key=order.__getitem__))
            if "empty" not in str(func) and not _agree(a, b):
                wrong.append(f"DIFFERS {func}: {_short(args)} {kwargs}\n  want {a.flatten()[:6]} "
                             f"{a.dtype}\n  got  {b.flatten()[:6]} {b.dtype}")
                break
    return wrong


def _array(x: torch.Tensor) -> Any:
    import jax

    with jax.enable_x64(True):
        return jax.dlpack.from_dlpack(x.resolve_conj().resolve_neg().contiguous())


def _tensor(x: Any) -> torch.Tensor:
    return torch.from_dlpack(x)


def _is_plain(x: Any) -> bool:
    return isinstance(x, torch.Tensor)


def _short(args: Any) -> str:
    return str(pytree.tree_map(
        lambda x: f"{str(x.dtype)[6:]}{list(x.shape)}" if isinstance(x, torch.Tensor) else x, args))


def _agree(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not (a.dtype.is_floating_point or a.dtype.is_complex):
        return torch.equal(a, b)
    limit = TOLERANCE[a.dtype]
    return torch.allclose(_wide(a), _wide(b), limit, limit * 0.1, equal_nan=True)


def _wide(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.complex128 if x.is_complex() else torch.float64)


def main(names: str = "", most: str = "3", dtypes: str = "") -> int:
    """Check everything; returns how many calls differ."""
    warnings.simplefilter("ignore")
    types = [getattr(torch, d) for d in dtypes.split()] or DTYPES
    calls = note(set(names.split()) or None, int(most), types)
    print(len(calls), "kinds of calls", flush=True)
    by_row: dict[str, list[tuple]] = collections.defaultdict(list)
    for (name, *_), its in calls.items():
        by_row[name] += its
    total, wrong = 0, 0
    flat = [(name, call) for name, its in sorted(by_row.items()) for call in its]
    for start in range(0, len(flat), 300):
        chunk = flat[start:start + 300]
        for said in check([call for _, call in chunk]):
            print(said, flush=True)
            wrong += not said.startswith("left out")
        total += len(chunk)
    print(f"{total} calls of {len(by_row)} of {len(TABLE)} rows, {wrong} differ")
    print("never called:", *sorted(TABLE.keys() - by_row.keys()))
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(*sys.argv[1:])))
