"""The parts of attention that programs import."""

import numpy as np
import pytest

import lamella as ms
from lamella.ops import attention_parts as parts


def tensors(*shapes):
    rng = np.random.default_rng(0)
    return [ms.Tensor(rng.standard_normal(shape), ms.float32) for shape in shapes]


@pytest.mark.parametrize("same_keys, same_values", [(True, True), (False, True), (False, False)])
def test_packed_weights_are_three(same_keys, same_values):
    q, k, v, w, b = tensors((2, 4), (2, 4), (2, 4), (12, 4), (12,))
    k = q if same_keys else k
    v = k if same_values else v
    weights, biases = np.split(w.asnumpy(), 3), np.split(b.asnumpy(), 3)
    wanted = [x.asnumpy() @ weight.T + bias
              for x, weight, bias in zip((q, k, v), weights, biases, strict=True)]
    packed = parts._in_projection_packed(q, k, v, w, b, same_values, same_keys)
    apart = parts._in_projection(q, k, v, *map(ms.Tensor, weights + biases))
    for found in (packed, apart):
        np.testing.assert_allclose([t.asnumpy() for t in found], wanted, rtol=1e-5, atol=1e-6)


def test_shapes_are_checked():
    q, w, narrow = tensors((2, 4), (4, 4), (4, 3))
    with pytest.raises(ValueError, match=r"weight of 'key' must have the shape \(4, 4\), but got "
                                         r"\(4, 3\)"):
        parts._in_projection(q, q, q, w, narrow, w)
    with pytest.raises(ValueError, match="bias of 'value'"):
        parts._in_projection(q, q, q, w, w, w, b_v=w)
    assert parts._check_qkv_shape(3, 3, 3) and not parts._check_qkv_shape(2, 2, 2)
    with pytest.raises(ValueError, match="which has 3, but got 2 and 3"):
        parts._check_qkv_shape(3, 2, 3)
    with pytest.raises(ValueError, match="must have 2 or 3 dimensions, but got 4"):
        parts._check_qkv_shape(4, 4, 4)
    parts._check_kpm_shape(3, 2)
    with pytest.raises(ValueError, match="'key_padding_mask' must have 1 dimensions"):
        parts._check_kpm_shape(2, 2)
    parts._check_attn_mask_shape(2, (5, 4), (6, 4), 3, (2, 5, 6), 2)
    with pytest.raises(ValueError, match=r"must have the shape \(2, 5, 6\)"):
        parts._check_attn_mask_shape(2, (5, 4), (6, 4), 3, (2, 6, 5), 2)
    with pytest.raises(ValueError, match="'attn_mask' must have 2 or 3 dimensions"):
        parts._check_attn_mask_shape(3, (5, 1, 4), (6, 1, 4), 1, (6,), 2)


def test_masks_are_padded_and_dropout_is_for_training():
    mask, x = ms.Tensor([[True, True]]), ms.ops.ones((3, 4))
    assert parts._inner_pad(mask, (0, 1)).asnumpy().tolist() == [[True, True, False]]
    assert (parts._inner_dropout(x, 0.5, False) == x).all()
    assert set(np.unique(parts._inner_dropout(x, 0.5, True).asnumpy())) <= {0.0, 2.0}
