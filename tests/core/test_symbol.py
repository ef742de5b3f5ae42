import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn


def test_what_is_known_of_a_size():
    symbol = ms.Symbol(max=8, min=2, divisor=2, unique=True)
    assert symbol.to_dict() == {"max": 8, "divisor": 2, "id": id(symbol)}  # as in MindSpore
    assert str(ms.Symbol(max=1, min=3)) == "{'min': 3}"
    for call, kind, text in ((lambda: ms.Symbol(divisor=0), ValueError, "positive, but got 0"),
                             (lambda: ms.Symbol(min=0), ValueError, "greater than 0"),
                             (lambda: ms.Symbol(remainder=1), ValueError, r"in \[0, 'divisor'\)"),
                             (lambda: ms.Symbol(max=1.0), TypeError, "'max' must be an int"),
                             (lambda: ms.Symbol(unique=1), TypeError, "'unique' must be a bool")):
        with pytest.raises(kind, match=text):
            call()


def test_symbols_declare_dimensions_that_vary():
    net = nn.Dense(3, 1, weight_init="ones", bias_init="zeros")
    net.set_inputs(Tensor(shape=[ms.Symbol(max=64, divisor=2), 3], dtype=ms.float32))
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        for rows in (2, 4, 6, 8):
            x = np.ones((rows, 3), np.float32)
            np.testing.assert_allclose(net(Tensor(x)).asnumpy(), x.sum(1, keepdims=True))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize("given, said", [  # as MindSpore 2.10 says
    ({"max": 5, "min": 5}, {"min": 5}), ({"max": 6, "min": 5}, {"max": 6, "min": 5}),
    ({"max": 7, "min": 4, "divisor": 3, "remainder": 2}, {"max": 7, "divisor": 3, "remainder": 2}),
    ({"min": 3, "divisor": 3}, {"divisor": 3}),
    ({"min": 4, "divisor": 3}, {"min": 4, "divisor": 3}),
    ({"min": 5, "divisor": 3, "remainder": 2}, {"divisor": 3, "remainder": 2}),
    ({"min": 6, "divisor": 3, "remainder": 2}, {"min": 6, "divisor": 3, "remainder": 2}),
    ({"divisor": 2, "remainder": 1}, {"divisor": 2, "remainder": 1}),
    ({"max": 1}, {}), ({"max": 2}, {"max": 2}), ({"min": 2}, {"min": 2}), ({"max": 0}, {})])
def test_what_is_said_at_the_limits(given, said):
    assert ms.Symbol(**given).to_dict() == said


@pytest.mark.parametrize("remainder", [-1, 3, 4])
def test_a_remainder_is_less_than_the_divisor(remainder):
    with pytest.raises(ValueError, match=f"but got {remainder}"):
        ms.Symbol(divisor=3, remainder=remainder)
    assert ms.Symbol(divisor=3, remainder=2).remainder == 2
