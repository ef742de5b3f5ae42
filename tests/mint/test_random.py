"""Random functions of `mint`: shapes, types, generators."""

import pytest

import lamella as ms
from lamella import Tensor, mint

DRAWS = {
    "rand": lambda g: mint.rand(2, 3, generator=g), "randn": lambda g: mint.randn(4, generator=g),
    "randint": lambda g: mint.randint(0, 100, (5,), generator=g),
    "randperm": lambda g: mint.randperm(20, generator=g),
    "normal": lambda g: mint.normal(mint.zeros(4), 1.0, generator=g),
    "sized": lambda g: mint.normal(0.0, 1.0, (4,), g),
    "bernoulli": lambda g: mint.bernoulli(mint.full((50,), 0.5), generator=g),
    "multinomial": lambda g: mint.multinomial(mint.ones(30), 20, generator=g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_generator_gives_the_same_again(name):
    draw = DRAWS[name]
    first, again = (draw(ms.Generator().manual_seed(7)).asnumpy().tolist() for _ in range(2))
    other = draw(ms.Generator().manual_seed(8)).asnumpy().tolist()
    assert first == again != other


def test_forms_and_types():
    assert mint.randint(5, (2, 3)).shape == (2, 3)
    assert mint.randint(low=2, high=3, size=(4,)).asnumpy().tolist() == [2] * 4
    assert mint.randint_like(Tensor([1.0]), 3, 4).dtype is ms.float32
    assert mint.randint_like(Tensor([1]), 1).asnumpy().tolist() == [0]
    assert mint.rand_like(Tensor([1.0]), dtype=ms.float64, device="CPU").dtype is ms.float64
    assert mint.randn((2, 2), dtype=ms.float16).dtype is ms.float16
    assert mint.multinomial(Tensor([0.0, 1.0]), 1).dtype is ms.int64
    assert mint.randn_like(mint.zeros((2, 3))).shape == (2, 3)


def test_wrong_calls():
    with pytest.raises(TypeError, match="the arguments must be low, high, size"):
        mint.randint(5)
    with pytest.raises(ValueError, match="'num_samples' must be at most 2"):
        mint.multinomial(Tensor([1.0, 1.0]), 3)
