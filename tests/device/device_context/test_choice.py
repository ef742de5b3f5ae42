"""Settings that take one of a few values."""

from __future__ import annotations

import pytest

from lamella.device.device_context.choice import choice

NAN = float("nan")


@pytest.mark.parametrize("values, value, is_taken", [
    (("fast", "exact"), "".join(["fa", "st"]), True), ((1, 2), 1, True), ((1, 2), True, False),
    ((1, 2), 1.0, False), ((True, False), 1, False), ((NAN,), NAN, True), ((1, NAN), -NAN, False),
    (("a",), "b", False), (("a",), None, False), ((), "anything", True), ((), None, True)])
def test_values(values, value, is_taken):
    setting = choice("mode", *values)
    if is_taken:
        assert setting(value) is None and setting.value is value
    else:
        with pytest.raises(ValueError, match="For 'mode', the value must be one of"):
            setting(value)
        assert setting.value is None


def test_what_a_setting_says_of_itself():
    assert choice("mode", 1, "a").__doc__ == "Keep 'mode', one of [1, 'a']; it has no effect here."
    assert choice("mode").__doc__ == "Keep 'mode'; it has no effect here."
    assert choice("mode").__name__ == choice("mode").__qualname__ == "mode"
