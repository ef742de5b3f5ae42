"""Primitives that programs import from MindSpore's modules of Primitives; the calls in
`recorded_private_primitives.json`, with what MindSpore 2.10 on a CPU gave for each."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor as T
from lamella import ops
from lamella.compat.alias_paths import LATER, SOURCES
from lamella.ops.primitives.gradients import pulled_back

from ..contracts import check_op

FILES = LATER["ops.operations._grad_ops"]
RECORDED = json.loads(Path(__file__).with_name("recorded_private_primitives.json").read_text())


def R(*shape):  # noqa: N802  (short, as the calls are recorded)
    """Numbers between -2 and 2, the same for a shape at each call."""
    drawn = np.random.RandomState(sum(shape)).rand(*shape) * 4 - 2
    return T(drawn.astype(np.float32).round(3))


def classes():
    """The classes of all files by name."""
    modules = map(importlib.import_module, (f"lamella.{file}" for file in FILES))
    return {name: getattr(module, name) for module in modules for name in module.__all__}


def check(found, wanted):
    if not isinstance(wanted, dict):
        assert found == pytest.approx(wanted) and type(found) is type(wanted)
    elif "type" in wanted:
        assert (str(found.dtype), list(found.shape)) == (wanted["type"], wanted["shape"])
        elements = found.asnumpy().reshape(-1)
        if np.iscomplexobj(elements):
            elements = np.stack([elements.real, elements.imag], -1)
        np.testing.assert_allclose(elements, np.reshape(wanted["elements"], elements.shape),
                                   atol=3e-5, rtol=1e-4)
    else:
        [(kind, values)] = wanted.items()
        assert type(found).__name__ == kind and len(found) == len(values)
        for one, other in zip(found, values, strict=True):
            check(one, other)


@pytest.mark.parametrize("call", list(RECORDED))
def test_recorded(call):
    names = {**CLASSES, "ops": ops, "T": T, "R": R, "ms": ms}
    check(eval(call, names), RECORDED[call])  # noqa: S307


def test_no_class_hides_one_of_ops():
    assert not [name for name, kind in CLASSES.items() if vars(ops).get(name, kind) is not kind]


@pytest.mark.parametrize("path", [path for path in LATER if FILES[0] in LATER[path]])
def test_paths_are_known(path):
    assert path in SOURCES


CLASSES = classes()


@pytest.mark.parametrize("operator, inputs", [
    (CLASSES["ReluGrad"](), (R(3, 2), R(3, 2))),
    (CLASSES["MaxPoolGrad"](2, 2), (R(1, 2, 4, 4), R(1, 2, 2, 2), R(1, 2, 2, 2))),
    (CLASSES["KLDivLossGrad"]("none"), (R(2, 3), R(2, 3), abs(R(2, 3)))),
    (CLASSES["BiasAddGrad"](), (R(2, 3),)),
    (CLASSES["SolveTriangular"](), (R(3, 3) + ops.eye(3) * 5, R(3, 2))),
], ids=range(5))
def test_compiled(operator, inputs):
    compiled = ms.jit(lambda *xs: operator(*xs))(*inputs)
    np.testing.assert_allclose(compiled.asnumpy(), operator(*inputs).asnumpy(), rtol=1e-5)


X = np.random.default_rng(0).uniform(0.1, 0.9, (4, 3))


@pytest.mark.parametrize("operator, reference", [
    (lambda x: CLASSES["ACosGrad"]()(x, x), lambda x: -x / np.sqrt(1 - x * x)),
    (lambda x: CLASSES["SoftplusGrad"]()(x, x), lambda x: x / (1 + np.exp(-x))),
    (lambda x: CLASSES["TanhGrad"]()(x, x), lambda x: x * (1 - x * x)),
    (lambda x: CLASSES["SolveTriangular"]()(x[:3] + ops.eye(3) * 3, x[0]),
     lambda x: np.linalg.solve(np.triu(x[:3] + np.eye(3) * 3), x[0])),
], ids=range(4))
def test_values_and_gradients(operator, reference):
    check_op(operator, reference, [X])


def test_gradients_of_a_batch():
    x, dy = R(5, 3), R(5, 3) + 1
    one = CLASSES["SoftShrinkGrad"](0.3)
    np.testing.assert_allclose(ops.vmap(one)(dy, x).asnumpy(), one(dy, x).asnumpy())


@pytest.mark.parametrize("call, kind, text", [
    ("ReluGrad()(R(3))", TypeError, "2 inputs"),
    ("ReluGrad()(R(2), R(3))", ValueError, "shape"),
    ("SameTypeShape()(R(2), R(3))", ValueError, "x shape"),
    ("same_type_shape_(R(2), T([1, 2]))", TypeError, "x dtype"),
    ("SameTypeShape()(R(2), 1.0)", TypeError, "'y' must be"),
    ("SolveTriangular()(R(2, 3), R(2))", ValueError, "last two dimensions"),
    ("SolveTriangular()(R(2, 2), R(2), 5)", ValueError, "'trans' must be one of"),
    ("Correlate('wide')(R(2), R(2))", ValueError, "'pad_mode' must be one of"),
    ("BiasAddGrad()(R(2))", ValueError, "2 dimensions"),
    ("ScalarAdd()('a', 1)", TypeError, "must be numbers"),
    ("tuple_lt()([1], (1,))", TypeError, "of type tuple"),
    ("SequenceAdd()((1,), [1])", TypeError, "both lists"),
    ("SparseSegmentSum()(R(3), T([0, 1]), T([1, 0]))", ValueError, "must ascend"),
    ("SparseSegmentSum()(R(3), T([0, 3]), T([0, 1]))", ValueError, r"in \[0, 3\)"),
    ("RangeV2(2)(T(0), T(3), T(1))", ValueError, "at most 'maxlen'"),
    ("PSROIPooling(1.0, 2, 2)(R(1, 3, 4, 4), R(1, 5, 1))", RuntimeError, "'features' must have"),
])
def test_wrong_calls(call, kind, text):
    with pytest.raises(kind, match=text):
        eval(call, {**CLASSES, "R": R, "T": T})  # noqa: S307


def test_elements_between_limits_that_others_follow():
    values, limits = T([9, 13, 7], ms.int32), T([0, 2, 5, 6], ms.int32)
    found = [CLASSES["PadAndShift"]()(values, limits, shift).tolist() for shift in range(3)]
    assert found == [[9, 13, -1, -1, -1, -1], [-1, -1, 9, 13, 7, -1], [-1, -1, -1, -1, -1, 9]]


@pytest.mark.parametrize("name", ["Sum", "Mean", "SqrtN"])
def test_no_rows_make_no_segments(name):
    none = T(np.zeros(0, np.int32))
    assert CLASSES[f"SparseSegment{name}"]()(R(3, 2), none, none).shape == (0, 2)
    found = CLASSES[f"SparseSegment{name}WithNumSegments"]()(R(3, 2), none, none, T(2))
    assert found.tolist() == [[0, 0], [0, 0]]


def test_pulled_back_takes_a_loss_of_one_element():
    assert pulled_back(ops.ReduceSum(), T([2.0]), R(3))[0].asnumpy().tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("found", [True, False])
def test_networks_with_packed_weights(found):
    """`GRUV2` in MindSpore 2.10, and its gradients and those of `LSTM` by autodiff."""
    gru = CLASSES["GRUV2"](3, 2, 1, True, False, 0.0)
    x, h, w = R(4, 2, 3), R(1, 2, 2), R(42, 1, 1)
    lengths = T([4, 3], ms.int32)
    out, last, *_ = gru(x, h, w, lengths)
    if found:
        wanted = RECORDED["GRUV2(3, 2, 1, True, False, 0.0)(R(4, 2, 3), R(1, 2, 2), R(42, 1, 1), "
                          "T([4, 3], ms.int32))[0]"]["elements"]
        np.testing.assert_allclose(out.asnumpy().reshape(-1), wanted, atol=1e-5)
        return
    ones = ops.ones_like
    gradients = CLASSES["GRUV2Grad"](3, 2, 1, True, False, 0.0)(
        x, h, w, lengths, out, last, ones(out), ones(last), None)
    by_autodiff = ms.grad(lambda *xs: sum(v.sum() for v in gru(*xs)[:2]), (0, 1, 2))(x, h, w)
    for one, other in zip(gradients, by_autodiff, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), atol=1e-5)


def test_layers_and_directions_take_their_own_weights_one_after_the_other():
    draw = np.random.default_rng(0)
    matrices = [draw.normal(size=9 * (width + 3)) for width in (4, 4, 6, 6)]
    biases = [draw.normal(size=18) for _ in matrices]
    x, h = draw.normal(size=(5, 2, 4)), draw.normal(size=(4, 2, 3))
    whole = CLASSES["GRUV2"](4, 3, 2, True, True, 0.0)
    out, last, *_ = whole(*(T(a.astype("f4")) for a in (x, h, np.concatenate(matrices + biases))))
    for layer, width in enumerate((4, 6)):
        one, sides = CLASSES["GRUV2"](width, 3, 1, True, False, 0.0), []
        for side in range(2):
            number = 2 * layer + side
            w = np.concatenate([matrices[number], biases[number]])
            found = one(*(T(a.astype("f4")) for a in (x[::-1] if side else x, h[number:number + 1],
                                                      w)))[0].asnumpy()
            np.testing.assert_allclose(last[number].asnumpy(), found[-1], atol=1e-5)
            sides.append(found[::-1] if side else found)
        x = np.concatenate(sides, -1)
    np.testing.assert_allclose(out.asnumpy(), x, atol=1e-5)


def test_the_gradient_of_lstm():
    lstm, c = ops.LSTM(3, 2, 1, True, False, 0.0), R(1, 2, 2)
    x, h, w = R(4, 2, 3), R(1, 2, 2), R(56, 1, 1)
    out = lstm(x, h, c, w)
    gradients = CLASSES["LSTMGrad"](3, 2, 1, True, False, 0.0)(
        x, h, c, w, *out[:3], *map(ops.ones_like, out[:3]), None)
    by_autodiff = ms.grad(lambda *xs: sum(v.sum() for v in lstm(*xs)[:3]), (0, 1, 2, 3))(x, h, c, w)
    for one, other in zip(gradients, by_autodiff, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), atol=1e-5)


@pytest.mark.parametrize("call, kind, text", [
    ("PSROIPooling(1.0, 2.5, 2)", TypeError, "'group_size' must be an int"),
    ("PSROIPooling(-1.0, 2, 2)", ValueError, "'spatial_scale' must be above 0"),
    ("PSROIPoolingGrad([3, 3], 1.0, 2, 2)", TypeError, "'input_size' must be an int or a tuple"),
    ("PSROIPoolingGrad((0, 3), 1.0, 2, 2)", ValueError, "'input_size' must be above 0"),
    ("Uniform(1, 2.0)", TypeError, "'minval' must be a float"),
    ("Uniform()(T([1]))", TypeError, "'x' must be a Tensor of float"),
    ("SparseCountSparseOutput()(T([[0, 5]]), T([0]), T([2, 2]), T([1]))", RuntimeError, "inside"),
    ("SparseCountSparseOutput()(T([[0, 1]]), T([0]), T([2, 2]), T([1, 2]))", RuntimeError,
     "as many 'weights'"),
    ("DenseToDenseSetOperation('xor')(T([[1]]), T([[1]]))", ValueError, "'set_operation'"),
    ("DenseToDenseSetOperation('union')(T([[1]]), T([[1], [2]]))", ValueError,
     "all but the last ones equal"),
    ("SparseReorder()(T([[0, 5]]), T([1]), T([2, 2]))", ValueError, "inside of the shape"),
    ("SparseReshape()(T([[0, 1]]), T([2, 2]), T([3, -1]))", ValueError, "same number of elements"),
    ("RaggedTensorToTensor(['VALUE_ROWIDS'])", ValueError, "'row_partition_types' must be"),
    ("CSRSparseMatrixToDense()(T([2, 2]), T([0, 1]), T([0, 1]), T([0]), T([1.0]))", ValueError,
     "3 row pointers"),
    ("SparseToDenseV2()(T([[1], [0]]), T([3]), T([1, 2]), T(0))", ValueError, "row-major order"),
    ("SolveTriangular()(R(2, 3, 3), R(3, 1))", ValueError, "all dimensions"),
], ids=range(16))
def test_wrong_attributes_and_tensors(call, kind, text):
    with pytest.raises(kind, match=text):
        eval(call, {**CLASSES, "R": R, "T": T})  # noqa: S307


def test_sizes_of_sets_have_the_shape_of_the_rows():  # 2.10 on a CPU gives 1,000 numbers
    found = CLASSES["SetSize"]()(T([[0, 1], [1, 2], [1, 3]]), T([1, 2, 2]), T([3, 4]))
    assert found.asnumpy().tolist() == [1, 1, 0] and found.dtype == ms.int32


def test_matrices_through_their_forms():
    dense = R(2, 3, 4) * (R(2, 3, 4) > 0)
    places = ops.nonzero(dense)
    parts = CLASSES["DenseToCSRSparseMatrix"]()(dense, places)
    again = CLASSES["CSRSparseMatrixToDense"]()(*parts)
    np.testing.assert_array_equal(again.asnumpy(), dense.asnumpy())
    turned = CLASSES["CSRSparseMatrixToDense"]()(*CLASSES["SparseMatrixTranspose"]()(*parts))
    np.testing.assert_array_equal(turned.asnumpy(), dense.asnumpy().transpose(0, 2, 1))


@pytest.mark.parametrize("other", ["SparseMatrixMatMul", "SparseMatrixSparseMatMul"])
@pytest.mark.parametrize("turned", ["", "transpose", "adjoint"])
@pytest.mark.parametrize("side", [0, 1])
def test_products_of_sparse_matrices(other, turned, side):
    """Plain by default; one side turned, with complex numbers, whose adjoint is another matrix."""
    raw = R(2, 3, 3).asnumpy() + 1j * R(2, 3, 3).asnumpy()[:, ::-1]
    one, two = (raw * (raw.real > 0)).astype(np.complex64), raw.astype(np.complex64)
    given = [CLASSES["DenseToCSRSparseMatrix"]()(T(x), ops.nonzero(T(x))) for x in (one, two)]
    sides = ("a", "b") if other == "SparseMatrixSparseMatMul" else ("x1", "x2")
    product = CLASSES[other](**({f"{turned}_{sides[side]}": True} if turned else {}))
    if sides[0] == "a":
        found = CLASSES["CSRSparseMatrixToDense"]()(*product(*given[0], *given[1]))
    else:
        found = product(*given[0], T(two))
    pair = [one, two]
    if turned:
        pair[side] = pair[side].swapaxes(1, 2)
        pair[side] = pair[side].conj() if turned == "adjoint" else pair[side]
    np.testing.assert_allclose(found.asnumpy(), pair[0] @ pair[1], rtol=1e-5, atol=1e-5)


def test_gradients_reach_the_values_of_sparse_tensors():
    places = T([[0, 0], [0, 2], [1, 1]])
    check_op(lambda v: CLASSES["SparseSoftmax"]()(places, v, T([2, 3])),
             lambda v: np.concatenate([np.exp(v[:2]) / np.exp(v[:2]).sum(), [1.0]]),
             [np.array([0.3, -0.2, 0.5])])


def test_sums_of_sequences():
    total = CLASSES["SequenceAddN"]()
    assert total((1, 2, 3)) == 6 and total([T([1]), T([2])]).tolist() == [3]
    with pytest.raises((TypeError, ValueError)):
        total(())
