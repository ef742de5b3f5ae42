"""Numbers that Primitives are made with; the recorded ones are in `conformance/cases/`."""

import numpy as np
import pytest

from lamella import Tensor, ops
from lamella.ops.primitives.declared_settings import read


@pytest.mark.parametrize("make, error, told", [
    (lambda: ops.ROIAlign(2.5, 2, 0.5), TypeError,
     "For 'ROIAlign', 'pooled_height' must be an int, but got 2.5 of type float."),
    (lambda: ops.ROIAlign(2, pooled_width=2, spatial_scale=0.5, roi_end_mode=2), ValueError,
     "For 'ROIAlign', 'roi_end_mode' must be 0 or 1, but got 2."),
    (lambda: ops.Quantile("a"), TypeError,
     "For 'Quantile', 'dim' must be an int or None, but got 'a' of type str."),
    (lambda: ops.Conv2D(True, 3), TypeError,
     "For 'Conv2D', 'out_channel' must be an int, but got True of type bool."),
    (lambda: ops.Conv2DTranspose(2, (2, 0)), ValueError,
     "For 'Conv2DTranspose', 'kernel_size' must be above 0, but got (2, 0)."),
    (lambda: ops.LpNorm(0, epsilon=-1.0), ValueError,
     "For 'LpNorm', 'epsilon' must be at least 0, but got -1.0."),
    (lambda: ops.SparseApplyFtrl(0.1, 0.0, 0.0, 0.5), ValueError,
     "For 'SparseApplyFtrl', 'lr_power' must be at most 0, but got 0.5."),
])
def test_what_a_primitive_is_not_made_with(make, error, told):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == told


def test_bounds_belong_to_what_is_taken():
    ops.ROIAlign(2, 2, 1, roi_end_mode=0)
    ops.Quantile(None)
    ops.Conv2DTranspose(2, (2, 1), stride=(1, 1))
    ops.LpNorm((0, 1), 0, epsilon=0)
    ops.SparseApplyFtrl(1, 0, 0.0, 0)
    ops.Histogram(np.int64(3), np.float32(0.0), 1)


def test_a_tensor_s_value_is_left_to_the_call():
    assert ops.TensorScatterElements(Tensor(1)).axis == 1


def test_a_line_of_the_table():
    name, settings = read("A: x ints >0 <=3; y float None; z int =1 =12")
    assert name == "A"
    assert settings["x"] == ("ints", ((">", 0.0), ("<=", 3.0)), (), False)
    assert settings["y"] == ("float", (), (), True)
    assert settings["z"] == ("int", (), (1, 12), False)
