"""Memory of a process with data parallelism, parts and slices: the benchmark ends with an error
where it differs by more than 5 % from the formulas."""

import pytest

from ..worlds import run_world


@pytest.mark.parametrize("size", [
    2, pytest.param(4, marks=pytest.mark.long("the same formulas with two processes"))])
def test_memory_is_what_the_formulas_say(size):
    found = run_world("-m", size, "benchmarks.distributed_memory", "--width", "256")
    lines = [[cell.strip() for cell in line.split("|")[1:-1]]
             for line in found[0].splitlines()[4:]]
    rows = {way: [float(cell or "nan") for cell in cells] for way, *cells in lines}
    weights = rows["data parallel"][0]
    for way in ("parts, level 1", "parts, level 3", "tensor parallel"):
        assert rows[way][0] == pytest.approx(weights / size, abs=0.01)
    assert rows["parts, level 3"][4] < rows["parts, level 1"][4]  # the most at a time
