"""What a user's backward rule did to a gradient, in a word."""

import pytest
import torch

from lamella.insight.gradients.rules import SeenRule, _clippings

G = [3.0, -4.0, 0.0]


@pytest.mark.parametrize("before, after, effect", [
    (G, G, "unchanged"), (G, [0.0, 0.0, 0.0], "zeroed"), (G, [6.0, -8.0, 0.0], "scaled"),
    (G, [-1.5, 2.0, 0.0], "scaled"), (G, [1.0, -1.0, 0.0], "clipped"),
    (G, [3.0, -1.0, 0.0], "clipped"), (G, [3.0, 1.0, 0.0], "replaced"),
    (G, [3.0, -4.1, 0.0], "replaced"), (G, [3.0, -4.0, 0.5], "replaced"), (G, [3.0], "replaced"),
    ([0.0, 0.0], [1.0, 0.0], "replaced"), (G, [3.0, 4.0, 0.0], "replaced"),
    (G, [6.0, -8.002, 0.0], "replaced"), ([1 + 1j, 2.0], [2 + 2j, 4.0], "scaled"),
    ([1 + 1j, 2.0], [0.5 + 0.5j, 2.0], "clipped"), ([1 + 1j, 2.0], [-0.5 - 0.5j, 2.0], "replaced"),
    ([1 + 1j, 2.0], [2 + 2j, 2.0], "replaced")])
def test_effects(before, after, effect):
    rule = SeenRule("the rule")
    rule.observe(torch.tensor(before), torch.tensor(after))
    assert rule.effect == effect
    found = rule.to_dict()
    assert (found["name"], found["effect"], found["calls"]) == ("the rule", effect, [])
    assert found["before"] == rule.before.to_dict() and found["after"] == rule.after.to_dict()


def test_a_rule_that_returns_nothing_leaves_the_gradient():
    rule = SeenRule("the rule")
    assert rule.to_dict() == {"name": "the rule", "effect": "", "calls": [], "before": None,
                              "after": None}
    assert rule.text == "the rule"
    rule.observe(torch.tensor(G), None)
    assert rule.effect == "unchanged" and rule.after is rule.before
    assert rule.text == "the rule, which left it as it was"


def test_the_clipping_that_its_code_does():
    def rule(g, clipped, ops):
        g = ops.clamp(g, 0)

        def inner(g):
            return ops.clip_by_value(g, 0, 1)

        clipped = g.relu()
        return inner(g), clipped

    first = rule.__code__.co_firstlineno
    found = [name.replace(__file__, "here") for name in _clippings(rule)]
    assert found[0] == f"clamp at here:{first + 1}"
    assert f"clip_by_value at here:{first + 4}" in found
    assert not any("relu" in name for name in found)
    assert list(_clippings(None)) == list(_clippings(len)) == []
    seen = SeenRule("r", rule)
    assert seen.calls == list(_clippings(rule))
    assert seen.text == f"r with {' and '.join(seen.calls)}"
