"""Operations made of others: which they run, in which order, and from which numbers."""

import random

import numpy as np
import pytest
from PIL import Image

import lamella.dataset.transforms as T
from lamella.common.mersenne_twister import Mt19937
from lamella.dataset import vision
from lamella.dataset.transforms.operation import (
    PyTensorOperation,
    Streams,
    TensorOperation,
    flattened,
    is_pillow,
)

ONE = np.ones(3)


class Given:
    """Streams of one generator, of numbers that are known."""

    def __init__(self, number):
        self.number, self.ranges = number, []

    def of(self, operation):
        return self

    def canonical(self):
        return self.number

    def integer(self, low, high):
        self.ranges.append((low, high))
        return self.number


@pytest.mark.parametrize("share, prob, runs", [
    (0.25, 0.25, True), (0.26, 0.25, False), (0.0, 0.0, True), (1.0, 1.0, True), (0.5, 0.5, True)])
def test_all_or_none_are_applied(share, prob, runs, monkeypatch):
    operation = T.RandomApply([lambda x: x * 3, T.Compose([lambda x: x + 1])], prob)
    (found,) = operation.run((ONE,), Given(share))
    assert found.tolist() == ([4] * 3 if runs else [1] * 3)
    monkeypatch.setattr(random, "random", lambda: share)
    picture = Image.fromarray(np.full((2, 3, 3), 9, np.uint8))
    (found,) = T.RandomApply([vision.Invert()], prob).run((picture,), None)
    assert np.asarray(found)[0, 0, 0] == (246 if runs else 9)


def test_the_probability_is_one_half_by_default():
    assert T.RandomApply([lambda x: x]).prob == 0.5


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_of_several_is_applied(place, monkeypatch):
    operation = T.RandomChoice([lambda x, n=n: x + n for n in (10, 20, 30)])
    streams = Given(place)
    (found,) = operation.run((ONE,), streams)
    assert found.tolist() == [11 + 10 * place] * 3 and streams.ranges == [(0, 2)]
    monkeypatch.setattr(random, "choice", lambda values: values[place])
    picture = Image.fromarray(np.arange(18, dtype=np.uint8).reshape(2, 3, 3))
    kinds = [vision.Invert(), vision.Crop((0, 0), 1), vision.Posterize(2)]
    (found,) = T.RandomChoice(kinds).run((picture,), None)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(kinds[place](picture)))


def test_the_order_is_drawn_from_python(monkeypatch):
    operations = [lambda x: x * 2, lambda x: x + 3, lambda x: x * 5]
    monkeypatch.setattr(random, "shuffle", lambda values: values.reverse())
    (found,) = T.RandomOrder(operations).run((ONE,), None)
    assert found.tolist() == [16.0] * 3
    assert T.RandomOrder(operations).transforms == operations


@pytest.mark.parametrize("kind", [T.Compose, T.RandomApply, T.RandomChoice, T.RandomOrder])
@pytest.mark.parametrize("given, error, words", [
    ([], ValueError, "empty"), ((vision.Invert(),), TypeError, "list"), (3, TypeError, "list"),
    ([vision.Invert(), 3], TypeError, r"transforms\[1\]"), ([None], TypeError, r"transforms\[0\]")])
def test_lists_of_operations(kind, given, error, words):
    with pytest.raises(error, match=words):
        kind(given)


def test_functions_may_give_several_columns():
    operation = T.Compose([lambda x: (x, x + 1), lambda a, b: (b, a, b)])
    assert [part.tolist() for part in operation(ONE)] == [[2] * 3, [1] * 3, [2] * 3]


def test_inner_operations_are_listed_in_order():
    one, two, three = vision.Invert(), vision.Equalize(), lambda x: x
    inside = T.RandomChoice([two, three])
    outer = T.Compose([one, T.Compose([inside])])
    found = list(flattened([outer, three]))
    assert [each for each in found if not isinstance(each, T.Compose)] == [
        one, inside, two, three, three]
    assert outer.unfolded() == [one, inside]


def test_each_operation_has_a_generator_of_its_own():
    one, two, other = object(), object(), object()
    streams = Streams(5, [one, two])
    first = [streams.of(one).integer(0, 1000) for _ in range(3)]
    reference = Mt19937(5)
    assert first == [reference.integer(0, 1000) for _ in range(3)]
    assert streams.of(two).integer(0, 1000) == streams.of(other).integer(0, 1000) == first[0]
    state = streams.state()
    assert list(state) == [0, 1, 2]
    wanted = [streams.of(each).integer(0, 1000) for each in (one, two, other)]
    again = Streams(5, [one, two])
    again.of(one).integer(0, 9)
    again.restore(state)
    assert [again.of(each).integer(0, 1000) for each in (one, two, other)] == wanted


@pytest.mark.parametrize("call, error, words", [
    (lambda: vision.Invert()(), RuntimeError, "Input Tensor is not valid. For 'Invert'"),
    (lambda: T.Fill(1)(ONE, ONE), RuntimeError, "OneToOne.* For 'Fill', got 2 inputs"),
    (lambda: T.Fill(1)(object()), TypeError, "must be a NumPy array or an image of Pillow's"),
    (lambda: TensorOperation().transform(ONE), NotImplementedError, "'TensorOperation' must"),
])
def test_calls_that_are_none(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_operations_of_a_program():
    class Double(PyTensorOperation):
        def transform(self, value):
            return value * 2

    assert [part.tolist() for part in Double()(ONE, ONE + 1)] == [[2] * 3, [4] * 3]
    assert Double()([1, 2]).tolist() == Double()((1, 2)).tolist() == [2, 4]
    assert is_pillow(Image.fromarray(np.zeros((2, 2), np.uint8))) and not is_pillow(ONE)


def test_an_error_of_opencv_is_one_of_run_time():
    class Broken(TensorOperation):
        def transform(self, value):
            import cv2
            return cv2.cvtColor(value, cv2.COLOR_RGB2GRAY)

    with pytest.raises(RuntimeError, match="Broken: "):
        Broken()(np.zeros((2, 2, 5), np.uint8))


def test_an_operation_as_json_is_its_public_arguments():
    operation = vision.Resize((3, 4), vision.Inter.NEAREST)
    assert operation.to_json() == {"tensor_op_name": "Resize", "tensor_op_params": {
        "interpolation": vision.Inter.NEAREST, "size": (3, 4)}}
