"""Mixed-precision strategies, pushed and popped."""

import threading

import pytest

import lamella as ms
from lamella import ops
from lamella.amp.autocast import (
    AMP_AUTO_BLACK_LIST,
    AMP_AUTO_WHITE_LIST,
    AMP_PRIM_ARG_TABLE,
    AmpDecorator,
    AmpLevel,
    create_amp_strategy,
    get_curr_amp_strategy,
    pop_amp_strategy,
    push_amp_strategy,
)

X = ms.Tensor([[1.0, 2.0], [3.0, 4.0]])
IMAGE = ms.ops.ones((1, 1, 4, 4), ms.bfloat16)


def types():
    low = X.astype(ms.bfloat16)
    return [str(y.dtype) for y in (ops.matmul(X, X), ops.exp(low), low * X, low + low)]


def listed(primitives):
    return [(primitive.__name__, AMP_PRIM_ARG_TABLE[primitive]) for primitive in primitives]


def test_a_strategy_lasts_until_it_is_popped():
    plain = types()
    push_amp_strategy(AmpLevel.AmpAuto, ms.bfloat16, listed(AMP_AUTO_WHITE_LIST),
                      listed(AMP_AUTO_BLACK_LIST))
    assert types() == ["BFloat16", "Float32", "Float32", "BFloat16"]
    with AmpDecorator(AmpLevel.AmpO0, ms.bfloat16, [], []):
        assert get_curr_amp_strategy().get_amp_level() is AmpLevel.AmpO0
        assert str(ops.matmul(X, X).dtype) == "Float32"
    assert str(ops.matmul(X, X).dtype) == "BFloat16"
    pop_amp_strategy()
    assert get_curr_amp_strategy() is None and types() == plain


def test_the_black_list_is_computed_in_float32():
    with AmpDecorator(AmpLevel.AmpAuto, ms.bfloat16, [], []):
        assert ops.max_pool2d(IMAGE, 2).dtype == ms.bfloat16
    with AmpDecorator(AmpLevel.AmpAuto, ms.bfloat16, [], [("MaxPool", [])]):
        assert ops.max_pool2d(IMAGE, 2).dtype == ms.float32


def test_another_thread_has_its_own():
    with AmpDecorator(AmpLevel.AmpAuto, ms.bfloat16, [], []):
        found = []
        other = threading.Thread(target=lambda: found.append(
            (get_curr_amp_strategy(), str(ops.matmul(X, X).dtype))))
        other.start()
        other.join()
    assert found == [(None, "Float32")]


def test_an_error_inside_ends_the_strategy():
    with pytest.raises(ZeroDivisionError), \
            AmpDecorator(AmpLevel.AmpAuto, ms.bfloat16, [], []):
        raise ZeroDivisionError
    assert get_curr_amp_strategy() is None and str(ops.matmul(X, X).dtype) == "Float32"


@pytest.mark.parametrize("level, dtype, message", [
    (AmpLevel.AmpO2, ms.float16, r"auto_mixed_precision\(network, 'O2'\)"),
    (AmpLevel.AmpAuto, ms.float32, "'dtype' must be float16 or bfloat16"),
])
def test_what_is_no_strategy(level, dtype, message):
    with pytest.raises(ValueError, match=message):
        create_amp_strategy(level, dtype, [], [])


def test_popping_without_one_warns(capfd):
    pop_amp_strategy()
    assert "no strategy of mixed precision to pop" in capfd.readouterr().err
