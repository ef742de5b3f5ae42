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
