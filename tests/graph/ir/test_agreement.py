"""Rounding differences and wrong elements are told apart."""

import cmath
import weakref

import numpy as np
import pytest
import torch

import lamella as ms
from lamella.graph.ir import agreement
from lamella.graph.ir.agreement import (
    agree,
    agree_but_for_kinks,
    in_another_order,
    next_to,
    units,
)
from tests.graph.passes.checks import used


def test_rounding_agrees_and_differences_do_not():
    a = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    assert agree([a], [a * (1 + 1e-6)]) and agree([a], [a + 1e-6])
    assert not agree([a], [a * 1.001])
    assert not agree([a], [a.double()]) and not agree([a], [a, a]) and not agree([a], [a[:5]])
    assert agree([a.half()], [(a * 1.001).half()])
    assert not agree([a.half()], [(a * 1.1).half()])
    assert not agree([a > 0], [a > 0.1]) and agree([a > 0], [a > 0])
    assert agree([torch.empty(0)], [torch.empty(0)]) and agree([a * 0], [a * 0])


def test_one_wrong_element_of_many_is_seen():
    a = torch.ones(100_000)
    wrong = a.clone()
    wrong[3] += 1e-3  # 1e-8 of the norm
    assert not agree([a], [wrong]) and units(a, wrong) == pytest.approx(1e-3 / 2**-23, rel=1e-3)


def test_infinities_and_nan_must_be_equal():
    a = torch.tensor([1.0, float("inf"), float("nan"), -float("inf")])
    assert agree([a], [a.clone()])
    for place in range(4):
        wrong = a.clone()
        wrong[place] = float("nan") if place != 2 else 1.0
        assert not agree([a], [wrong])
    assert not agree([a], [torch.tensor([1.0, -float("inf"), float("nan"), -float("inf")])])


def test_complex_numbers_agree():
    a = torch.tensor([1 + 2j, 3 - 1j])
    assert agree([a], [a * (1 + 1e-6)]) and not agree([a], [a * 1.01])


def test_the_first_results_are_freed_before_the_second_run():
    a = torch.ones(4)
    got = [a + 1e-3]
    alive = weakref.ref(got[0])
    freed = []

    def again():
        freed.append(alive() is None)
        return [a + 1e-3]

    assert agree_but_for_kinks([a], got, again) and freed == [True]
    assert not agree_but_for_kinks([a], [a + 1e-3], lambda: [a])
    assert agree_but_for_kinks([a], [a.clone()], lambda: pytest.fail("there is nothing to ask"))
    assert not agree_but_for_kinks([a > 0], [a > 2], lambda: pytest.fail("no rounding does this"))


def test_inputs_for_another_run_are_copies():
    for x in (torch.ones(3), torch.arange(3), torch.ones(3, dtype=torch.bfloat16)):
        near = next_to(x)
        assert near.data_ptr() != x.data_ptr() and near.dtype is x.dtype
        assert torch.allclose(near.double(), x.double(), rtol=0.01)


@pytest.mark.parametrize("terms, allowed", [(1 << 10, 256), (1 << 12, 256), (1 << 20, 4096)])
def test_sums_of_many_terms_may_differ_by_more(terms, allowed):
    """By the square root of their number."""
    x, wanted = torch.ones(2, terms), torch.ones(2)
    factor = in_another_order([x], [wanted])
    for unit, agrees in ((allowed, True), (allowed + 1, False)):
        got = wanted + unit * torch.finfo(torch.float32).eps
        assert agree_but_for_kinks([wanted], [got], lambda: [wanted], factor) is agrees
    halves = wanted.bfloat16()
    assert not agree_but_for_kinks([halves], [halves * 1.2], lambda: [halves], factor)


def test_a_kernel_without_results_or_numbers_has_the_usual_factor():
    assert in_another_order([], []) == 64
    assert in_another_order([torch.ones(1 << 20)], [torch.ones(0)]) == 1024
    assert in_another_order([torch.ones(9)], [torch.ones(9, dtype=torch.int64)]) == 64


def test_a_comparison_takes_little_memory():
    a = torch.randn(1 << 21)
    assert used(lambda: units(a, a + 0))[0] < 1.25 * a.nbytes


@pytest.mark.parametrize("shape", [(60,), (3, 20), (20, 3), (7, 1, 9)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64])
def test_tensors_are_compared_part_by_part(monkeypatch, shape, dtype):
    a = torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    b = a * (1 + 8 * torch.finfo(dtype).eps)
    whole = units(a, b)
    monkeypatch.setattr(agreement, "PART", 10)
    assert whole > 0 and units(a, b) == pytest.approx(whole, rel=1e-3)
    a.view(-1)[-1] = b.view(-1)[-1] = torch.inf
    assert 0 < units(a, b) < torch.inf
    b.view(-1)[-1] = torch.nan
    assert units(a, b) == torch.inf


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64])
def test_the_quick_look_misses_no_difference(monkeypatch, dtype):
    """What it takes for near is near by the slow one; rounding is, and what isn't finite never."""
    stream = torch.Generator().manual_seed(1)
    a = torch.randn(20, 30, generator=stream).to(dtype)
    eps, found = torch.finfo(dtype).eps, []
    monkeypatch.setattr(agreement, "PART", 64)
    for power in range(-2, 8):
        b = a + (torch.randn(20, 30, generator=stream) * eps * 4.0**power).to(dtype)
        found.append(agreement._are_near(a, b, 100.0))
        assert not found[-1] or units(a, b) <= 100.0
    assert found[0] and not found[-1]
    for value in (torch.inf, torch.nan):
        b = a.clone()
        b[3, 4] = value
        assert not agreement._are_near(a, b, 1e30) and not agreement._are_near(b, b, 1e30)
    assert agreement._are_near(a * 0, a * 0, 1.0) and agreement._are_near(a[:0], a[:0], 1.0)
    assert not agreement._are_near(a, a.abs().half(), 1e30)
    assert not agreement._are_near(a, a[:5], 1e30)


@pytest.mark.parametrize("dtype, most", [
    (torch.float32, 256), (torch.float64, 256), (torch.bfloat16, 16), (torch.float16, 16)])
def test_how_many_units_are_allowed(dtype, most):
    a = torch.ones(4, dtype=dtype)
    for count, is_allowed in ((most - 1, True), (most, True), (most + 1, False)):
        b = a.clone()
        b[2] += count * torch.finfo(dtype).eps
        assert units(a, b) == count
        assert agree([a], [b]) == is_allowed == (
            agree_but_for_kinks([a], [b], lambda: [a]))


def test_differences_are_measured_in_units_of_all_elements_or_of_a_larger_one():
    eps = torch.finfo(torch.float32).eps
    a = torch.tensor([3.0, 4.0, 0.0, 0.0])  # of a root mean square of 2.5
    for place, unit in ((0, 3.0), (1, 4.0), (2, 2.5)):
        b = a.clone()
        b[place] += 64 * 5 * eps
        assert units(a, b) == pytest.approx(64 * 5 / unit, rel=0.02)
    infinite = torch.tensor([3.0, 4.0, torch.inf, torch.nan])  # those of 3.5
    b = infinite.clone()
    b[0] += 64 * 5 * eps
    assert units(infinite, b) == pytest.approx(64 * 5 / 12.5**0.5, rel=0.02)


@pytest.mark.parametrize("limit, difference, agrees", [
    (100.0, 800.0, True), (100.0, 808.0, False), (10.0, 256.0, True), (10.0, 264.0, False),
    (torch.inf, 264.0, False)])
def test_eight_times_what_one_unit_of_the_inputs_makes(limit, difference, agrees):
    eps, a = torch.finfo(torch.float32).eps, torch.ones(1)
    assert agree_but_for_kinks([a], [a + difference * eps], lambda: [a + limit * eps]) == agrees


@pytest.mark.parametrize("found, expected, same", [
    (0.0, 0.0, True), (0.0, -0.0, False), (-0.0, -0.0, True), (1, 1.0, True), (2, 3, False),
    (float("nan"), float("nan"), True), (float("nan"), 1.0, False), (1.0, float("nan"), False),
    (0, 0.0, False), (False, False, True), (complex(-1, 0.0), complex(-1, -0.0), False),
    (1j, 1j, True), (complex("nan+1j"), complex("nan+2j"), False),
    (complex("nan+1j"), complex("nan+1j"), True)])
def test_numbers_of_guards(found, expected, same):
    assert agreement.is_same_number(found, expected) == same


def test_inputs_are_changed_by_one_unit():
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.ones(1000, dtype=dtype)
        steps = (next_to(x).double() - 1) / torch.finfo(dtype).eps
        assert set(steps.tolist()) == {-1.0, 1.0} and abs(steps.sum()) < 200


def test_a_complex_number_that_is_read_decides_by_the_sign_of_its_zero():
    compiled, x = ms.jit(lambda x, z: x * cmath.sqrt(complex(z)).imag), ms.Tensor([2.0])
    for _ in range(3):
        for number, wanted in ((complex(-1, 0.0), 2), (complex(-1, -0.0), -2), (-4, 4)):
            assert compiled(x, ms.Tensor(np.array(complex(number)))).item() == wanted
    assert compiled.report()["replays"] >= 3
