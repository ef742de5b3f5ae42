"""Activations: axes that are chosen by the rank."""

import numpy as np
import pytest
import scipy.special

from lamella import Tensor, nn
from lamella.nn.activation import SoftmaxExt

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("shape, axis", [((), 0), ((4,), 0), ((3, 4), 1), ((2, 3, 4), 0),
                                         ((2, 3, 4, 2), 1), ((2, 3, 1, 2, 2), 1)])
def test_the_axis_of_classes_where_none_is_given(shape, axis):
    x = RNG.standard_normal(shape).astype(np.float32)
    wanted = scipy.special.softmax(x, axis) if shape else np.float32(1)
    np.testing.assert_allclose(SoftmaxExt()(Tensor(x)).asnumpy(), wanted, rtol=1e-5)
    np.testing.assert_allclose(nn.LogSoftmaxExt()(Tensor(x)).asnumpy(), np.log(wanted), rtol=1e-4,
                               atol=1e-6)
    if shape:
        np.testing.assert_allclose(SoftmaxExt(-1)(Tensor(x)).asnumpy(),
                                   scipy.special.softmax(x, -1), rtol=1e-5)
