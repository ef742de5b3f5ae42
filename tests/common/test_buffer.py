"""Buffers that a Cell is given as attributes, and other private names that programs import."""

import pytest

import lamella as ms
from lamella.common.parameter import _Buffer, _is_parameter_generated
from lamella.compat._c_expression import CreationType, security
from lamella.ops.primitives.testing import ConvertToDynamic, TopTypeof


def test_a_buffer_is_registered():
    class Shift(ms.nn.Cell):
        def __init__(self):
            super().__init__()
            self.kept = _Buffer(ms.Tensor([1.0]))
            self.passing = _Buffer(ms.Tensor([2.0]), persistent=False)

        def construct(self, x):
            return x + self.kept * self.passing

    net = Shift()
    assert [name for name, _ in net.named_buffers()] == ["kept", "passing"]
    assert list(net.state_dict()) == ["kept"]
    assert isinstance(net.kept, _Buffer) and not isinstance(ms.Tensor(1.0), _Buffer)
    assert ms.jit(net)(ms.Tensor([3.0])).asnumpy().tolist() == [5.0]


@pytest.mark.parametrize("data, kind", [(None, ValueError), ([1.0], TypeError)])
def test_a_buffer_needs_a_tensor(data, kind):
    with pytest.raises(kind, match="must be a Tensor"):
        _Buffer(data)


def test_made_up_names():
    assert _is_parameter_generated(ms.Parameter(ms.Tensor(1.0)).name)
    assert not _is_parameter_generated("weight") and not _is_parameter_generated(None)


def test_kinds_of_values():
    assert TopTypeof()(ms.Tensor([1.0])) is ms.tensor_type
    assert CreationType.CUSTOM_BPROP.value == 3 and not security.enable_security()


def test_a_shape_that_should_be_unknown():
    x = ms.Tensor([1.0, 2.0])
    assert ConvertToDynamic(is_dynamic_rank=True)(x) is x
    with pytest.raises(TypeError, match="must be a bool"):
        ConvertToDynamic(3)
