"""The examples of Primitive classes, many of which are those of the functions that they compute."""

import doctest
import inspect
import pickle

import numpy as np
import pytest

import lamella as ms
from lamella import ops
from lamella.core.primitive import Primitive, examples_of, primitive
from lamella.ops.primitives import gradients, gradients_layers


def test_examples_of_primitives_run():
    # pytest doesn't find them in classes that a function has made
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    shown = []
    for name, kind in vars(ops).items():
        if not (isinstance(kind, type) and issubclass(kind, Primitive)
                and "<locals>" in kind.__init__.__qualname__):
            continue
        text = inspect.getdoc(kind) or ""
        if f"ops.{name}(" in text:
            test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
            assert runner.run(test).failed == 0, name
            shown.append(name)
    assert len(shown) > 220 and {"Sin", "ScatterNdAdd", "MatMul", "ReduceSum"} <= set(shown)


def test_only_examples_that_call_the_function_are_taken():
    def twice(x):
        """Two times x.

        Examples:
            >>> import lamella as ms
            >>> print(ms.ops.twice(3))
            6
        """

    def method(x):
        """Two times x.

        Examples:
            >>> print(ms.Tensor(3).twice())
            6
        """

    taken = inspect.cleandoc(f"Two times x.{examples_of('Twice', twice)}")
    assert taken.endswith("print(ms.ops.Twice()(3))\n    6")
    assert taken.splitlines()[2] == "Examples:"
    assert examples_of("Twice", method) == ""
    assert examples_of("Twice", lambda x: x) == ""
    assert primitive("Twice", lambda x: x).__doc__ == (
        "The operator `Twice` as an object, without attributes.")


X = ms.Tensor(np.arange(6.0, dtype=np.float32).reshape(2, 3))
ONE, ROW = ms.Tensor([1], ms.int32), ms.Tensor(np.full((1, 3), 10.0, np.float32))


@pytest.mark.parametrize(("made", "given", "wanted"), [
    (ops.Roll(1, 1), (X,), lambda: np.roll(X.asnumpy(), 1, 1)),
    (ops.ReverseV2((1,)), (X,), lambda: X.asnumpy()[:, ::-1]),
    (ops.Tril(-1), (X,), lambda: np.tril(X.asnumpy(), -1)),
    (ops.Triu(1), (X,), lambda: np.triu(X.asnumpy(), 1)),
    (ops.ReverseSequence(1), (X, ms.Tensor([1, 2])), lambda: [[0, 1, 2], [4, 3, 5]]),
    (ops.SpaceToBatchND([1, 3], [[0, 0], [0, 0]]), (X.reshape((1, 1, 2, 3)),),
     lambda: X.asnumpy().T.reshape(3, 1, 2, 1)),
    (ops.IndexAdd(0), (X, ONE, ROW), lambda: [[0, 1, 2], [13, 14, 15]]),
    (ops.InplaceUpdate((1,)), (X, ROW), lambda: [[0, 1, 2], [10, 10, 10]]),
    (ops.InplaceUpdateV2(), (X, (1,), ROW), lambda: [[0, 1, 2], [10, 10, 10]]),
    (ops.InplaceAdd((1,)), (X, ROW), lambda: [[0, 1, 2], [13, 14, 15]]),
    (ops.InplaceSub((1,)), (X, ROW), lambda: [[0, 1, 2], [-7, -6, -5]]),
    (ops.ScatterAddWithAxis(1), (X, ms.Tensor([[2], [0]]), ms.Tensor([[1.0], [2.0]])),
     lambda: [[0, 1, 3], [5, 4, 5]]),
    (ops.SearchSorted(ms.int32, True), (ms.Tensor([1, 2, 3]), ms.Tensor([2])), lambda: [2]),
    (ops.Bucketize([1.0, 2.0]), (ms.Tensor([1.0, 3.0]),), lambda: [1, 2]),
    (ops.FillV2(), ((2,), ms.Tensor(3.0)), lambda: [3, 3]),
    (ops.TrilIndices(2, 2, -1), (), lambda: [[1], [0]]),
    (ops.TriuIndices(2, 2, 1), (), lambda: [[0], [1]]),
    (ops.LogSpace(3, 2), (ms.Tensor(0.0), ms.Tensor(2.0)), lambda: [1, 2, 4]),
], ids=lambda value: value.name if isinstance(value, Primitive) else "")
def test_rows_compute_what_their_attributes_say(made, given, wanted):
    assert np.allclose(made(*given).asnumpy(), wanted())
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is type(made) and str(again) == str(made)


def test_attributes_of_rows_are_checked():
    with pytest.raises(TypeError, match="For 'Tril', 'diagonal' must be an int"):
        ops.Tril("1")
    with pytest.raises(TypeError, match="For 'ReverseV2', 'axis' must be an int or a tuple"):
        ops.ReverseV2("1")
    with pytest.raises(TypeError, match="For 'Roll', .*missing 1 required .*: 'shifts'"):
        ops.Roll()
    with pytest.raises(TypeError, match="For 'flip', 'input' must be a Tensor"):
        ops.ReverseV2(0)(3)


@pytest.mark.parametrize("made", [
    ops.ReLU(), ops.Tril(), ops.Heaviside(), ops.MatrixSolve(), ops.Hypot(),
    gradients.PdistGrad(), gradients_layers.LRNGrad(),
], ids=str)
@pytest.mark.parametrize("count", [0, 9])
def test_a_wrong_number_of_inputs_is_both_kinds_of_errors(made, count):
    """MindSpore 2.10 raises a ValueError for most, and a TypeError for the rest."""
    for kind in (TypeError, ValueError):
        with pytest.raises(kind, match=r"positional arguments?|multiple values|there must be"):
            made(*[ms.Tensor([1.0])] * count)


def test_other_type_errors_of_primitives_keep_their_kind_and_cause():
    with pytest.raises(TypeError) as caught:
        ops.Sin()("text")
    assert type(caught.value) is TypeError and caught.value.__cause__ is not None
