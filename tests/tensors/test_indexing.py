"""The indexing language: reading and assigning, against NumPy, MindSpore 2.10 and differences."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import lamella as ms
from lamella import Parameter, Tensor

N = None


def _tensors(index):
    """The index with its arrays as Tensors."""
    if isinstance(index, tuple):
        return tuple(_tensors(i) for i in index)
    return Tensor(index) if isinstance(index, np.ndarray) else index


def _fresh():
    return np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


MASK = np.array([[True, False, True], [False, True, False]])
INDICES = [
    0, -1, (0, 1), (0, 1, 2), slice(None), slice(1, None), slice(None, None, 2),
    slice(None, None, -1), slice(1, None, -1), slice(-1, 0, -1),
    (slice(None), slice(None, None, -1)),
    (slice(None), slice(None, None, -2), slice(1, 3)), (..., slice(None, None, -1)),
    slice(0, 0), slice(5, None), slice(-5, 1), (slice(None), slice(1, 2), 3), ..., (..., 0),
    (0, ..., 1), N, (slice(None), N), (..., N), (N, 0, N), True, False, (True, 0), (0, True), (),
    [0], [0, 1], [1, 0, 1], [-1], (slice(None), [0, 2]), (..., [0, 2]), ([0, 1], [1, 2]),
    ([0, 1], slice(None), [1, 2]), [True, False], (slice(None), [True, False, True]),
    np.array([1, 0]), np.array([[1, 0]]), np.array([1, 0], np.int32), np.array([1, 0], np.uint8),
    np.array(1), (np.array([0, 1]), np.array([1, 2])), (np.array([0, 1]), 1), (1, np.array([0, 1])),
    (slice(None), np.array([0, 1]), N), (np.array([[0], [1]]), np.array([[1, 2]])),
    (0, slice(None), np.array([1, 2])), (1, N, [0, 1]), (N, [0, 1], slice(None), N, [1, 2]),
    ([0, 1], N, [1, 2]), ([0, 1], ..., [1, 2]), (..., [0, 1], [1, 2]), (0, [0, 1], ..., 1),
    MASK, (MASK, 0), (MASK, [0, 1, 2]), (0, np.array([True, False, True])), range(2),
    (np.array([True, False]), 0, np.array([1])), (slice(None, None, -1), [0, 2]),
    ([1, 0], slice(None, None, -1), slice(3, 0, -2)), (True, ..., True), (N, True),
    np.zeros((0,), np.int64), (slice(None), []), (np.int64(1), np.bool_(True)),
    (True, slice(None, None, 2)), (slice(1, None), True, N), (..., True, slice(1, 3)), (False, N),
    np.zeros((2, 3, 4), bool),
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_reading_as_numpy(index):
    expected = _fresh()[list(index) if isinstance(index, range) else index]
    for form in (index, _tensors(index)):
        found = Tensor(_fresh())[form]
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found.asnumpy(), expected)


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_assigning_as_numpy(index):
    plain = list(index) if isinstance(index, range) else index
    part = _fresh()[plain]
    values = -1 - np.arange(part.size, dtype=np.float32).reshape(part.shape)
    for value in (7.0, values, values[..., :1] if part.ndim else values):
        expected = _fresh()
        expected[plain] = value
        for form in (index, _tensors(index)):
            x = Tensor(_fresh())
            x[form] = Tensor(value) if isinstance(value, np.ndarray) else value
            np.testing.assert_array_equal(x.asnumpy(), expected)


shapes = hnp.array_shapes(min_dims=1, max_dims=4, max_side=4)


@settings(max_examples=300)
@given(st.data())
def test_basic_indices(data):
    shape = data.draw(shapes)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    expected = array[index]
    x = Tensor(array)
    np.testing.assert_array_equal(x[index].asnumpy(), expected)
    value = np.random.default_rng(0).random(np.shape(expected), np.float32)
    array[index] = value
    x[index] = Tensor(value)
    np.testing.assert_array_equal(x.asnumpy(), array)


@settings(max_examples=300)
@given(st.data())
def test_mixed_indices(data):
    shape = data.draw(shapes)
    result = data.draw(hnp.array_shapes(max_dims=2, max_side=3))
    parts = []
    for length in shape:
        parts.append(data.draw(st.one_of(
            st.integers(-length, length - 1), st.slices(length), st.just(slice(None)),
            hnp.arrays(np.int64, result, elements=st.integers(-length, length - 1)))))
        if data.draw(st.integers(0, 5)) == 0:
            parts.append(None)
    index = tuple(parts)
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    x = Tensor(array)
    expected = array[index]
    np.testing.assert_array_equal(x[_tensors(index)].asnumpy(), expected)
    array[index] = -5.0
    x[_tensors(index)] = -5
    np.testing.assert_array_equal(x.asnumpy(), array)


@settings(max_examples=100)
@given(st.data())
def test_masks(data):
    shape = data.draw(shapes)
    mask = data.draw(hnp.arrays(bool, shape[:data.draw(st.integers(1, len(shape)))]))
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    x = Tensor(array)
    np.testing.assert_array_equal(x[Tensor(mask)].asnumpy(), array[mask])
    values = -1 - np.arange(array[mask].size, dtype=np.float32).reshape(array[mask].shape)
    for value in (2.5, values):
        array[mask] = value
        x[Tensor(mask)] = Tensor(value)
        np.testing.assert_array_equal(x.asnumpy(), array)


@pytest.mark.parametrize("step", [2**24, 2**62, 2**63 - 1, 2**63, 2**70, -2**62, -2**63, -2**70])
@pytest.mark.parametrize("begin", [None, 1, -1, 5])
def test_steps_beyond_all_lengths(step, begin):
    plain = np.arange(12.0).reshape(4, 3)
    for layout in (lambda x: x, lambda x: x.T, lambda x: x[::2]):
        for index in (slice(begin, None, step), (slice(None), slice(begin, None, step))):
            np.testing.assert_array_equal(layout(Tensor(plain))[index].asnumpy(),
                                          layout(plain)[index])
            changed, expected = Tensor(layout(plain).copy()), layout(plain).copy()
            changed[index], expected[index] = -1.0, -1.0
            np.testing.assert_array_equal(changed.asnumpy(), expected)


def test_lists_with_tensors_slices_or_lists_are_tuples():
    x = Tensor(_fresh())
    assert x[[0, Tensor(1)]].shape == (4,)
    assert x[[Tensor(0), Tensor(1)]].shape == (4,)
    assert x[[slice(None), 1]].shape == (2, 4)
    assert x[[[0, 1], [1, 0]]].shape == (2, 4)
    assert x[Tensor(0):Tensor(1)].shape == (1, 3, 4)


@pytest.mark.parametrize("index", [0, slice(0, 1), ..., N, slice(None, None, 2), (0, 1), ()])
def test_basic_indices_give_views(index):
    x, array = Tensor(_fresh()), _fresh()
    x[index][:] = 99
    array[index][...] = 99
    np.testing.assert_array_equal(x.asnumpy(), array)
    y = Tensor(_fresh())
    part = y[index]
    y[...] = -1
    assert (part == -1).asnumpy().all()


def test_true_alone_is_a_new_dimension_and_gives_a_view():
    x = Tensor(_fresh())
    x[True][:] = 99  # in MindSpore; NumPy copies
    assert (x == 99).asnumpy().all()


VALUES = [
    ("x[0] = 1.7", "int32", [1, 1, 2, 3, 4, 5]), ("x[0] = 2**40", "int32", [0, 1, 2, 3, 4, 5]),
    ("x[0] = Tensor([1.7])", "int32", [1, 1, 2, 3, 4, 5]),
    ("x[1:3] = [1.5, 2.5]", "int32", [0, 1, 2, 3, 4, 5]),
    ("x[0] = True", "int32", [1, 1, 2, 3, 4, 5]), ("x[x > 2] = 1.5", "int32", [0, 1, 2, 1, 1, 1]),
    ("x[x > 2] = Tensor(1.5)", "int32", [0, 1, 2, 1, 1, 1]),
    ("x[0] = -1", "int32", [-1, 1, 2, 3, 4, 5]),
    ("x[[0, 1]] = Tensor([1.5, 2.5])", "int32", [1, 2, 2, 3, 4, 5]),
    ("x[0] = 300", "uint8", [44, 1, 2, 3, 4, 5]), ("x[0] = -1", "uint8", [255, 1, 2, 3, 4, 5]),
    ("x[0] = 1e6", "float16", [np.inf, 1, 2, 3, 4, 5]), ("x[0] = 2", "bool", [1, 1, 1, 1, 1, 1]),
    ("x[0:2] = (3, 4)", "float32", [3, 4, 2, 3, 4, 5]),
    ("x[0:2] = np.array([3, 4])", "float64", [3, 4, 2, 3, 4, 5]),
    ("x[0:2] = [Tensor(3.0), Tensor(4)]", "float32", [3, 4, 2, 3, 4, 5]),
    ("x[0:0] = 5", "float32", [0, 1, 2, 3, 4, 5]),
    ("x[[]] = 5", "float32", [0, 1, 2, 3, 4, 5]),
    ("x[0:0] = Tensor([], ms.float32)", "float32", [0, 1, 2, 3, 4, 5]),
    ("x[::-1] = x", "float32", [5, 4, 3, 2, 1, 0]),
    ("x[1:] = x[:-1]", "float32", [0, 0, 1, 2, 3, 4]),
    ("x[0] = np.float64(3.5)", "float32", [3.5, 1, 2, 3, 4, 5]),
]


@pytest.mark.parametrize(("statement", "dtype", "expected"), VALUES)
def test_values_are_converted_to_the_type_of_the_target(statement, dtype, expected):
    x = Tensor(np.arange(6), getattr(ms, "bool_" if dtype == "bool" else dtype))
    exec(statement, {"x": x, "Tensor": Tensor, "np": np, "ms": ms})
    assert str(x.dtype).lower() == dtype
    assert x.tolist() == expected


def test_rank_zero():
    x = Tensor(5)
    x[...] = 3
    x[()] = x[...] + 1
    assert x.item() == 4 and x[None].shape == (1,) and x[True].shape == (1,)


@pytest.mark.parametrize(("index", "kind", "message"), [
    (5, IndexError, r"index 5 is out of bounds.*Index: 5, shape: \(2, 3, 4\)"),
    ((0, -4), IndexError, r"index -4 is out of bounds.*Index: \(0, -4\)"),
    ((0, 1, 2, 3), IndexError, r"too many indices for tensor.*Index: \(0, 1, 2, 3\)"),
    (([0], 1, 2, 3), IndexError, "too many indices for a tensor of 3 dimensions"),
    ([5], IndexError, r"index 5 is out of bounds.*Index: \[5\]"),
    (([0], 7), IndexError, "index 7 is out of bounds for dimension 1 with size 3"),
    ((..., ...), IndexError, "only one ellipsis"),
    ("a", IndexError, "made of integers, slices, None.*but got 'a' of type str"),
    (1.0, IndexError, "but got 1.0 of type float"),
    ({}, IndexError, "of type dict"),
    (Tensor, IndexError, "but got <class 'lamella.tensors.tensor.Tensor'>"),
    ((0, Tensor), IndexError, "but got <class 'lamella.tensors.tensor.Tensor'>"),
    (slice(1, 2.0), TypeError, "slice indices must be integers"),
    (slice(None, None, 0), ValueError, "step"),
    (([0, 1], [0, 1, 2]), ValueError, "shape mismatch"),
    ([True, False, True], IndexError, "mask"),
    ([1.0], IndexError, "must hold integers or booleans"),
], ids=repr)
def test_bad_indices(index, kind, message):
    x = Tensor(_fresh())
    with pytest.raises(kind, match=message):
        x[index]
    with pytest.raises(ValueError if message == "mask" else kind, match=message):
        x[index] = 0
    np.testing.assert_array_equal(x.asnumpy(), _fresh())


@pytest.mark.parametrize("index, dimension", [
    ((..., [9]), "a dimension with size 4"), ((slice(None), [9]), "a dimension with size 3"),
    ((None, [9]), "a dimension with size 2"), (([9], ...), "dimension 0 with size 2"),
    (([0], [9]), "dimension 1 with size 3"), (([0], [0], [9]), "dimension 2 with size 4")],
    ids=repr)
def test_which_dimension_a_tensor_picks_from(index, dimension):
    """The kernel counts from the first that a tensor picks from: it may not say a wrong number."""
    index = tuple(Tensor(part) if isinstance(part, list) else part for part in index)
    x, said = Tensor(_fresh()), f"index 9 is out of bounds for {dimension}. Index"
    with pytest.raises(RuntimeError, match=said):
        x[index]
    with pytest.raises(ValueError, match=said):
        x[index] = 0



@pytest.mark.parametrize(("index", "value", "kind", "message"), [
    (0, [1, 2, 3], ValueError, r"can't be broadcast to the part of a tensor of shape \(2, 3, 4\)"),
    ([0], np.zeros(3), ValueError, r"value of shape \(3,\) can't be broadcast"),
    (0, "a", TypeError, "must be a Tensor, a number, or a list.*but got str"),
    (0, None, TypeError, "but got NoneType"),
    (0, 1j, TypeError, "complex value can't be assigned"),
])
def test_bad_values(index, value, kind, message):
    x = Tensor(_fresh())
    with pytest.raises(kind, match=message):
        x[index] = value
    np.testing.assert_array_equal(x.asnumpy(), _fresh())


# -- gradients ------------------------------------------------------------------------------------


def _differences(fn, x, step=1e-6):
    gradient = np.zeros(x.shape)
    for place in np.ndindex(*x.shape):
        there = [x.copy(), x.copy()]
        there[0][place] += step
        there[1][place] -= step
        up, down = (fn(Tensor(t)).asnumpy() for t in there)
        gradient[place] = (up.sum() - down.sum()) / (2 * step)
    return gradient


def _read(index):
    def fn(x):
        part = x[index]
        return (part * part * part).sum()
    return fn


def _write(index):
    def fn(x):
        y = x * 2
        y[index] = x[0, 0, 0] * x[1, 2, 3]
        return (y * y * x).sum()
    return fn


def _write_input(index):
    def fn(x):
        x[index] = x[0, 0, 0] * x[1, 2, 3]
        return (x * x).sum()
    return fn


@pytest.mark.parametrize("index", [
    0, (..., slice(None, None, -1)), ([0, 1], slice(None), [1, 2]), MASK, (0, slice(None), [1, 2]),
    (slice(None, None, -1), [0, 2]), (slice(1, None), N), True], ids=repr)
@pytest.mark.parametrize("make", [_read, _write, _write_input])
def test_gradients(make, index):
    x = np.random.default_rng(1).normal(size=(2, 3, 4))
    fn = make(_tensors(index))
    given_ = Tensor(x)
    found = ms.grad(fn)(given_)
    np.testing.assert_allclose(found.asnumpy(), _differences(fn, x), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(given_.asnumpy(), x)
    twice = ms.grad(lambda t: ms.grad(fn)(t).sum())
    once = ms.grad(fn)
    np.testing.assert_allclose(twice(given_).asnumpy(), _differences(once, x), rtol=1e-5, atol=1e-6)


def test_a_value_that_an_operator_saved_may_be_overwritten():
    # numbers: MindSpore 2.10
    x = Tensor([1.0, -2.0, 3.0])

    def relu_then_write(x):
        y = ms.ops.relu(x)
        y[0] = 5.0
        return (y * y).sum()

    def exp_then_write(x):
        y = x.exp()
        y[0] = 5.0
        return (y * y).sum()

    assert ms.grad(relu_then_write)(x).tolist() == [0, 0, 6]
    np.testing.assert_allclose(ms.grad(exp_then_write)(x).asnumpy(),
                               [0.0, 3.6631238e-02, 8.0685852e+02], rtol=2e-6)


def test_part_of_an_intermediate_value_may_be_written_through():
    def fn(x):
        y = x * 2
        part = y[0:2]
        part[0] = 5.0
        return (y * y).sum()

    assert ms.grad(fn)(Tensor([1.0, -2.0, 3.0])).tolist() in ([0, -16, 24], [8, -16, 24])


def test_a_parameter_may_be_written_inside_a_gradient():
    # numbers: MindSpore 2.10
    p = Parameter(Tensor([1.0, -2.0, 3.0]), name="p")

    def fn():
        p[0] = 5.0
        return (p * p).sum()

    gradient = ms.grad(fn, None, p)()
    assert gradient.tolist() == [10, -4, 6]
    assert p.asnumpy().tolist() == [5, -2, 3]


def a_row(w, x):
    row = w[1]
    row[0] = 7
    return (w * w * x).sum()


def a_row_with_what_is_no_constant(w, x):
    row = w[1]
    row[0] = x[0, 0]
    return (w * w * x).sum()


def all_of_a_row(w, x):
    row = w[1]
    row[:] = 0
    return (w * w * x).sum()


def a_part_of_a_part(w, x):
    rows = w[1:]
    rows[0][1:2][0] = 5
    return (w * w * x).sum()


def one_of_two_names(w, x):
    row, same = w[0], w[0]
    row[0] = 3
    return (same * same).sum()


@pytest.mark.parametrize("how", ["eager", "compiled", "a compiled function inside"])
@pytest.mark.parametrize("write, value, gradient, after", [
    (a_row, 185, [0, 4, 42, 24], [0, 1, 7, 3]),
    (a_row_with_what_is_no_constant, 41, [0, 4, 6, 24], [0, 1, 1, 3]),
    (all_of_a_row, 2, [0, 4, 0, 0], [0, 1, 0, 0]),
    (a_part_of_a_part, 114, [0, 4, 12, 40], [0, 1, 2, 5]),
    (one_of_two_names, 10, [6, 2, 0, 0], [3, 1, 2, 3])])
def test_a_part_of_a_parameter_may_be_written_inside_a_gradient(write, value, gradient, after, how):
    # numbers: MindSpore 2.10
    p = Parameter(Tensor([[0.0, 1.0], [2.0, 3.0]]), name="p")
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])

    def fn(x):
        return write(p, x)

    step = ms.value_and_grad(ms.jit(fn) if how == "a compiled function inside" else fn, None, p)
    step = ms.jit(step) if how == "compiled" else step
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the last one isn't replayed
        for _ in range(3):
            p.set_data(Tensor([[0.0, 1.0], [2.0, 3.0]]))
            found, by_p = step(x)
            assert float(found) == value and by_p.reshape(-1).tolist() == gradient
            assert p.reshape(-1).tolist() == after


def test_a_part_of_a_parameter_whose_value_a_derivative_needs():
    p = Parameter(Tensor([[1.0, 2.0]]), name="p")

    def fn():
        before = (p * p).sum()
        p[0][1] = 5.0
        return before + p.sum()

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        ms.grad(fn, None, p)()


def test_a_part_of_a_parameter_in_a_further_derivative_is_refused():
    p = Parameter(Tensor([[1.0, 2.0]]), name="p")

    def fn(x):
        p[0][1] = 5.0
        return (p * x).sum()

    with pytest.raises(RuntimeError, match="Change the input itself"):
        ms.grad(lambda x: ms.grad(fn, None, p)(x).sum())(Tensor([[1.0, 2.0]]))


@pytest.mark.parametrize("index", [(0,), ()])
def test_what_is_written_into_a_parameter_has_no_gradient_and_a_warning_says_so(index):
    p = Parameter(Tensor([[1.0, 2.0]]), name="p")

    def fn(x):
        if index:
            p[0][1] = x[0, 1] * 2
        else:
            p[0, 1] = x[0, 1] * 2
        return (p * x).sum()

    with pytest.warns(UserWarning, match="assignment to parameter 'p'"):
        assert ms.grad(fn, 0, p)(Tensor([[1.0, 3.0]]))[0].tolist() == [[1, 6]]


def test_a_parameter_outside():
    p = Parameter(Tensor([1.0, 2.0]), name="p")
    p[0] = 5
    p[1:][0] = 7
    assert p.asnumpy().tolist() == [5, 7] and isinstance(p, Parameter)


@pytest.mark.parametrize("step", [2**24 - 1, 2**24, 2**24 + 1, -1, -3])
def test_reversed_and_far_steps_beside_masks_and_tensors(step):
    array = np.arange(60.0).reshape(3, 4, 5)
    picked = np.array([2, 0])
    mask = np.array([True, False, True, True])
    for index in ((picked, slice(None, None, step)), (slice(None, None, step), picked),
                  (slice(None, None, step), mask), (slice(None), slice(None, None, step), picked),
                  (slice(None, None, step), slice(None, None, -2), 1)):
        part = array[index]
        np.testing.assert_array_equal(Tensor(array)[_tensors(index)].asnumpy(), part)
        for value in (-7.0, -1 - np.arange(float(part.size)).reshape(part.shape)):
            expected, x = array.copy(), Tensor(array)
            expected[index] = value
            x[_tensors(index)] = value if isinstance(value, float) else Tensor(value)
            np.testing.assert_array_equal(x.asnumpy(), expected)


@pytest.mark.parametrize("index", [(slice(None), MASK.T[:2] * 0 > 0), (0, MASK), (MASK, 0, 0)])
def test_masks_of_another_shape(index):
    x = Tensor(_fresh())
    with pytest.raises((IndexError, ValueError)):
        x[_tensors(index)]
    with pytest.raises((IndexError, ValueError)):
        x[_tensors(index)] = 1.0
