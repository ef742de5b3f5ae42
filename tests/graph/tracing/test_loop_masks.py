"""Which gradients of a backward pass are there, as flags of the tape's nodes."""

import itertools

import pytest
import torch

from lamella.graph.tracing.loop_masks import (
    Flag,
    Masks,
    Presence,
    Use,
    _both,
    _either,
    _Flags,
    _opposite,
    _users_first,
    absent,
    differentiated,
    in_part,
)

TRUTHS = [True, False, torch.tensor(True), torch.tensor(False)]


@pytest.mark.parametrize("first, second", list(itertools.product(range(4), repeat=2)))
def test_truth_values_that_are_known_or_tensors(first, second):
    first, second = TRUTHS[first], TRUTHS[second]
    for function, want in ((_both, bool(first) and bool(second)),
                           (_either, bool(first) or bool(second))):
        found = function(first, second)
        assert bool(found) is want
        decided = [t for t in (first, second) if isinstance(t, bool) and t is (function is _either)]
        neither = all(isinstance(t, bool) for t in (first, second))
        assert isinstance(found, bool) is bool(decided or neither)
    assert bool(_opposite(first)) is not bool(first) and type(_opposite(first)) is type(first)


def test_a_flag_is_found_once():
    found = []
    flag = Flag(lambda: found.append(1) or False)
    assert flag.now() is False and flag.now() is False and len(found) == 1


def test_equal_flags_are_the_same():
    flags, test, other = _Flags(), torch.tensor(True), torch.tensor(False)
    first, second = flags.of(Use(test)), flags.of(Use(other))
    assert flags.of(Use(test)) is first is not second and first.now() is test
    opposite = flags.of(Use(test, 1))
    assert flags.of(Use(test, 1)) is opposite is not first and not opposite.now()
    assert flags.both(None, None) is None and flags.both(first, None) is first
    assert flags.both(None, first) is first and flags.both(first, first) is first
    both = flags.both(first, second)
    assert flags.both(first, second) is both and not both.now()
    assert flags.any_of([first]) is first and flags.any_of([first, first]) is first
    assert flags.any_of([first, None]) is None and flags.any_of([first, opposite]) is None
    assert flags.any_of([second, opposite, first]) is None
    either = flags.any_of([second, first])
    assert flags.any_of([second, first]) is either is not both and either.now()
    assert not flags.any_of([second, opposite]).now()
    third = flags.any_of([second, opposite, both])
    assert not third.now() and third is flags.any_of([second, opposite, both])


def test_a_test_that_a_backward_pass_finds():
    presence, flags = Presence(), _Flags()
    use = presence.of(2)
    assert flags.of(use).now() is True  # nothing is known of it
    presence.found = {2: False, 3: torch.tensor(True)}
    assert _Flags().of(use).now() is False and _Flags().of(presence.of(3)).now() is not True
    assert _Flags().of(presence.of(3)).now()


def test_the_gradients_that_a_node_takes():
    presence = Presence()
    assert presence.takes(0) is True
    with presence.taking({0: Flag(lambda: False), 1: None}):
        assert presence.takes(0) is False and presence.takes(1) is True is presence.takes(2)
        with presence.taking({}):
            assert presence.takes(0) is True
        assert presence.takes(0) is False
    assert presence.takes(0) is True


def test_the_nodes_of_a_tape_after_those_that_use_them():
    a = torch.ones(3, requires_grad=True)
    b = a.sin()
    c = (b * b + b.cos()).sum()
    order = [node.name() for node in _users_first([c.grad_fn])]
    assert order[:2] == ["SumBackward0", "AddBackward0"] and len(order) == len({*order}) == 6
    assert order[4:] == ["SinBackward0", "torch::autograd::AccumulateGrad"]
    both = _users_first([b.grad_fn, c.grad_fn, b.grad_fn])
    assert len(both) == 6 and both.index(c.grad_fn) < both.index(b.grad_fn)
    assert _users_first([]) == []


@pytest.mark.parametrize("unread, found", [
    ((), {0, 1, 2, 3}), ((0,), {1, 2, 3}), ((2,), {0, 1, 3}), ((1,), {0, 1, 2, 3}),
    ((0, 1, 2), {3, 1}), ((3,), {0, 1, 2}), ((0, 1, 2, 3), set()), ((1, 3), {0, 2})])
def test_what_may_have_a_gradient_though_nothing_reads_it_after_a_loop(unread, found):
    """Of x, y, p, q: the next q is computed of y, that of y of itself, x is as it was."""
    x, y, p, q = (torch.ones(2, requires_grad=True) for _ in range(4))
    outs = [x, y * 2, q.detach() * 3, y.sin() + 0 * q.detach()]
    assert differentiated(outs, [x, y, p, q], unread) == found


def test_a_carried_value_that_is_passed_on():
    x, y, z = (torch.ones(2, requires_grad=True) for _ in range(3))
    assert differentiated([y, z, z * 2], [x, y, z], (0, 1, 2)) == set()
    assert differentiated([y, z, z * 2], [x, y, z], (1, 2)) == {0, 1, 2}
    assert differentiated([z * 2, y, z], [x, y, z], (1, 2)) == {0, 2}


# -- masks on a tape -------------------------------------------------------------------------------


def gradient(function, test, make):
    """The gradient by 0 and 1 of a function, one of whose nodes uses its input if a test holds."""
    a, masks = torch.tensor([0.0, 1.0], requires_grad=True), Masks()
    out, node = function(a)
    masks.note(node, make(torch.tensor(test)))
    with masks.placed([out], [a]):
        return torch.autograd.grad(out.sum(), a)[0].tolist()


def rooted(a):
    """The derivative of the root of 0 is infinite, and 0 times it no number."""
    root = a.sqrt()
    kept = root * torch.tensor([0.0, 0.0])
    return kept + a * 3, kept.grad_fn


def test_a_gradient_that_is_not_there_meets_no_infinite_derivative():
    def uses(test):
        return {0: Use(test)}

    assert gradient(rooted, False, uses) == [3, 3]
    assert str(gradient(rooted, True, uses)) == "[nan, 3.0]"
    assert str(gradient(rooted, False, lambda test: {0: Use(test, 1)})) == "[nan, 3.0]"
    assert gradient(rooted, True, lambda test: {0: Use(test, 1)}) == [3, 3]


def test_hooks_of_masks_are_removed():
    a, masks = torch.tensor([0.0, 1.0], requires_grad=True), Masks()
    out, node = rooted(a)
    masks.note(node, {0: Use(torch.tensor(False))})
    for _ in range(2):
        with masks.placed([out], [a]):
            found, = torch.autograd.grad(out.sum(), a, retain_graph=True)
        assert found.tolist() == [3, 3]
        plain, = torch.autograd.grad(out.sum(), a, retain_graph=True)
        assert str(plain.tolist()) == "[nan, 3.0]"


def test_what_is_used_in_another_way_is_there():
    def twice(a):
        root = a.sqrt()
        kept = root * torch.tensor([0.0, 0.0])
        return kept + a * 3 + root * 2, kept.grad_fn

    assert str(gradient(twice, False, lambda test: {0: Use(test)})) == "[inf, 4.0]"


def test_an_input_in_the_middle_of_a_tape_gets_a_masked_gradient():
    a = torch.tensor([0.0, 1.0], requires_grad=True)
    middle = a * 2
    masks = Masks()
    out, node = rooted(middle)
    masks.note(node, {0: Use(torch.tensor(False))})
    with masks.placed([out], [middle]):
        found, = torch.autograd.grad(out.sum(), middle)
    assert found.tolist() == [3, 3]


def test_zeros_in_place_of_a_gradient():
    assert absent(torch.ones(2, 3)).tolist() == [[0] * 3] * 2 and not in_part()
