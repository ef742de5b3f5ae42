"""The level of a compiled function, and whether it must be one graph."""

import pytest

import lamella as ms
from lamella import JitConfig, Tensor, context, nn
from lamella.graph.surface.config import choices, declared, varies


@pytest.mark.parametrize("own, around, level, strict", [
    ({}, {}, "O1", False), (None, {}, "O1", False),
    ({"jit_level": "O0"}, {"jit_level": "O1"}, "O0", False),
    ({"jit_level": "O2"}, {"jit_level": "O0"}, "O1", False),
    ({"jit_level": ""}, {"jit_level": "O0"}, "O0", False),
    ({}, {"jit_level": "O0", "jit_config": {"jit_level": "O1"}}, "O0", False),
    ({}, {"jit_config": {"jit_level": "O0"}}, "O0", False),
    ({}, {"jit_config": {"jit_syntax_level": "STRICT"}}, "O1", True),
    ({"jit_syntax_level": "LAX"}, {"jit_config": {"jit_syntax_level": "STRICT"}}, "O1", False),
    ({"jit_syntax_level": "LAX"}, {"jit_syntax_level": ms.STRICT}, "O1", False),
    ({"jit_syntax_level": ""}, {"jit_syntax_level": ms.STRICT}, "O1", True),
    ({"jit_syntax_level": "STRICT"}, {"jit_syntax_level": ms.LAX}, "O1", True),
    ({"jit_syntax_level": "COMPATIBLE"}, {"jit_config": {"jit_syntax_level": "STRICT"}}, "O1",
     False),
    ({}, {"jit_syntax_level": ms.STRICT, "jit_config": {"jit_syntax_level": "LAX"}}, "O1", False)],
    ids=range(14))
def test_a_cells_own_settings_come_before_those_of_the_context(own, around, level, strict):
    with context._settings.kept():
        ms.set_context(**{"jit_level": "", "jit_config": {}, "jit_syntax_level": ms.LAX, **around})
        assert choices(own) == {"level": level, "fullgraph": strict}


def test_values_of_a_configuration():
    for name, values in {"jit_level": ("", "O0", "O1", "O2"), "infer_boost": ("", "on", "off"),
                         "exc_mode": ("auto", "sink", "no_sink"),
                         "jit_syntax_level": ("", "STRICT", "COMPATIBLE", "LAX"),
                         "debug_level": ("RELEASE", "DEBUG")}.items():
        for value in values:
            assert JitConfig(**{name: value}).jit_config_dict[name] == value
        with pytest.raises(ValueError, match=f"'{name}' must be one of .*'auto2'"):
            JitConfig(**{name: "auto2"})
    assert "backend" not in JitConfig().jit_config_dict
    assert [JitConfig(level).jit_config_dict["backend"] for level in ("O0", "O1", "O2")] == [
        "ms_backend", "ms_backend", "GE"]
    assert JitConfig("O2", backend="x").jit_config_dict["backend"] == "x"
    assert JitConfig(jit_level="O0", foo=1).jit_config_dict["foo"] == 1


def test_which_dimensions_vary():
    known, open_ = Tensor(shape=[2], dtype=ms.float32), Tensor(shape=[3, None], dtype=ms.float32)
    for given, signature, does in [
            (known, (2,), False), (open_, (3, None), True), (3, None, False), (None, None, False),
            ((known, [open_, 3]), [(2,), [(3, None), None]], True), ([known, 3], [(2,), None],
                                                                     False), ((), [], False)]:
        assert declared(given) == signature and varies(signature) is does


def test_a_declared_cell_is_not_recorded_ahead():
    net = nn.ReLU()
    net.compile(Tensor(shape=[None, 2], dtype=ms.float32))
    assert net.declared_inputs() == [(None, 2)] and "_compiled_whole" not in net.__dict__
    net.compile(Tensor([[1.0, 2.0]]))
    assert net._compiled_whole.statistics.traces == 1
