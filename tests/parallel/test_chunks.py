"""Which stage of a pipeline runs which chunk, against the definition by search."""

import pytest

from lamella.parallel.chunks import Chunks


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
def test_chunks(stages):
    loop = [*range(stages)] * 3
    v = [*range(stages), *reversed(range(stages))]
    for order, path in (("once", loop[:stages]), ("loop", loop), ("v", v)):
        chunks = Chunks(stages, order)
        assert [chunks.stage(chunk) for chunk in range(len(path))] == path
        for stage in range(stages):
            mine = [chunk for chunk, each in enumerate(path) if each == stage]
            for least in range(2 * stages):
                assert chunks.find(stage, least) == next(
                    (chunk for chunk in mine if chunk >= least), mine[-1])
    assert [Chunks(stages, "loop").count(last) for last in range(3 * stages)] == [
        stages * rounds for rounds in (1, 2, 3) for _ in range(stages)]
    assert {Chunks(stages, "v").count(last) for last in range(2 * stages)} == {2 * stages}
