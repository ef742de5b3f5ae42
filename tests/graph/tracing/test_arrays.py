"""Stand-ins for NumPy arrays: what is computed of one is computed again for the next array."""

import copy

import numpy as np
import pytest

from lamella.graph.tracing.arrays import (
    LONGEST,
    GivenArray,
    _source,
    as_input,
    kind_of_array,
    may_be_input,
)
from lamella.graph.tracing.refusals import CannotTrace
from lamella.graph.tracing.scalar_environment import ScalarEnvironment

FIRST = np.arange(1.0, 7.0).reshape(2, 3)
OTHER = np.array([[2.5, -1.0, 0.5], [8.0, 3.0, -4.5]])


def stand_in(array=FIRST):
    numbers = ScalarEnvironment([array], [])
    (given,) = numbers.given
    return given, numbers


def value_of(found, numbers, array):
    """What a stand-in is for another array."""
    if isinstance(found, (list, tuple)):
        return type(found)([value_of(part, numbers, array) for part in found])
    if type(found) is not GivenArray and type(found) is found.__class__:
        return found
    text = found.text
    place = numbers.index_of(text)
    computed = numbers.function()(array)
    return None if computed is None else computed[place]


@pytest.mark.parametrize("use", [
    lambda a: a[0], lambda a: a[:, 1:], lambda a: a[..., None], lambda a: a[-1, ::2],
    lambda a: a[1:2, ..., -2], lambda a: a[None, (0, 1)], lambda a: a[True], lambda a: a.T,
    lambda a: a.reshape(3, -1), lambda a: a.astype(np.float16), lambda a: a.astype("int32"),
    lambda a: a.astype(np.dtype("float32")), lambda a: a.sum(0), lambda a: a.mean(axis=1),
    lambda a: a.sum(axis=1, keepdims=True), lambda a: a.sum(), lambda a: a[0, 1] * 2 + 1,
    lambda a: a * 2 - 1, lambda a: -2 * a, lambda a: 1 / (abs(a) + 1), lambda a: a @ a.T,
    lambda a: np.sqrt(a * a), lambda a: np.maximum(a, 1.5), lambda a: np.maximum(-1, a.T),
    lambda a: a > 2, lambda a: a.tolist(), lambda a: a.ravel().tolist(), lambda a: a.max(1),
    lambda a: a.transpose(1, 0), lambda a: a.squeeze(), lambda a: a.copy(), lambda a: a.flatten(),
    lambda a: a.min().item(), lambda a: a.argmax(), lambda a: a.std(ddof=1), lambda a: a.prod(None),
    lambda a: [*a.shape, a.ndim, a.size, a.itemsize, a.nbytes, *a.strides, len(a)]],
    ids=range(37))
def test_what_is_computed_of_an_array(use):
    given, numbers = stand_in()
    found = use(given)
    for array in (FIRST, OTHER):
        mine, wanted = value_of(found, numbers, array), use(array)
        np.testing.assert_array_equal(mine, wanted)
        assert np.asarray(mine).dtype == np.asarray(wanted).dtype or isinstance(wanted, list)
    assert not isinstance(found, np.ndarray) or found.value is not None


def in_place(a):
    a += 1


def assigned(a):
    a[0] = 1


def removed(a):
    del a[0]


@pytest.mark.parametrize("use, what", [
    (list, "__iter__"), (lambda a: 2.0 in a, "__contains__"), (float, "__float__"),
    (int, "__int__"), (bool, "__bool__"), (str, "__str__"), (repr, "__repr__"), (hash, "__hash__"),
    (lambda a: f"{a}", "__format__"), (in_place, "__iadd__"), (assigned, "__setitem__"),
    (removed, "__delitem__"), (copy.copy, ""), (copy.deepcopy, ""),
    (np.asarray, "__array_struct__"),
    (lambda a: np.concatenate([a, a]), "__array_function__"), (lambda a: a.tobytes(), "tobytes"),
    (lambda a: a.base, "base"), (lambda a: (a > 2).tolist(), "tolist")])
def test_what_needs_the_array_itself(use, what):
    given, _ = stand_in()
    with pytest.raises(CannotTrace, match=f"uses {what}.*of an array that it was given"):
        use(given)


@pytest.mark.parametrize("use", [
    np.add.reduce, lambda a: np.add(a, 1, dtype="f4"), lambda a: np.add.outer(a, a),
    lambda a: a[np.array([0, 1])], lambda a: a[[0, 1]], lambda a: a[np.int64(0):],
    lambda a: a.astype(object), lambda a: np.frompyfunc(lambda v: v, 1, 1)(a),
    lambda a: np.maximum(a, np.ones(3)), lambda a: a + 1j * np.float32(2)])
def test_what_has_no_source_text(use):
    given, _ = stand_in()
    with pytest.raises(CannotTrace, match="computes with the values of a NumPy array argument"):
        use(given)


def test_an_attribute_that_arrays_lack():
    given, _ = stand_in()
    with pytest.raises(AttributeError, match="'numpy.ndarray' object has no attribute 'nothing'"):
        given.nothing  # noqa: B018


def test_long_formulas_need_the_values():
    given, _ = stand_in()
    found = given
    steps = 0
    while steps < 100:
        steps += 1
        try:
            found = found + 1
        except CannotTrace:
            break
        assert len(found.text) <= LONGEST
    assert found.text.count("np.add") == steps - 1 and len(f"np.add({found.text}, (1))") > LONGEST
    for value in (FIRST, FIRST.sum()):
        assert given._made(value, "n" * LONGEST).text == "n" * LONGEST
        with pytest.raises(CannotTrace):
            given._made(value, "n" * (LONGEST + 1))


@pytest.mark.parametrize("value, text", [
    (slice(1, None, 2), "slice(1, None, 2)"), (slice(-1), "slice(None, -1, None)"),
    (..., "Ellipsis"),
    (None, "(None)"), (-2, "(-2)"), (0.5, "(0.5)"), (True, "(True)"), ("a", "('a')"),
    ((1, (slice(2), None)), "((1), (slice(None, 2, None), (None), ), )"),
    (np.float16, "np.dtype('<f2')"), (np.dtype("i4"), "np.dtype('<i4')"), (int, "np.dtype('<i8')")])
def test_the_source_text_of_operands(value, text):
    assert _source(value) == text
    assert eval(text, {"np": np}) == (np.dtype(value) if isinstance(value, type) else value)


@pytest.mark.parametrize("value", [np.int64(1), slice(np.int64(1), 2), slice(0, 1.5), [1], {}, 1j])
def test_operands_without_a_source_text(value):
    with pytest.raises(CannotTrace):
        _source(value)


class Own(np.ndarray):
    pass


@pytest.mark.parametrize("value, may", [
    (np.ones(2), True), (np.ones(2, bool), True), (np.ones(2, "c8"), True), (np.array(3), True),
    (np.ones(2, ">f4"), False), (np.array(["a"]), False), (np.array([{}]), False),
    (np.ones(2).view(Own), False), (np.float32(3), False), ([1.0], False), (3, False)])
def test_arrays_that_may_be_inputs(value, may):
    assert may_be_input(value) is may


def read_only(array):
    array.flags.writeable = False
    return array


SPREAD = np.lib.stride_tricks.as_strided(np.ones(1, np.float32), (3,), (0,))


@pytest.mark.parametrize("array, shares", [
    (np.arange(6.0).reshape(2, 3).T, True), (np.arange(6.0)[::-1], False), (SPREAD, True),
    (np.arange(6.0).reshape(2, 3)[:, ::-1], False), (read_only(np.arange(3.0)), False)])
def test_inputs_share_memory_where_they_can(array, shares):
    raw = as_input(array)
    assert raw.tolist() == array.tolist()
    assert np.shares_memory(raw.numpy(), array) is shares


def test_kinds_of_arrays():
    kinds = [kind_of_array(array) for array in (
        FIRST, FIRST.astype("f4"), FIRST.T, FIRST[:, ::-1], read_only(FIRST.copy()), FIRST[:1])]
    assert len(set(kinds)) == 6 and kind_of_array(OTHER) == kinds[0]
