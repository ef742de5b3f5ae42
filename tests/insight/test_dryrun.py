"""Programs that run without the devices that they were written for."""

import pytest

from lamella.insight import dryrun


@pytest.fixture(params=[False, True], ids=["real", "simulated"])
def simulated(request, monkeypatch):
    monkeypatch.delenv("MS_SIMULATION_LEVEL", raising=False)
    if request.param:
        monkeypatch.setenv("MS_SIMULATION_LEVEL", "0")  # so that it is put back
        dryrun.set_simulation()
    return request.param


@pytest.mark.parametrize("args, real", [
    ((5,), 5), ((0,), 0), ((lambda: 4,), 4), ((max, 1, 3), 3), ((str, 7), "7")], ids=range(5))
def test_a_stand_in_counts_in_simulations_only(simulated, args, real):
    assert dryrun.mock("stand-in", *args) == ("stand-in" if simulated else real)


@pytest.mark.parametrize("args, words", [((), "there must be a value or a function"),
                                         ((3, 4), "must be a function, but got 3")])
def test_what_is_no_call_is_an_error(simulated, args, words):
    if simulated:
        assert dryrun.mock(1, *args) == 1
        return
    with pytest.raises(TypeError, match=words):
        dryrun.mock(1, *args)
