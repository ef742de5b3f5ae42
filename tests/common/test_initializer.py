"""Initializers: distributions, shapes, names and errors."""

import copy
import math

import numpy as np
import pytest
import torch
from scipy import stats

import lamella as ms
from lamella import ops
from lamella.common import initializer as room
from lamella.common.initializer import (
    Constant,
    Dirac,
    HeNormal,
    HeUniform,
    Identity,
    Initializer,
    Normal,
    One,
    Orthogonal,
    Sparse,
    TruncatedNormal,
    Uniform,
    VarianceScaling,
    XavierNormal,
    XavierUniform,
    Zero,
    initializer,
)

SHAPE = (400, 300)  # fan_in 300, fan_out 400
WIDE = math.sqrt(1 / 300) / 0.8796256610342398  # of standard deviation sqrt(1/300) after truncation


def made(init, shape=SHAPE, dtype=ms.float32):
    return initializer(init, shape, dtype).init_data().asnumpy()


def uniform(bound):
    return stats.uniform(-bound, 2 * bound)


def truncated(sigma, mean, a, b):
    return stats.truncnorm((a - mean) / sigma, (b - mean) / sigma, mean, sigma)


@pytest.mark.parametrize("init, law", [
    (Uniform(), uniform(0.07)),
    ("uniform", uniform(0.07)),
    (Normal(), stats.norm(0, 0.01)),
    (Normal(2.0, 3.0), stats.norm(3, 2)),
    (Normal(sigma=0.5, mean=-1), stats.norm(-1, 0.5)),
    (TruncatedNormal(), stats.norm(0, 0.01)),  # the bounds are absolute: +-200 sigma
    (TruncatedNormal(0.5, 3.0, -1, 2), truncated(0.5, 3, -1, 2)),
    (TruncatedNormal(1.0, 0.0, -0.5, 1.0), truncated(1, 0, -0.5, 1)),
    (TruncatedNormal(1.0, 0.0, -2.0, 2.0), truncated(1, 0, -2, 2)),
    (TruncatedNormal(1.0, 0.0, 6.0, 7.0), truncated(1, 0, 6, 7)),
    (TruncatedNormal(1.0, 0.0, -7.0, -6.0), truncated(1, 0, -7, -6)),
    (XavierUniform(2), uniform(2 * math.sqrt(6 / 700))),
    (XavierNormal(), stats.norm(0, math.sqrt(2 / 700))),
    (HeUniform(), uniform(math.sqrt(6 / 300))),
    (HeUniform(math.sqrt(5)), uniform(1 / math.sqrt(300))),  # the default of Dense and Conv
    (HeUniform(nonlinearity="tanh"), uniform(5 / 3 * math.sqrt(3 / 300))),
    (HeUniform(0.3, "fan_out", "sigmoid"), uniform(math.sqrt(3 / 400))),
    (HeNormal(), stats.norm(0, math.sqrt(2 / 300))),
    (HeNormal(mode="fan_out", nonlinearity="relu"), stats.norm(0, math.sqrt(2 / 400))),
    (HeNormal(nonlinearity="conv2d"), stats.norm(0, math.sqrt(1 / 300))),
    (VarianceScaling(2.0, "fan_avg", "untruncated_normal"), stats.norm(0, math.sqrt(2 / 350))),
    (VarianceScaling(3.0, "fan_out", "uniform"), uniform(math.sqrt(9 / 400))),
    # truncated at two standard deviations, and of the documented variance (MindSpore 2.10 draws it
    # uniformly, against its documentation)
    (VarianceScaling(), truncated(WIDE, 0, -2 * WIDE, 2 * WIDE)),
])
def test_distribution(init, law):
    values = made(init).astype(np.float64).ravel()
    assert stats.kstest(values, law.cdf).pvalue > 1e-3
    low, high = law.support()
    assert low - 1e-5 <= values.min() and values.max() <= high + 1e-5
    np.testing.assert_allclose(values.std(), law.std(), rtol=0.02)
    assert abs(values.mean() - law.mean()) < 6 * law.std() / math.sqrt(values.size)


def test_variance_scaling_keeps_its_variance():
    assert made(VarianceScaling(4.0), (1000, 100)).var() == pytest.approx(0.04, rel=0.02)


@pytest.mark.parametrize("shape, fans", [
    ((4, 3), (3, 4)), ((8, 3, 5), (15, 40)), ((8, 3, 5, 7), (105, 280)), ((2, 3, 1, 1, 2), (6, 4))])
def test_fans(shape, fans):
    assert room._calculate_fan_in_and_fan_out(shape) == fans
    assert room._calculate_in_and_out(np.zeros(shape)) == fans
    assert room._calculate_correct_fan(shape, "fan_in") == fans[0]
    assert room._calculate_correct_fan(shape, "FAN_OUT") == fans[1]
    assert abs(made(XavierUniform(), shape)).max() <= math.sqrt(6 / sum(fans))


@pytest.mark.parametrize("nonlinearity, slope, gain", [
    ("linear", 0, 1), ("conv_transpose3d", 0, 1), ("sigmoid", 0, 1), ("tanh", 0, 5 / 3),
    ("relu", 0, math.sqrt(2)), ("leaky_relu", None, math.sqrt(2 / 1.0001)),
    ("leaky_relu", 1, 1), ("leaky_relu", 0.5, math.sqrt(2 / 1.25))])
def test_gain(nonlinearity, slope, gain):
    assert room._calculate_gain(nonlinearity, slope) == pytest.approx(gain)


# -- deterministic ones --------------------------------------------------------------------------


def test_constants():
    assert (made(Zero()) == 0).all() and (made("zeros") == 0).all()
    assert (made(One()) == 1).all() and (made("ones") == 1).all()
    assert (made(Constant(3)) == 3).all() and (made(2.5) == 2.5).all() and (made(True) == 1).all()
    assert made(Constant(np.arange(3.0)), (2, 3)).tolist() == [[0, 1, 2]] * 2
    assert made(2**53 + 1, (1,), ms.int64).tolist() == [2**53 + 1]
    assert made(1 + 2j, (1,), ms.complex64).tolist() == [1 + 2j]


def test_identity_and_dirac():
    assert made(Identity(), (2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    where = np.nonzero(made(Dirac(2), (4, 2, 3, 3)))
    assert [w.tolist() for w in where] == [[0, 1, 2, 3], [0, 1, 0, 1], [1] * 4, [1] * 4]
    x = torch.randn(1, 3, 7)
    kernel = torch.from_numpy(made("dirac", (5, 3, 3)))
    out = torch.nn.functional.conv1d(x, kernel, padding=1)
    assert torch.equal(out[:, :3], x) and (out[:, 3:] == 0).all()


@pytest.mark.parametrize("shape", [(3, 2, 2), (4, 3), (5, 5), (2, 9)])
def test_orthogonal(shape):
    w = made(Orthogonal(2.0), shape).reshape(shape[0], -1)
    small = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=2e-6)


def test_orthogonal_is_uniform_over_rotations():
    corners = [made(Orthogonal(), (2, 2))[0, 0] for _ in range(2000)]
    assert stats.kstest(np.arccos(corners) / np.pi, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("sparsity, zeros", [(0.1, 40), (0.101, 41), (0, 0), (1, 400)])
def test_sparse(sparsity, zeros):
    w = made(Sparse(sparsity, 2.0))
    assert ((w == 0).sum(0) == zeros).all()
    if 0 < zeros < 400:
        assert stats.kstest(w[w != 0], stats.norm(0, 2).cdf).pvalue > 1e-3
        rows = (w == 0).sum(1)  # every row is as likely
        assert stats.chisquare(rows).pvalue > 1e-3


# -- the function --------------------------------------------------------------------------------


def test_names():
    assert set(room._INITIALIZER_ALIAS) == set(
        "dirac he_normal he_uniform henormal heuniform identity normal one ones orthogonal sparse "
        "truncatednormal uniform variancescaling xavier_normal xavier_uniform xaviernormal "
        "xavieruniform zero zeros".split())
    for name in ("He_Uniform", "truncatedNormal", "XAVIER_UNIFORM"):
        assert made(name, (2, 3)).shape == (2, 3)


@pytest.mark.parametrize("init, shape, error, match", [
    (None, (2,), TypeError, "'init' must be"), ([1], (2,), TypeError, "'init' must be"),
    ("nope", (2,), ValueError, "no initializer is called 'nope'"),
    ("constant", (2,), ValueError, "no initializer"),
    ("zeros", (2, 0), ValueError, "positive ints"), ("zeros", -1, ValueError, "positive ints"),
    ("zeros", (3.0,), ValueError, "positive ints"), ("zeros", None, ValueError, "'shape' must be"),
    (ms.Tensor([1.0, 2.0]), [3], ValueError, r"\(2,\), but got \(3,\)")])
def test_wrong_arguments(init, shape, error, match):
    with pytest.raises(error, match=match):
        initializer(init, shape)


@pytest.mark.parametrize("init, shape, match", [
    (HeUniform(), (3,), "2 dimensions or|2 or more"), (HeUniform(mode="fan_x"), (3, 4), "'mode'"),
    (HeUniform("a"), (3, 4), "negative_slope"), (HeUniform(True), (3, 4), "negative_slope"),
    (HeNormal(nonlinearity="selu"), (3, 4), "nonlinearity"), (Normal(-1), (3,), "sigma"),
    (TruncatedNormal(a=1, b=0), (3,), "'a' must be less"), (Identity(), (3,), "2 dimensions"),
    (Sparse(0.5), (3,), "2 dimensions"), (Orthogonal(), (3,), "2 dimensions"),
    (Dirac(), (3, 3), "3, 4 or 5"), (Dirac(3), (4, 2, 3), "must divide")])
def test_errors_while_making(init, shape, match):
    with pytest.raises(ValueError, match=match):
        made(init, shape)


def test_errors_of_variance_scaling():
    for options in ({"scale": 0}, {"mode": "x"}, {"distribution": "x"}):
        with pytest.raises(ValueError, match=f"'{list(options)[0]}'"):
            VarianceScaling(**options)


def test_forms_of_shape_and_init():
    assert made("ones", 3).shape == (3,) and made("ones", [2, 3]).shape == (2, 3)
    assert made("ones", ()).shape == () and made("normal", ()).shape == ()
    assert made(TruncatedNormal(1.0, 0.0, -0.1, 0.1), ()).shape == ()
    assert made("ones", (np.int64(2),)).shape == (2,)
    t = ms.Tensor([1.0, 2.0])
    assert initializer(t) is t and initializer(t, [2], ms.int32) is t and initializer(t, 2) is t


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.float64, ms.int32, ms.uint8,
                                   ms.bool_, ms.complex64, ms.float32])
def test_data_types(dtype):
    for init in (Normal(3.0, 5), "ones", Constant(2), Uniform(0.5)):
        assert initializer(init, (2, 3), dtype).init_data().dtype == dtype
    assert made("ones", (2,), dtype).tolist() == [1, 1]


def test_data_waits_for_init_data():
    x = initializer("ones", (2,))
    assert x.has_init and x.shape == (2,) and ops.zeros_like(x).asnumpy().tolist() == [0, 0]
    for use in (lambda x: x + 0, lambda x: x.sum(), lambda x: x[0], lambda x: ops.stack([x, x])):
        with pytest.raises(RuntimeError, match="must be made by 'init_data'"):
            use(x)
    assert x.init_data() is x and not x.has_init and x.asnumpy().tolist() == [1, 1]
    assert str(initializer("ones", (2,))) == "[1. 1.]"
    assert not ms.Parameter(initializer("ones", (2,)), name="p").has_init


def test_set_seed_repeats():
    for init in ("normal", "uniform", TruncatedNormal(1.0), Sparse(0.5), Orthogonal(), HeUniform()):
        ms.set_seed(3)
        first = made(init, (5, 4))
        assert not np.array_equal(made(init, (5, 4)), first)
        ms.set_seed(3)
        assert np.array_equal(made(init, (5, 4)), first)


# -- custom initializers --------------------------------------------------------------------------


class Ramp(Initializer):
    def __init__(self, step):
        super().__init__(step=step)
        self.step = step

    def _initialize(self, arr):
        room._assignment(arr, np.arange(arr.size).reshape(arr.shape) * self.step)


@pytest.mark.parametrize("dtype", [ms.float32, ms.bfloat16, ms.float16, ms.int8, ms.bool_])
def test_an_own_initializer_fills_an_array(dtype):
    assert made(Ramp(2), (2, 2), dtype).tolist() == ([[0, 1], [1, 1]] if dtype == ms.bool_ else
                                                     [[0, 2], [4, 6]])
    assert made(Ramp(2), (), dtype).shape == ()


def test_a_subclass_of_a_known_one_may_change_it():
    class Shifted(Normal):
        def _initialize(self, arr):
            super()._initialize(arr)
            arr += 100

    assert abs(made(Shifted(0.1), (1000,)).mean() - 100) < 0.1
    arr = np.zeros((3, 2), np.float64)
    XavierUniform()(arr)
    assert (arr != 0).all() and arr.dtype == np.float64


def test_one_without_a_rule():
    class Empty(Initializer):
        pass

    with pytest.raises(NotImplementedError, match="Empty must override"):
        made(Empty(), (2,))


def test_register_and_array_helpers():
    @room._register("my_ramp")
    class TestRamp(Ramp):
        def __init__(self):
            super().__init__(1)

    try:
        assert made("my_ramp", (3,)).tolist() == [0, 1, 2] == made("TestRamp", (3,)).tolist()
    finally:
        for name in ("my_ramp", "testramp"):
            del room._INITIALIZER_ALIAS[name]
    assert room._init_random_uniform(2, 3, (50,)).min() >= 2
    assert room._init_random_normal(5, 0.1, (50,)).dtype == np.float32
    assert abs(room._init_truncated_normal(-1, 1, 0, 1, (50,))).max() <= 1
    scalar = np.zeros(())
    assert room._assignment(scalar, 3) is scalar and scalar == 3


@pytest.mark.parametrize("init, match", [
    (Constant(None), "For 'Constant', 'value'.*None"),
    (Constant("a"), "For 'Constant', 'value'.*'a'"), (Uniform("a"), "For 'Uniform', 'scale'.*'a'"),
    # programs write `Uniform(parameter)` and never fill anything with it
    (Uniform(ms.Parameter(ms.Tensor([1.0]))), "For 'Uniform', 'scale'.*Parameter")],
    ids=["constant-none", "constant-text", "uniform-text", "uniform-parameter"])
def test_numbers_are_asked_for_while_making(init, match):
    with pytest.raises(TypeError, match=match):
        made(init, (2,))


def test_no_copy_is_made_of_what_waits_or_was_just_made():
    waiting = initializer("normal", (64, 64))
    for twin in (copy.copy(waiting), copy.deepcopy(waiting)):
        assert twin._raw.stride() == (0, 0) and twin.init_data().shape == (64, 64)
    made = []

    class Kept(Initializer):
        def make(self, shape, raw_dtype):
            made.append(torch.zeros(tuple(shape), dtype=raw_dtype))
            return made[-1]

    parameter = ms.Parameter(initializer(Kept(), (3,)), name="w")
    assert parameter._data.data_ptr() == made[0].data_ptr()


def test_an_array_that_an_initializer_keeps_is_not_the_data_of_a_parameter():
    class Keeping(Initializer):
        def _initialize(self, arr):
            arr[:] = 1.0
            self.arr = arr

    keeping = Keeping()
    parameter = ms.Parameter(initializer(keeping, (3,)), name="w")
    parameter.set_data(ms.Tensor([5.0, 5.0, 5.0]))
    assert keeping.arr.tolist() == [1.0] * 3


@pytest.mark.parametrize("shape", [(2, 2), (3, 2, 2), (2, 3, 2, 2), (2, 2, 3, 3, 3), (1,) * 6])
def test_dirac_has_a_kernel_s_rank(shape):
    if len(shape) in (3, 4, 5):
        import torch
        wanted = torch.nn.init.dirac_(torch.empty(shape))
        np.testing.assert_array_equal(initializer(Dirac(), shape).init_data().asnumpy(), wanted)
    else:
        with pytest.raises(ValueError, match="3, 4 or 5 dimensions"):
            initializer(Dirac(), shape).init_data()
