"""How a kernel's error becomes one that a user understands."""

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor
from lamella.amp.autocast import create_amp_strategy
from lamella.common import initializer
from lamella.core import errors, kernel_messages
from lamella.core.errors import describe, op
from lamella.core.require import one_of
from lamella.experimental.optim import SGD, lr_scheduler

X = Tensor([[1.0, 2.0], [3.0, 4.0]])


@op
def product(input, other, scale=1):
    """The matrix product."""
    return Tensor.from_torch(input._raw @ other._raw * scale)


def test_what_is_given_is_described():
    assert describe(X) == "Tensor[2, 2] Float32"
    assert describe(Parameter(X, name="w")) == "Parameter[2, 2] Float32"
    assert describe((1, [X])) == "(1, [Tensor[2, 2] Float32])"
    assert describe("a" * 200).startswith("str 'aaa") and len(describe("a" * 200)) < 90


@pytest.mark.parametrize("call, error, message", [
    (lambda: product(X, Tensor([1.0, 2.0, 3.0])), ValueError,
     r"For 'product', .*input=Tensor\[2, 2\] Float32, other=Tensor\[3\] Float32"),
    (lambda: product(X, 3), TypeError, "For 'product', the argument 'other' must be a Tensor"),
    (lambda: product(X, Tensor([1, 2])), TypeError, r"For 'product', .*other=Tensor\[2\] Int64"),
    (lambda: product(X), TypeError, "For 'product', .*missing 1 required .*: 'other'.*takes"),
    (lambda: product(X, X, scal=2), TypeError, "For 'product', got an unexpected keyword.*'scal'"),
    (lambda: X + Tensor([1.0, 2.0, 3.0]), ValueError, r"For 'add', .*other=Tensor\[3\] Float32"),
    (lambda: X @ 3, TypeError, "For 'matmul'"),
])
def test_kernel_errors_name_function_and_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_errors_of_ours_and_of_users_pass_through():
    @op
    def picky(input):
        raise ValueError("For 'picky', this is the message.")

    @op
    def broken(input):
        raise AttributeError("'dict' object has no attribute 'shape'")

    with pytest.raises(ValueError, match="^For 'picky', this is the message.$"):
        picky(X)
    with pytest.raises(AttributeError, match="'dict' object"):
        broken(X)


def test_operators_keep_their_name_and_signature():
    import inspect

    assert product.__name__ == "product" and list(inspect.signature(product).parameters) == [
        "input", "other", "scale"]
    assert ms.ops.sin.__doc__


@pytest.mark.parametrize("value", ["c", None, 1, ["a"], np.array(["a", "b"]), ms.Tensor([1.0])],
                         ids=["str", "None", "int", "list", "array", "Tensor"])
def test_one_of_a_few_values(value):
    assert one_of("a", ("a", "b"), "mode", "pad") == "a"
    with pytest.raises(ValueError, match="For 'pad', 'mode' must be one of 'a', 'b', but got"):
        one_of(value, ("a", "b"), "mode", "pad")


# calls with an argument of a wrong kind: the function that the message has to name
WRONG = [
    ("schedules.LinearLR(sgd, None, 1.0, 2)", TypeError, "LinearLR"),
    ("schedules.LambdaLR(None, abs)", TypeError, "LambdaLR"),
    ("schedules.ReduceLROnPlateau(sgd, factor='a')", TypeError, "ReduceLROnPlateau"),
    ("schedules.SequentialLR(sgd, None, [2])", TypeError, "SequentialLR"),
    ("ms.amp.FixedLossScaleManager(None)", TypeError, "FixedLossScaleManager"),
    ("ms.amp.FixedLossScaleManager(float('nan'))", ValueError, "FixedLossScaleManager"),
    ("ms.amp.DynamicLossScaleManager('x')", TypeError, "DynamicLossScaleManager"),
    ("ms.amp.DynamicLossScaler(8, 2, 1).adjust('bad')", TypeError, "adjust"),
    ("create_amp_strategy(None, ms.float16, [], [])", TypeError, "create_amp_strategy"),
    ("ms.get_context(['mode'])", TypeError, "get_context"),
    ("ms.set_device(['CPU'])", TypeError, "set_device"),
    ("ms.nn.get_activation(['relu'])", KeyError, "get_activation"),
    ("ms.train.get_metric_fn(['mae'])", KeyError, "get_metric_fn"),
    ("ms.mint.item(None)", TypeError, "item"),
    ("ms.mint.nn.functional.one_hot('a')", TypeError, "one_hot"),
    ("ms.mint.nn.functional.avg_pool1d(None, 2)", TypeError, "avg_pool1d"),
    ("ms.mint.nn.functional.adaptive_max_pool1d(None, 2)", TypeError, "adaptive_max_pool1d"),
    ("ms.mint.nn.functional.dropout(None)", TypeError, "dropout"),
    ("ms.mint.median('a')", TypeError, "median"),
    ("ms.mint.scatter_add(None, 0, Tensor([0]), Tensor([1.0]))", TypeError, "scatter_add"),
    ("ms.scipy.linalg.block_diag(None)", TypeError, "block_diag"),
    ("ms.scipy.optimize.minimize(abs, None, method='BFGS')", TypeError, "minimize"),
    ("ms.scipy.optimize.minimize(abs, Tensor([1.0]), method=3)", TypeError, "minimize"),
    ("ms.nn.stack_parameters(None)", TypeError, "stack_parameters"),
    ("ms.ParameterTuple(None)", TypeError, "ParameterTuple"),
    ("ms.train.MAE()(['x', 2], [1, 2])", TypeError, "MAE"),
    ("ms.train.BleuScore()(None, 3)", TypeError, "BleuScore.update"),
    ("ms.train.Fbeta(None)", TypeError, "Fbeta"),
    ("ms.train.ConfusionMatrix(-3)", ValueError, "ConfusionMatrix"),
    ("ms.train.DatasetHelper(None)", TypeError, "DatasetHelper"),
    ("ms.train.data_sink(abs, None)", TypeError, "data_sink"),
    ("ms.train.connect_network_with_dataset(ms.nn.ReLU(), 3)", TypeError,
     "connect_network_with_dataset"),
    ("ms.Model(ms.nn.ReLU(), ms.nn.MSELoss(), metrics={'mse'}).eval(3)", TypeError, "Model.eval"),
    ("ms.Model(ms.nn.ReLU()).train(1, None)", TypeError, "Model.train"),
    ("ms.ckpt_to_safetensors(None)", TypeError, "ckpt_to_safetensors"),
    ("ms.dataset.serialize(3)", TypeError, "serialize"),
    ("ms.dataset.text.Vocab().tokens_to_ids(None)", TypeError, "tokens_to_ids"),
    ("initializer.initializer('normal', object())", TypeError, "initializer"),
    ("initializer.initializer(initializer.Normal('a'), (3,)).init_data()", TypeError, "Normal"),
    ("initializer.initializer(initializer.HeNormal(mode=3), (3, 3)).init_data()", TypeError,
     "HeNormal"),
]


@pytest.mark.parametrize("call, error, function", WRONG, ids=[row[0] for row in WRONG])
def test_messages_name_the_function(call, error, function):
    weight = Parameter(Tensor([1.0]), name="w")
    names = {"ms": ms, "Tensor": Tensor, "schedules": lr_scheduler, "initializer": initializer,
             "create_amp_strategy": create_amp_strategy, "sgd": SGD([weight], lr=1.0)}
    with pytest.raises(error, match=f"For '{function}', "):
        eval(call, names)


@pytest.mark.parametrize("value, told", [
    ([1, 2, 3, 4], "[1, 2, 3, 4]"), ([1, 2, 3, 4, 5], "[1, 2, 3, 4, ...]"), ((), "()"),
    ((1,), "(1)"), ("a" * 78, "'" + "a" * 78 + "'"), ("a" * 79, "str '" + "a" * 69 + "..."),
    ("a\nb", "'a\\nb'"), (Tensor, "<class 'lamella.tensors.tensor.Tensor'>"),
    (np.zeros((2, 2)), "array([[0., 0.], [0., 0.]])")])
def test_how_long_descriptions_are(value, told):
    assert describe(value) == told


def test_an_object_without_a_printed_form():
    class Mute:
        def __repr__(self):
            raise KeyError

    assert describe([Mute()]) == "[an object of type Mute]"


@pytest.mark.parametrize("shape, wanted, last", [
    ((2, 8, 5, 3), 3, "(0, 3, 1, 2)"), ((2, 8, 3), 3, "(0, 2, 1)"), ((2, 4, 5, 6, 3), 3,
                                                                   "(0, 4, 1, 2, 3)"),
    ((2, 8, 5, 4), 3, ""), ((2, 3), 3, "")])
def test_channels_that_are_last(shape, wanted, last):
    said = errors.wrong_channels(shape, wanted)
    assert said.startswith(f"the input must have {wanted} channels, in dimension 1, but its shape "
                           f"is {shape}.")
    assert said.endswith(f"x.transpose{last} puts them there.") is bool(last)


@pytest.mark.parametrize("rank, axis, told", [
    (2, 1, ""), (2, -2, ""), (2, 2, "must be in [-2, 1], but got 2."), (2, -3, "but got -3."),
    (0, 0, ""), (0, 1, "must be in [-1, 0], but got 1."), (2, (0, 5), "but got 5."),
    (2, [1, -2], ""), (2, True, ""), (2, 1.5, "")])
def test_axes_that_a_tensor_has_not(rank, axis, told):
    given = [X._raw[(0,) * (2 - rank)]]
    for name in ("axis", "axes", "dim", "dims"):
        found = errors._axis_outside(IndexError("text"), given, {"x": X, name: axis})
        assert found == ("" if not told else found) and found.endswith(told)
        assert not found or found.startswith(f"'{name}' must be")
    assert errors._axis_outside(ValueError("text"), given, {"axis": 9}) == ""
    assert errors._axis_outside(IndexError("text"), [], {"axis": 9}) == ""
    assert errors._axis_outside(IndexError("text"), given, {"place": 9}) == ""


@pytest.mark.parametrize("shape, classes", [((5,), 5), ((4, 5), 5), ((4, 5, 6, 7), 5)])
def test_classes_that_have_no_score(shape, classes):
    scores = ms.ops.ones(shape)._raw
    text = "Target -7 is out of bounds."
    assert errors._class_outside(text, [scores]) == (
        f"the class -7 is out of range: there are scores for {classes} classes, 0 to "
        f"{classes - 1}.")
    for given in ([], [scores.sum()]):
        assert errors._class_outside(text, given) == ""
    assert errors._class_outside("A Target 7 is out of bounds", [scores]) == ""


@pytest.mark.parametrize("error, name, want", [
    (IndexError("tuple index out of range"), "f", IndexError),
    (IndexError("list index out of range"), "f", IndexError),
    (IndexError("index 5 is out of bounds for dimension 0"), "f", RuntimeError),
    (RuntimeError("index out of range in self"), "f", RuntimeError),
    (RuntimeError("indices are out of bounds"), "inplace_add", ValueError),
    (IndexError("Target 5 is out of bounds."), "f", RuntimeError),
    (RuntimeError("dim 0 appears multiple times in the list of dims"), "sum", RuntimeError),
    (RuntimeError("dim 0 appears multiple times in the list of dims"), "std", ValueError),
    (ValueError("duplicate dims"), "norm", ValueError),
    (IndexError("Dimension out of range"), "f", ValueError),
    (IndexError("too many indices for tensor of an index"), "f", IndexError),
    (TypeError("text"), "f", TypeError), (ValueError("text"), "f", ValueError),
    (UnicodeError("text"), "f", None), (KeyError("text"), "f", None),
    (NotImplementedError("no kernel"), "f", TypeError),
    (NotImplementedError("derivative of it"), "f", RuntimeError),
    (RuntimeError("out of memory of a size"), "f", RuntimeError),
    (RuntimeError("expected scalar type Int"), "f", TypeError),
    (RuntimeError("expected a type of size 3"), "f", ValueError),
    (RuntimeError("the shape is wrong"), "f", ValueError), (RuntimeError("a"), "f", RuntimeError)],
    ids=range(22))
def test_the_type_of_error_that_a_kernels_becomes(error, name, want):
    assert kernel_messages.error_type(name, error, str(error.args[0])) is want
