"""The program's own callbacks: how they are told apart, called, entered and left."""

import pytest

from lamella import Tensor, train
from lamella.train.callback.base import CallbackManager, InternalCallbackParam, _handle_loss
from lamella.train.callback.own import as_list, check_methods, is_own

NAMES = [f"on_{mode}_{part}{edge}" for mode in ("train", "eval")
         for part in ("", "epoch_", "step_") for edge in ("begin", "end")]


class Old(train.Callback):
    def step_end(self, run_context):
        pass


class New(train.Callback):
    def on_train_step_end(self, run_context):
        pass


def test_lists_of_callbacks():
    one, two = New(), New()
    assert as_list(None) == [] and as_list(one) == [one] and as_list((one, two)) == [one, two]
    given = [one]
    assert as_list(given) == given and as_list(given) is not given
    assert is_own(one) and not is_own(train.LossMonitor())


@pytest.mark.parametrize("callback, wrong", [(Old(), True), (New(), False), ([New(), Old()], True),
                                             (train.LossMonitor(), False), (None, False)])
def test_old_methods_do_not_tell_what_is_meant(callback, wrong):
    check_methods(callback, "train")  # says so in the log
    if wrong:
        with pytest.raises(ValueError, match="Old callback, {'step_end'} methods may not be"):
            check_methods(callback, "fit")
    else:
        check_methods(callback, "fit")


@pytest.mark.parametrize("name", NAMES)
def test_functions_as_a_callback(name):
    seen = []
    made = train.LambdaCallback(**{name: seen.append})
    for each in NAMES:
        getattr(made, each)(each)
    assert seen == [name]


@pytest.mark.parametrize("name", NAMES)
def test_new_methods_call_the_old_ones(name):
    seen = []
    old = name.removeprefix("on_train_").removeprefix("on_eval_")
    kind = type("Noted", (train.Callback,), {old: lambda self, run: seen.append(run)})
    manager = CallbackManager([kind(), train.Callback(), kind()])
    getattr(manager, name)("run")
    assert seen == ["run", "run"]
    getattr(manager, old)("again")
    assert seen[2:] == ["again", "again"]


@pytest.mark.parametrize("given, words", [((New(),), "must be a Callback or a list"),
                                          ([New(), 3], "its elements must be Callbacks, but got i"),
                                          (3, "must be a Callback or a list")])
def test_what_is_no_callback(given, words):
    with pytest.raises(TypeError, match=words):
        CallbackManager(given)


def test_callbacks_are_entered_and_left_together():
    seen = []

    class Entered(train.Callback):
        def __init__(self, name, other=None):
            self.name, self.other = name, other

        def __enter__(self):
            if self.name == "fails":
                raise OSError("no")
            seen.append(f"enter {self.name}")
            return self.other or self

        def __exit__(self, *error):
            seen.append(f"leave {self.name}")

        def begin(self, run):
            seen.append(f"begin {self.name}")

    with CallbackManager([Entered("a"), Entered("b", Entered("instead"))]) as manager:
        with manager:  # entered once
            manager.begin(None)
    assert seen[:4] == ["enter a", "enter b", "begin a", "begin instead"]
    assert seen[4:6] == ["leave b", "leave a"]
    seen.clear()
    with pytest.raises(OSError, match="no"):
        CallbackManager([Entered("a"), Entered("fails")]).__enter__()
    assert seen == ["enter a", "leave a"]
    assert CallbackManager(None).__exit__() is None


@pytest.mark.parametrize("given, wanted", [
    (Tensor([1.0, 2.0]), 1.5), ((Tensor(1.0), Tensor(5.0)), Tensor(1.0)),
    ([Tensor(2.0)], Tensor(2.0)),
    ((3.0, Tensor(1.0)), (3.0, Tensor(1.0))), ((), ()), (2.5, 2.5), (None, None)])
def test_the_loss_of_what_a_step_gave(given, wanted):
    found = _handle_loss(given)
    assert type(found) is type(wanted)
    if isinstance(wanted, Tensor):
        assert float(found) == float(wanted)
    elif not isinstance(wanted, tuple):
        assert found == wanted
    else:
        assert found is given


def test_parameters_are_keys_and_attributes():
    params = InternalCallbackParam(a=1)
    params.b = 2
    assert params["b"] == 2 and params.a == 1 and not hasattr(params, "c")
    for error in (KeyError, AttributeError):
        with pytest.raises(error):
            params.c  # noqa: B018
    with pytest.raises(TypeError, match="original_args"):
        train.RunContext([1])
