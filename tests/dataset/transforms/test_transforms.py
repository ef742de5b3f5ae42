"""Operations on arrays of any kind, against numbers recorded from MindSpore 2.10."""

import numpy as np
import pytest

import lamella as ms
import lamella.dataset as ds
import lamella.dataset.transforms as T
from lamella.dataset import vision

WORDS = np.array(["This", "is"])


@pytest.mark.parametrize("operation, given, expected", [
    (T.OneHot(3), np.array([0, 2]), np.array([[1, 0, 0], [0, 0, 1]])),
    (T.OneHot(3), np.array(1), np.array([0, 1, 0])),
    (T.OneHot(3), np.array([[1]]), np.array([0, 1, 0])),
    (T.OneHot(2), np.array([[1], [0]]), np.array([[0, 1], [1, 0]])),
    (T.OneHot(3, 0.1), np.array(1), np.array([0.03333333333333333, 0.9333333333333333,
                                              0.03333333333333333])),
    (T.TypeCast(ms.int32), np.array([1.7, -1.7]), np.array([1, -1], np.int32)),
    (T.TypeCast(np.uint8), np.array([-1.0, 300]), np.array([255, 44], np.uint8)),
    (T.TypeCast(ms.bool_), np.array([1.5, 0]), np.array([True, False])),
    (T.Fill(3), np.zeros((2, 2), np.float32), np.full((2, 2), 3, np.float32)),
    (T.Fill(300), np.zeros(2, np.uint8), np.array([44, 44], np.uint8)),
    (T.Fill("a"), WORDS, np.array(["a", "a"])),
    (T.Mask(T.Relational.EQ, 3), np.array([1, 2, 3]), np.array([False, False, True])),
    (T.Mask(T.Relational.GE, 3, ms.uint8), np.array([1, 2, 3]), np.array([0, 0, 1], np.uint8)),
    (T.Slice([0, 2]), np.array([1, 2, 3]), np.array([1, 3])),
    (T.Slice(slice(0, 2), 1), np.arange(9).reshape(3, 3), np.array([[1], [4]])),
    (T.Slice(-1), np.array([1, 2, 3]), np.array([3])),
    (T.PadEnd([4], -1), np.array([1, 2]), np.array([1, 2, -1, -1])),
    (T.PadEnd([1]), np.array([1, 2]), np.array([1])),
    (T.PadEnd([3], "p"), WORDS, np.array(["This", "is", "p"])),
    (T.Concatenate(0, np.array([9]), np.array([8])), np.array([1, 2]), np.array([9, 1, 2, 8])),
    (T.Compose([T.Fill(3), lambda x: x * 2]), np.array([1, 2]), np.array([6, 6])),
], ids=lambda value: type(value).__name__)
def test_values(operation, given, expected):
    out = operation(given)
    assert out.dtype == expected.dtype or out.dtype.kind == "U"
    np.testing.assert_array_equal(out, expected)


def test_several_columns():
    values, places, counts = T.Unique()(np.array([3, 1, 3, 2, 1]))
    assert [values.tolist(), places.tolist(), counts.tolist()] == [
        [3, 1, 2], [0, 1, 0, 2, 1], [2, 2, 1]]
    assert [v.tolist() for v in T.Duplicate()(np.array([1, 2]))] == [[1, 2], [1, 2]]
    data = ds.NumpySlicesDataset({"x": [[1, 2]], "y": [[3, 4]]}, shuffle=False)
    joined = data.map(T.Concatenate(), ["x", "y"], ["z"])
    assert next(joined.create_tuple_iterator(output_numpy=True))[0].tolist() == [1, 2, 3, 4]


RECORDED = {  # 24 rows of zeros, the seed 7, one worker
    "apply": "110011101001100010101010", "choice": "113123323121211211223331",
    "functions": "112112212121211111122221"}


@pytest.mark.parametrize("name, operation", [
    ("apply", T.RandomApply([T.Fill(1)], 0.4)),
    ("apply", T.RandomApply([lambda x: x + 1], 0.4)),
    ("choice", T.RandomChoice([T.Fill(1), T.Fill(2), T.Fill(3)])),
    ("functions", T.RandomChoice([lambda x: x + 1, lambda x: x + 2])),
], ids=["apply", "apply function", "choice", "choice of functions"])
def test_choices_are_mindspores(name, operation):
    ds.config.set_seed(7)
    data = ds.NumpySlicesDataset(np.zeros(24, int), ["x"], shuffle=False).map(
        operation, ["x"], num_parallel_workers=1)
    assert "".join(str(int(x)) for (x,) in data) == RECORDED[name]


def test_all_are_applied_in_any_order():
    ds.config.set_seed(7)
    data = ds.NumpySlicesDataset(np.zeros(30, int), ["x"], shuffle=False).map(
        T.RandomOrder([lambda x: x * 2, lambda x: x + 2]))
    assert {int(x) for (x,) in data} == {2, 4}


@pytest.mark.parametrize("call, error, message", [
    (lambda: T.OneHot(0), ValueError, "must be greater than 0"),
    (lambda: T.OneHot(3)(np.array(5)), RuntimeError, r"index_value must be in \[0, num_classes\)"),
    (lambda: T.OneHot(3)(np.array(1.0)), RuntimeError, "Only support input of int type"),
    (lambda: T.TypeCast(3), TypeError, "must be a data type of Lamella's or NumPy's, but got 3"),
    (lambda: T.Compose([3]), TypeError, r"transforms\[0\] must be a transform or a function"),
    (lambda: T.Compose([]), ValueError, "can not be empty"),
    (lambda: T.Fill(None), TypeError, "'fill_value' must be a str or float"),
    (lambda: T.PadEnd([2, 2])(np.array([1])), RuntimeError, "2 dimensions, but the input has 1"),
    (lambda: T.Slice(-7)(np.array([1, 2, 3])), RuntimeError,
     r"must be in \[-3, 3\) in dimension 0, but got -7"),
    (lambda: T.Slice(None, [0, 2])(np.ones((3, 2))), RuntimeError, "in dimension 1, but got 2"),
    (lambda: T.Slice(1)(np.array("text")), RuntimeError, r"must be in \[-1, 1\)"),
    (lambda: T.Slice([0, "x"]), TypeError, r"must be an int, a list of ints.*but got \[0, 'x'\]"),
    (lambda: T.Concatenate(2), ValueError, "only 1D concatenation supported"),
    (lambda: T.Plugin("x.so", "f"), RuntimeError, "can't be loaded"),
])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_called_compose_gives_a_tuple_where_pillow_has_a_part():
    image = np.ones((8, 8, 3), np.uint8)
    picture = vision.ToPIL()(image)
    for operations, given, whole in (
            ([vision.Resize(4)], image, False), ([vision.Resize(4)], picture, True),
            ([vision.ToPIL(), vision.Resize(4)], image, True), ([lambda x: x], image, False),
            ([T.Compose([vision.ToPIL()])], image, True)):
        assert isinstance(T.Compose(operations)(given), tuple) is whole
    out = T.Compose([lambda x: vision.ToPIL()(x)])(image)
    assert isinstance(out, np.ndarray) and np.array_equal(out, image)
    with pytest.raises(TypeError, match="Compose was called without an image"):
        T.Compose([vision.ToPIL()])()
    with pytest.raises(RuntimeError, match="Input Tensor is not valid"):
        T.Compose([vision.Resize(4)])()


def test_functions_that_give_images_of_pillows():
    """Recorded from MindSpore: arrays, unless the input or another operation is Pillow's."""
    pillow = pytest.importorskip("PIL.Image", reason="an optional package")
    image = np.arange(75, dtype=np.uint8).reshape(5, 5, 3)
    inner = T.Compose([vision.Resize((3, 3)), vision.HorizontalFlip()])
    seen = []

    def both(given):
        seen.append(type(given))
        return pillow.fromarray(inner(given))

    outer = T.Compose([lambda x: pillow.fromarray(x), both])
    np.testing.assert_array_equal(outer(image), inner(image))
    assert seen == [np.ndarray]
    same = pillow.fromarray(image)
    assert T.Compose([lambda x: x])(same) == (same,)


@pytest.mark.parametrize("name, compare", [
    ("EQ", np.equal), ("NE", np.not_equal), ("GT", np.greater), ("GE", np.greater_equal),
    ("LT", np.less), ("LE", np.less_equal)])
def test_relations_of_masks(name, compare):
    given = np.array([1, 2, 3])
    assert len(T.Relational) == 6
    np.testing.assert_array_equal(T.Mask(T.Relational[name], 2)(given), compare(given, 2))


def test_concatenate_takes_texts_of_any_length_and_numbers_of_one_type():
    found = T.Concatenate(0, np.array(["a"]), np.array(["longer"]))(WORDS)
    assert found.tolist() == ["a", "This", "is", "longer"]
    with pytest.raises(RuntimeError, match="types differ"):
        T.Concatenate(0, np.array([1], np.int32))(np.array([2], np.int64))
    with pytest.raises(RuntimeError, match="types differ"):
        T.Concatenate(0, np.array([1], np.int32))(WORDS)
