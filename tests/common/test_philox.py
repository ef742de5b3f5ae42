"""The random numbers of initializers: the generator, and MindSpore's initial weights by seed."""

import numpy as np
import pytest

import lamella as ms
from lamella import mint, nn
from lamella.common.initializer import (
    HeNormal,
    Normal,
    Sparse,
    TruncatedNormal,
    Uniform,
    XavierNormal,
    initializer,
)
from lamella.common.philox import philox


def reference(seed, count):
    """Philox4x32-10 with Python's numbers, as its paper has it."""
    mask, out = 2**32 - 1, []
    for block in range(-(-count // 4)):
        state, key = [block, 0, seed & mask, seed >> 32], [seed & mask, seed >> 32]
        for _ in range(10):
            left, right = 0xD2511F53 * state[0], 0xCD9E8D57 * state[2]
            state = [right >> 32 ^ state[1] ^ key[0], right & mask,
                     left >> 32 ^ state[3] ^ key[1], left & mask]
            key = [key[0] + 0x9E3779B9 & mask, key[1] + 0xBB67AE85 & mask]
        out += state
    return out[:count]


@pytest.mark.parametrize("seed", [1, 5, 2**40 + 3, 2**63 - 1])
def test_generator(seed):
    numbers = philox(seed, 101)
    assert numbers.dtype == np.uint32 and numbers.tolist() == reference(seed, 101)
    assert philox(seed, 9, 40).tolist() == numbers[40:49].tolist()


def test_pieces_are_one_sequence():
    whole = philox(7, 200_001)
    assert np.array_equal(np.concatenate([philox(7, 2**16), philox(7, 200_001 - 2**16, 2**16)]),
                          whole)
    assert whole.mean() == pytest.approx(2**31, rel=0.01)


# What MindSpore 2.10 gives after `set_seed(11)`: the first numbers of Parameters, and NumPy's next.
LAYERS = {
    "dense": (lambda: nn.Dense(5, 7), {
        "weight": [0.23233037, 0.34707323, -0.41915599],
        "bias": [-0.3025367, -0.00575206, 0.28112811]}, 337),
    "convolution": (lambda: nn.Conv2d(4, 4, 3, group=2, has_bias=True), {
        "weight": [0.12244885, 0.18292364, -0.2209146],
        "bias": [-0.15945084, -0.0030316, 0.14816752]}, 337),
    "transposed": (lambda: nn.Conv2dTranspose(3, 4, 3), {
        "weight": [0.08658442, 0.12934655, -0.15621021]}, 80),
    "lstm": (lambda: nn.LSTM(3, 4, 2, bidirectional=True), {
        "weight_ih_l0": [-0.31973031, -0.48052475, -0.03678147],
        "bias_ih_l0_reverse": [0.00216978, 0.27889323, -0.00543636],
        "weight_hh_l1": [-0.34146422, 0.44818968, 0.142478],
        "bias_hh_l1_reverse": [0.18820731, -0.45365033, 0.37591505]}, 429),
    "gru": (lambda: nn.GRU(3, 4, has_bias=False), {
        "weight_hh_l0": [0.48667333, -0.16194595, -0.26012531]}, 64),
    "cell": (lambda: nn.LSTMCell(3, 4), {
        "weight_ih": [-0.13312607, 0.45956156, -0.16198067],
        "bias_hh": [0.0593796, 0.0257695, -0.43449306]}, 738),
    "embedding": (lambda: nn.Embedding(5, 4), {
        "embedding_table": [-0.00050366, -0.00100881, 0.00411467]}, 80),
    "attention": (lambda: nn.MultiheadAttention(8, 2), {
        "in_proj_weight": [0.22495291, 0.33605218, -0.40584603],
        "out_proj.weight": [-0.23917627, -0.0045474, 0.22225128],
        "out_proj.bias": [0.10097075, 0.11689743, 0.24490483]}, 269),
    "mint": (lambda: mint.nn.Linear(3, 4), {
        "weight": [0.29993722, 0.4480696, -0.54112804],
        "bias": [-0.3905732, -0.00742588, 0.36293483]}, 337),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_seed_gives_mindspores_weights(name):
    layer, recorded, following = LAYERS[name]
    ms.set_seed(11)
    parameters = layer().parameters_dict()
    assert np.random.randint(1000) == following
    for key, numbers in recorded.items():
        np.testing.assert_allclose(parameters[key].asnumpy().ravel()[:3], numbers, atol=1e-8)


@pytest.mark.parametrize("init, shape, numbers", [  # after `set_seed(5)`
    (Sparse(0.3), (6, 4), [-0.00509966, 0.01792588, -0.00589162, 0.0, -0.00824301]),
    (HeNormal(), (4, 5), [-0.32253075, 1.13373208, -0.37261876, -0.24137205, -0.52133352]),
    (XavierNormal(), (4, 5), [-0.24040022, 0.845034, -0.27773365, -0.1799081, -0.38857907]),
    (Normal(0.3, 2.0), (3, 3), [1.84701025, 2.53777647, 1.82325137, 1.88550723, 1.75270975]),
    (Uniform(0.5), (3,), [-0.14809357, 0.44393381, 0.19683911]),
    (TruncatedNormal(0.7, 0.1), (3, 3), [-0.1666792, 1.19351137, 0.45691988, -0.74638581,
                                         0.91172761])], ids=lambda value: type(value).__name__)
def test_a_seed_gives_mindspores_numbers(init, shape, numbers):
    ms.set_seed(5)
    drawn = initializer(init, shape).init_data().asnumpy().ravel()[:len(numbers)]
    np.testing.assert_allclose(drawn, numbers, rtol=1e-6, atol=1e-8)
