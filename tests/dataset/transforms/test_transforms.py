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
    for constant, kind, cast in ((2.9, np.int32, 2), (-1, np.uint8, 255), (-1.5, np.uint8, 255),
                                 (3, bool, True), (0.1, np.float32, np.float32(0.1))):
        given = np.array([cast, 0, 1]).astype(kind)
        np.testing.assert_array_equal(T.Mask(T.Relational[name], constant)(given),
                                      compare(given, cast))


def test_concatenate_takes_texts_of_any_length_and_numbers_of_one_type():
    found = T.Concatenate(0, np.array(["a"]), np.array(["longer"]))(WORDS)
    assert found.tolist() == ["a", "This", "is", "longer"]
    with pytest.raises(RuntimeError, match="types differ"):
        T.Concatenate(0, np.array([1], np.int32))(np.array([2], np.int64))
    with pytest.raises(RuntimeError, match="types differ"):
        T.Concatenate(0, np.array([1], np.int32))(WORDS)


@pytest.mark.parametrize("given", ["int8", "uint8", "int32", "int64", "float16", "float32",
                                   "float64", "bool"])
@pytest.mark.parametrize("wanted", ["int8", "uint8", "uint16", "int32", "uint64", "float16",
                                    "float64", "bool"])
def test_numbers_of_all_types_are_cast_as_by_c(given, wanted):
    """Negative fractions become unsigned numbers by way of whole ones."""
    value = np.array([0, 1, 3, 100]).astype(given)
    if np.dtype(given).kind in "if":
        value[3] = -2
    middle = np.int64 if np.dtype(given).kind == "f" and wanted.startswith("u") else given
    found = T.TypeCast(getattr(ms, wanted if wanted != "bool" else "bool_"))(value)
    assert found.dtype == wanted
    np.testing.assert_array_equal(found, value.astype(middle).astype(wanted))


@pytest.mark.parametrize("shape, wanted", [
    ((), ()), ((1,), ()), ((1, 1), ()), ((3,), (3,)), ((3, 1), (3,)), ((1, 3), (1, 3)),
    ((2, 3), (2, 3)), ((1, 1, 1), (1, 1)), ((2, 3, 1), (2, 3))])
@pytest.mark.parametrize("rate", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("kind", [np.int32, np.uint8])
def test_vectors_of_classes_of_any_shape(shape, wanted, rate, kind):
    numbers = np.random.default_rng(0).integers(0, 5, shape).astype(kind)
    found = T.OneHot(5, rate)(numbers)
    exact = np.eye(5)[numbers.reshape(wanted)] * (1 - rate) + rate / 5
    assert found.shape == (*wanted, 5) and found.dtype == (np.float64 if rate else kind)
    np.testing.assert_allclose(found, exact)


@pytest.mark.parametrize("number, fits", [(-1, False), (0, True), (4, True), (5, False)])
def test_classes_are_numbered_from_0(number, fits):
    for given in (np.array(number), np.array([2, number, 3])):
        if fits:
            assert T.OneHot(5)(given).shape == (*given.shape, 5)
        else:
            with pytest.raises(RuntimeError, match="index_value must be in"):
                T.OneHot(5)(given)


@pytest.mark.parametrize("size, old", [
    ([2, 3], (2, 3)), ([None, 3], (2, 4)), ([4, None], (2, 3)), ([1, 5], (3, 4)),
    ([3, 1], (2, 2))])
@pytest.mark.parametrize("value", [None, 9])
def test_padding_and_truncating_to_a_shape(size, old, value):
    given = np.arange(1, 1 + np.prod(old)).reshape(old)
    found = T.PadEnd(size, value)(given)
    shape = tuple(o if s is None else s for s, o in zip(size, old, strict=True))
    wanted = np.full(shape, value or 0)
    for place in np.ndindex(shape):
        if all(at < end for at, end in zip(place, old, strict=True)):
            wanted[place] = given[place]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("size, error", [
    ([0], ValueError), ([-1], ValueError), ([1, 0], ValueError), ([True], TypeError),
    ([1.0], TypeError), ([None, "1"], TypeError), ((1,), TypeError)])
def test_sizes_of_padding_are_1_or_more(size, error):
    assert T.PadEnd([1])(np.arange(3)).tolist() == [0]
    with pytest.raises(error, match="PadEnd|pad_shape"):
        T.PadEnd(size)


def test_texts_are_padded_by_texts_and_numbers_by_numbers():
    found = T.PadEnd([3], "longer")(np.array(["a", "b"]))
    assert found.tolist() == ["a", "b", "longer"]
    assert T.PadEnd([3])(np.array(["a", "b"])).tolist() == ["a", "b", ""]
    for value, kind, wanted in ((-1, np.uint8, 255), (300, np.uint8, 44), (1.5, np.int32, 1)):
        found = T.PadEnd([2], value)(np.array([7], kind))
        assert found.dtype == kind and found.tolist() == [7, wanted]
    for value, given in (("x", np.arange(2)), (1, WORDS)):
        with pytest.raises(RuntimeError, match="can not pad numeric and string"):
            T.PadEnd([3], value)(given)


CUBE = np.arange(60).reshape(3, 4, 5)


@pytest.mark.parametrize("parts, wanted", [
    ((1,), CUBE[1:2]), ((-3,), CUBE[:1]), ((None, [0, -1]), CUBE[:, [0, 3]]),
    ((slice(1, None), slice(None, None, 2), 4), CUBE[1:, ::2, 4:]), ((..., ), CUBE),
    ((1, ..., ), CUBE[1:2]), ((..., 1), CUBE[:, 1:2]), ((0, ..., 2), CUBE[:1, :, 2:3]),
    ((None, None, [-5, 4, 0]), CUBE[:, :, [0, 4, 0]]),
    ((2, 3, 4), CUBE[2:, 3:, 4:]), (([], ), CUBE[:0])])
def test_parts_of_several_dimensions(parts, wanted):
    np.testing.assert_array_equal(T.Slice(*parts)(CUBE), wanted)


@pytest.mark.parametrize("parts, words", [
    ((3,), "dimension 0, but got 3"), ((-4,), "dimension 0, but got -4"),
    ((None, 4), "dimension 1, but got 4"), ((None, None, [0, -6]), "dimension 2, but got -6"),
    ((0, 0, 0, 0), "4 slices, but the input has 3 dim")])
def test_parts_that_are_none(parts, words):
    with pytest.raises(RuntimeError, match=f"Slice: .*{words}"):
        T.Slice(*parts)(CUBE)


def test_parts_of_a_single_number():
    one = np.array(7)
    for index in (0, -1, [0]):
        assert T.Slice(index)(one).tolist() == [7]
    for index in (1, -2, [0, 1]):
        with pytest.raises(RuntimeError, match=r"must be in \[-1, 1\)"):
            T.Slice(index)(one)
    with pytest.raises(RuntimeError, match="the input has rank 0"):
        T.Slice(slice(1))(one)
    with pytest.raises(RuntimeError, match="2 slices, but the input has 0"):
        T.Slice(0, 0)(one)


@pytest.mark.parametrize("axis, before, after", [
    (0, None, None), (-1, [9], None), (0, None, [8]), (-1, [9, 7], [8])])
def test_columns_between_two_arrays(axis, before, after):
    parts = [None if part is None else np.array(part) for part in (before, after)]
    found = T.Concatenate(axis, *parts)(np.array([1, 2]), np.array([3]))
    assert found.tolist() == [*(before or []), 1, 2, 3, *(after or [])]
    for wrong in (np.array(1), np.array([[1]])):
        with pytest.raises(RuntimeError, match="only 1D input supported"):
            T.Concatenate(axis, *parts)(wrong)
        for place in (0, 1):
            with pytest.raises(ValueError, match="can only (prepend|append) 1D arrays"):
                T.Concatenate(0, *((wrong, None) if place == 0 else (None, wrong)))


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.float32])
def test_unique_numbers_in_order_of_occurrence(kind):
    given = np.array([[7, 3, 7], [5, 3, 7]]).astype(kind)
    values, places, counts = T.Unique()(given)
    assert values.dtype == kind and places.dtype == counts.dtype == np.int32
    assert [values.tolist(), places.tolist(), counts.tolist()] == [
        [7, 3, 5], [0, 1, 0, 2, 1, 0], [3, 2, 1]]
    with pytest.raises(RuntimeError, match="must be numbers"):
        T.Unique()(WORDS)
    for operation in (T.Unique(), T.Duplicate()):
        with pytest.raises(RuntimeError, match="one column is expected, but got 2"):
            operation(given, given)


@pytest.mark.parametrize("value, given, wanted", [
    (2.9, np.zeros(2, np.int16), [2, 2]), (2.5, np.zeros(2), [2.5, 2.5]),
    (-1, np.zeros(2, np.uint8), [255, 255]), (3, np.zeros((2, 1)), [[3.0], [3.0]]),
    (-1.5, np.zeros(2, np.uint8), [255, 255]), (300, np.zeros(2, np.int8), [44, 44]),
    (1, np.zeros(2, bool), [True, True]), ("longer", WORDS, ["longer", "longer"])])
def test_a_value_in_the_type_of_the_input(value, given, wanted):
    found = T.Fill(value)(given)
    assert found.tolist() == wanted and (found.dtype == given.dtype or given.dtype.kind == "U")
    with pytest.raises(RuntimeError, match="types do not match"):
        T.Fill(value)(np.zeros(2) if isinstance(value, str) else WORDS)
