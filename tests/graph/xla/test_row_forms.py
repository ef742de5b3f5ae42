"""Rows of the table at their edges: lengths of 0 and 1, other types, what isn't lowered."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from lamella.graph.xla.lowering import TABLE, VIEWS, NotLowered
from lamella.graph.xla.lowering.graph import OPTIONS
from lamella.graph.xla.lowering.table import (
    Aval,
    avals_of,
    common,
    is_tensor,
    is_value,
    of_type,
    row,
)

from . import samples
from .test_row_options import t

aten = torch.ops.aten
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def _edges():
    zero, empty, x = torch.tensor(0.3), t(3, 0), t(4, 3)
    for name in ("_softmax", "_log_softmax"):  # of a number, of one element, of none
        back = getattr(aten, f"{name}_backward_data").default
        yield back, torch.tensor(2.0), zero, 0, torch.float32
        yield back, t(3, 1), t(3, 1, seed=1), 1, torch.float32
        yield getattr(aten, name).default, t(3, 1), 1, False
    yield aten.slice.Tensor, x, 0, 0, 0, 1
    yield aten.slice.Tensor, x, 0, 0, -9, 1
    yield aten.slice.Tensor, x, 0, -9, -3, 1
    yield aten.select_backward.default, t(4), [4, 1], 1, -1
    yield aten.sum.dim_IntList, empty, [1]
    yield aten.prod.dim_int, empty, 1
    yield aten.logsumexp.default, empty, [-1]
    yield aten.cat.default, [empty, x[:3]], 1
    one = t(2, 1, 1).abs() + 1
    yield aten.linalg_inv_ex.default, one
    yield aten.linalg_lu_factor_ex.default, one
    yield aten.linalg_cholesky_ex.default, one
    yield aten.linalg_solve_triangular.default, one, t(2, 1, 3), True
    yield aten._linalg_eigh.default, one, "L", False
    yield aten.linalg_qr.default, one
    yield aten.linalg_qr.default, x, "complete"
    yield aten._linalg_svd.default, one, False, False
    yield (aten.lu_unpack.default, *torch.linalg.lu_factor(one[0]))


def _matrices():
    singular = torch.tensor([[[0.0, 1], [0, 2]], [[1, 0], [0, 1]]])
    yield aten.linalg_lu_factor_ex.default, singular
    yield aten._linalg_det.default, singular
    yield aten._linalg_slogdet.default, singular
    # batches of matrices with one right side for all
    square = t(2, 3, 3) + 3 * torch.eye(3)
    yield aten._linalg_solve_ex.default, square, t(3, 4)
    yield aten._linalg_solve_ex.default, square, t(3)
    # only one half is read
    good = square @ square.mT + torch.eye(3)
    yield aten.linalg_cholesky_ex.default, good.tril() + 7 * torch.ones(3, 3).triu(1), False
    yield aten.linalg_cholesky_ex.default, good.triu() + 7 * torch.ones(3, 3).tril(-1), True
    yield aten._linalg_eigh.default, good.tril() + 7 * torch.ones(3, 3).triu(1), "L", False


def _values():
    far = t(3, 50) + 3e3  # squares of what isn't centred would be lost
    for name in ("var", "std", "var_mean", "std_mean"):
        yield getattr(aten, name).correction, far, [1], 1, False
        yield getattr(aten, name).correction, t(3, 2, 4), [1], 1, True
    for order in (0, 1, 2, 3):
        yield aten.linalg_vector_norm.default, torch.tensor([[0.0, 1, -1, 2], [0, 0, 3, 1]]), order
    # quotients that round to a whole number from below and from above
    x = torch.tensor([10.8, 7.1, 10.2, -270.3887939453125, 1448.293212890625])
    y = torch.tensor([0.9, 1.8, 3.1, 1.4338569641113281, -0.4248984456062317])
    yield aten.floor_divide.default, x, y
    yield aten.div.Tensor_mode, -x, y, "floor"
    large = torch.tensor([2**62 + 1, -(2**62) - 1, 2**53 + 1, 7])
    for name in ("floor_divide.default", "remainder.Tensor", "fmod.Tensor"):
        packet, overload = name.split(".")
        yield getattr(getattr(aten, packet), overload), large, torch.tensor([3, 3, -1, -2])
    odd = torch.tensor([-torch.inf, torch.inf, -2.0, -0.0, 0.0])
    for power in (0.5, -0.5, 3.0, -1.0):
        yield aten.pow.Tensor_Scalar, odd, power
    yield aten.lerp.Scalar, torch.tensor([1e8, -1e9]), torch.tensor([1.0, 2]), 1.0
    yield aten.heaviside.default, torch.tensor([0.5, 1, -0.5, 0]), torch.tensor(0.25)
    at = torch.tensor([-1.5, 0, 1.5])
    for reduction in (0, 2):
        back = at + 3 if not reduction else torch.tensor(2.0)
        yield aten.smooth_l1_loss.default, at, at * 0, reduction, 0.0
        yield aten.smooth_l1_loss_backward.default, back, at, at * 0, reduction, 0.0
    x = t(4, 3)
    for weight in (None, torch.tensor([0.5, 2, 3])):
        total = torch.tensor(2.5)
        yield (aten.nll_loss_backward.default, torch.tensor(2.0), x[0], torch.tensor(1), weight, 1,
               -100, total)


def _types():
    i, x = torch.arange(-3, 6).reshape(3, 3), t(3, 3)
    for name in ("exp", "sigmoid", "reciprocal", "rsqrt", "erf", "atan", "deg2rad", "sinc"):
        yield getattr(aten, name).default, (i.abs() + 1).to(torch.int32)
    yield aten.div.Tensor, i, i.abs() + 1
    yield aten.atan2.default, i, i + 4
    yield aten.xlogy.Tensor, i.abs(), i.abs() + 1
    for name in ("sigmoid", "tanh"):
        yield (getattr(aten, f"{name}_backward").default, torch.complex(x, x.flip(0)),
               torch.complex(x, -x))
    half = t(3, 5).bfloat16()
    for kind in (torch.float32, torch.bfloat16):
        yield (aten.native_layer_norm.default, half, [5], t(5).to(kind), t(5, seed=1).to(kind),
               0.3)
    yield aten.var_mean.correction, half, [1], 1, False
    yield aten.log_sigmoid_forward.default, half
    yield aten.nll_loss_forward.default, half, torch.tensor([1, 0, 4]), None, 1, -100
    yield aten.nll_loss_forward.default, half, torch.tensor([1, 0, 4]), None, 0, 0
    yield aten.hardtanh.default, i, -2, 1
    yield aten.round.default, i
    for x, kinds in ((t(3, 3), (torch.int64, torch.bool, torch.float16, torch.float64)),
                     (i, (torch.int32, torch.uint8, torch.bool, torch.float32)),
                     (i > 0, (torch.uint8, torch.float32))):
        for kind in kinds:
            yield aten._to_copy.default, x, {"dtype": kind}
    yield aten.linspace.default, 0, 1, 7, {"dtype": torch.float64}
    yield aten.linspace.default, 0, 1, 7, {"dtype": torch.bfloat16}
    for kind in (torch.float64, torch.float32, torch.int32):
        yield aten.arange.start_step, -3, 17, 3, {"dtype": kind}
    yield aten.arange.start_step, 0.1, 2, 0.3, {"dtype": torch.float64}
    yield aten.full.default, [2, 1], 2.75, {"dtype": torch.int32}
    yield aten.full.default, [2, 1], -2, {"dtype": torch.uint8}
    yield aten.full.default, [2, 1], 2, {"dtype": torch.bool}
    yield aten.full.default, [2, 1], 1 + 2j
    mask = torch.tensor([True, False, True])
    yield aten.index_put.default, t(3, 3), [mask, None], torch.tensor(7.5)
    yield aten.scatter.value, t(3, 3), -1, torch.tensor([[2], [0]]), 1.5


FAMILIES = {"edges": _edges, "matrices": _matrices, "values": _values, "types": _types}


@pytest.mark.parametrize("family", FAMILIES)
def test_rows(family):
    calls = []
    for func, *given in FAMILIES[family]():
        kwargs = given.pop() if isinstance(given[-1], dict) else {}
        named = [each.name for each in func._schema.arguments if each.kwarg_only]
        count = len(func._schema.arguments) - len(named)
        kwargs |= zip(named, given[count:], strict=False)
        args = tuple(given[:count])
        calls.append((func, args, kwargs, func(*args, **kwargs)))
    wrong = samples.check(calls)
    assert not wrong, "\n".join(wrong)


ROUNDED = [  # and the others keep all digits of a number
    *[(f"{name}.{by}", number) for name in ("eq", "ne", "lt", "le", "gt", "ge")
      for by, number in (("Scalar", 0.1), ("Scalar", -2.7), ("Tensor", torch.tensor(0.3)))],
    *[(f"{name}.Tensor", number, 1) for name in ("add", "sub", "rsub")
      for number in (0.1, 2.7, torch.tensor(-0.3), torch.arange(600) * 3 + 1) if
      name != "rsub" or isinstance(number, torch.Tensor)],
    ("rsub.Scalar", 0.1, 1), ("add.Scalar", 0.3, 1), ("sub.Scalar", 2.7, 1),
    *[(f"{name}.Scalar", number) for name in ("remainder", "fmod") for number in (0.1, -2.7)],
    ("remainder.Tensor", torch.tensor(0.3)), ("fmod.Tensor", torch.tensor(0.3)),
    ("hardshrink.default", 0.1), ("hardshrink.default", 2.7), ("hardshrink_backward.default", 0.1),
    ("softshrink_backward.default", 2.7), ("mul.Scalar", 0.1), ("mul.Tensor", torch.tensor(2.7)),
    ("leaky_relu.default", 0.1), ("clamp.default", -0.3, 2.7)]


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
def test_numbers_beside_those_of_16_bits_are_rounded_as_by_kernels(kind):
    ends = torch.tensor([0.1, 0.3, 2.7])
    x = torch.cat([torch.linspace(-9, 9, 594), ends, -ends]).to(kind)
    calls = [(name, ([x, x] if "_backward" in name else [x]) + rest) for name, *rest in ROUNDED]
    wanted = [getattr(getattr(aten, name.split(".")[0]), name.split(".")[1])(
        *(args[:-1] if name.startswith(("add.T", "sub.T", "rsub.T")) else args))
        for name, args in calls]

    def computed(x):
        return [TABLE[name](Aval((600,), str(made.dtype)[6:]), *[
            x if n == 0 or "_backward" in name and n == 1 else
            jnp.asarray(a.numpy()) if isinstance(a, torch.Tensor) else a
            for n, a in enumerate(args)])
            for (name, args), made in zip(calls, wanted, strict=True)]

    given = jax.dlpack.from_dlpack(x)
    found = jax.jit(computed).lower(given).compile({**OPTIONS, **QUICK})(given)
    for (name, args), one, made in zip(calls, found, wanted, strict=True):
        assert torch.equal(torch.from_dlpack(one), made), (name, args[1:])


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
def test_factors_of_sums_are_rounded_to_16_bits_but_not_products(kind):
    x, y = torch.linspace(-9, 9, 640).to(kind), torch.linspace(-4, 7, 640).sin().to(kind) * 3
    calls = [(name, alpha) for name in ("add", "sub", "rsub") for alpha in (0.1, -2.7, 3)]

    def computed(x, y):
        return [TABLE[f"{name}.Tensor"](Aval((640,), str(kind)[6:]), x, y, alpha)
                for name, alpha in calls]

    given = [jax.dlpack.from_dlpack(each) for each in (x, y)]
    found = jax.jit(computed).lower(*given).compile({**OPTIONS, **QUICK})(*given)
    for (name, alpha), made in zip(calls, found, strict=True):
        a, b = (y, x) if name == "rsub" else (x, y)
        product = torch.tensor(alpha).to(kind).float() * b.float()
        wanted = a.float() + product if name == "add" else a.float() - product
        assert torch.equal(torch.from_dlpack(made), wanted.to(kind)), (name, alpha)


X, NUMBER, NONE = np.ones((3, 4), np.float32), np.float32(2), np.ones((0, 0), np.float32)
AT, MASK, SQUARE = np.array([0, 2]), np.array([True, False, True]), np.eye(3, dtype=np.float32)
INDEX, PIVOTS = np.zeros((2, 3), np.int64), np.array([1, 2, 3], np.int32)


@pytest.mark.parametrize("name, args, reason", [
    ("index.Tensor", [X, [MASK]], "mask"), ("index.Tensor", [X, [None, MASK]], "mask"),
    ("index_put", [X, [AT, MASK], NUMBER, False], "by a mask"),
    ("index_put", [X, [MASK, AT], NUMBER, False], "by a mask"),
    ("index_put", [X, [None, MASK], NUMBER, False], "by a mask"),
    ("index_put", [X, [MASK], X[:2, 0], False], "by a mask"),
    ("embedding_dense_backward", [X, AT, 5, -1, True], "frequency"),
    ("scatter.value", [NUMBER, 0, AT, 1.0], "without dimensions"),
    ("scatter.value", [X[0], 0, AT[0], 1.0], "without dimensions"),
    ("scatter_reduce.two", [X, 0, INDEX, X, "sum", False], "by sum"),
    ("scatter_reduce.two", [X, 0, INDEX, X, "mean", True], "by mean"),
    ("index_add", [NUMBER, 0, AT, NUMBER, 1], "without dimensions"),
    ("index_copy", [NUMBER, 0, AT, NUMBER], "without dimensions"),
    ("index_fill.int_Scalar", [NUMBER, 0, AT, 1.0], "without dimensions"),
    ("linalg_inv_ex", [NONE, False], "empty"), ("linalg_inv_ex", [X, False], "square"),
    ("linalg_lu_factor_ex", [X, True, False], "square"),
    ("linalg_lu_factor_ex", [SQUARE, False, False], "without pivots"),
    ("linalg_cholesky_ex", [NONE, False, False], "empty"),
    ("_linalg_eigh", [NONE, "L", True], "empty"), ("_linalg_eigh", [SQUARE, "U", True], "upper"),
    ("linalg_qr", [X, "r"], "half"), ("linalg_qr", [NONE, "reduced"], "empty"),
    ("_linalg_svd", [NONE, False, True, None], "empty"),
    ("lu_unpack", [SQUARE, PIVOTS, True, False], "part"),
    ("lu_unpack", [SQUARE, PIVOTS, False, True], "part"),
    ("lu_unpack", [X, PIVOTS, True, True], "square"),
    ("lu_unpack", [NONE, PIVOTS[:0], True, True], "square"),
    ("topk", [INDEX, 1, 0, True, True], "integers"), ("topk", [NUMBER, 1, 0, True, True], "topk"),
    ("searchsorted.Tensor", [X[0], X[0], False, False, None, INDEX[0]], "its order"),
    ("as_strided", [X, [2, 2], [7, 1], 4], "beyond"),
])
def test_forms_that_are_not_lowered(name, args, reason):
    aval = Aval((3, 4), "float32")
    args = [[a if a is None else jnp.asarray(a) for a in value] if isinstance(value, list) and any(
        isinstance(a, np.ndarray) for a in value) else jnp.asarray(value) if isinstance(
        value, (np.ndarray, np.generic)) else value for value in args]
    with pytest.raises(NotLowered, match=reason):
        TABLE[name if "." in name else f"{name}.default"]([aval] * 4 if name != "index.Tensor"
                                                          else aval, *args)


@pytest.mark.parametrize("kind", ["int32", "int16", "uint8"])
def test_fractions_are_not_made_narrow_integers(kind):
    for name in ("_to_copy.default", "to.dtype"):
        with pytest.raises(NotLowered, match="narrow integer"):
            TABLE[name](Aval((3, 4), kind), jnp.asarray(X))


VIEW = torch.arange(60.0).reshape(3, 4, 5)


VIEWED = [
    ("select.int", [1, -2]), ("select.int", [-1, 3]), ("slice.Tensor", [1, 1, None, 2]),
    ("slice.Tensor", [0, -2, 9, 1]), ("narrow", [2, -3, 2]), ("diagonal", [1, 0, 2]),
    ("unbind.int", [1]), ("unbind.int", [-1]), ("split.Tensor", [2, 1]), ("expand", [[2, 3, 4, 5]]),
    ("permute", [[2, 0, 1]]), ("transpose.int", [0, -1]), ("movedim.intlist", [[0, 1], [2, 0]]),
    ("unfold", [1, 2, 2]), ("squeeze", []), ("unsqueeze", [-1]), ("view", [[5, 12]]),
    ("as_strided", [[2, 3], [7, 2], 4]), ("as_strided", [[2, 3], [20, 1], None]),
    ("as_strided", [[3, 2], [20, 4], 15]), ("as_strided", [[0, 2], [20, 4], 75]),
    ("select_scatter", [VIEW[:, 0], 1, -1]), ("slice_scatter", [VIEW[:, :2], -2, 2, None, 1]),
    ("diagonal_scatter", [VIEW[0, :3].mT, 0, 0, 1])]


def test_views_and_what_is_put_into_them():
    """Computed by the rows themselves, which loops and writes into views of views need."""
    wanted = []
    for name, args in VIEWED:
        packet, _, overload = name.partition(".")
        made = getattr(getattr(aten, packet), overload or "default")(VIEW, *args)
        wanted.append(made if isinstance(made, list) else [made])

    def computed(x):
        found = []
        for (name, args), made in zip(VIEWED, wanted, strict=True):
            avals = [Aval((*one.shape,), "float32") for one in made]
            args = [jnp.asarray(a.numpy()) if isinstance(a, torch.Tensor) else a for a in args]
            its = TABLE[name if "." in name else f"{name}.default"](
                avals if name in ("unbind.int", "split.Tensor") else avals[0], x, *args)
            found.append(its if isinstance(its, list) else [its])
        return found

    compiled = jax.jit(computed).lower(VIEW.numpy()).compile(QUICK)
    for given, found, made in zip(VIEWED, compiled(VIEW.numpy()), wanted, strict=True):
        for one, its in zip(found, made, strict=True):
            np.testing.assert_array_equal(np.asarray(one), its.numpy(), str(given))


def test_which_rows_are_views():
    """Those whose results may lie in the memory of an argument, by PyTorch's schemas; functions of
    others, which aren't kernels, may be left out."""
    for name in TABLE:
        packet, _, overload = name.partition(".")
        func = getattr(getattr(aten, packet, None), overload, None)
        if func is not None:
            shares = any(made.alias_info is not None for made in func._schema.returns)
            is_kernel = not torch._C._dispatch_has_kernel_for_dispatch_key(
                func.name(), "CompositeImplicitAutograd")
            assert (name in VIEWS) <= shares and (shares and is_kernel) <= (name in VIEWS), name


def test_names_of_rows_are_those_of_overloads(monkeypatch):
    def fn(aval):
        return aval

    names = {"no_such.default": True, "no_such.Other": True, "no_view.default": False}
    with monkeypatch.context() as patch:
        for name in names:
            patch.setitem(TABLE, name, None)  # which is taken back
        row("no_such", "no_such.Other", view=True)(fn)
        row("no_view")(fn)
        assert all(TABLE[name] is fn for name in names)
        assert {name for name in VIEWS if name.startswith("no_")} == {
            name for name, is_view in names.items() if is_view}
        VIEWS.difference_update(names)
    assert not names.keys() & TABLE.keys()


KINDS = {"bool": torch.bool, "uint8": torch.uint8, "int8": torch.int8, "int32": torch.int32,
         "int64": torch.int64, "float16": torch.float16, "bfloat16": torch.bfloat16,
         "float32": torch.float32, "float64": torch.float64, "complex64": torch.complex64,
         "complex128": torch.complex128}


def test_common_types_are_those_that_pytorch_promotes_to():
    with jax.enable_x64(True):
        given = [(np.zeros(shape, jnp.dtype(name)), torch.zeros(shape, dtype=kind))
                 for name, kind in KINDS.items() for shape in ((2,), ())]
        given += [(number, number) for number in (True, 2, 0.5, 2j)]
        for a, x in given:
            for b, y in given:
                wanted = str(torch.result_type(x, y))[6:]
                assert wanted in (common([a, b]), "complex32"), (x, y)  # JAX has no complex32
        assert common([]) == common(["name", None]) == "float32"
        assert common([given[0][0], 2, 0.5]) == "float32"
        assert common([2, given[8][0], given[10][0]]) == "float16"  # of two with dimensions


@pytest.mark.parametrize("number", [0, -2, 300, 2**31 + 5, 2.75, -0.5, True, False])
def test_numbers_in_other_types(number):
    with jax.enable_x64(True):
        for name, kind in KINDS.items():
            wanted = torch.tensor(number).to(kind).item()  # integers wrap around
            if abs(wanted) != float("inf"):
                found = of_type(number, name)
                assert str(found.dtype) == name and complex(found) == complex(wanted), name
    assert is_value(number) == (type(number) is not bool)


def test_what_is_a_value_and_what_describes_a_tensor():
    assert is_value(X) and is_value(2j) and not any(map(is_value, ("floor", None, [1.0])))
    one = [[2, 3], "float32"]
    assert is_tensor(one) and is_tensor([[], "bool"])
    for other in (None, [one], [one, one], [one, None], [one, one, one], [[2, 3], "float32", 1]):
        assert not is_tensor(other)
    assert avals_of(one) == Aval((2, 3), "float32")
    assert avals_of([one, None]) == [Aval((2, 3), "float32"), None]
