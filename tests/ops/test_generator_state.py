"""The seed and offset of a generator, against what MindSpore 2.10 gives."""

import pytest

import lamella as ms
from lamella import Tensor
from lamella.ops.primitives.generator_state import Generator


def number(value):
    return Tensor(value, ms.int64)


# command, what is given besides, the seed and offset that it gives, and the offset afterwards
STEPS = [(0, (number(12),), (5, 8), 20), (0, (number(3),), (5, 20), 23), (2, (), (5, 23), 23),
         (5, (), (5, 23), 23), (4, (number(9),), (9, 0), 0), (0, (number(1),), (9, 0), 1)]


def test_commands():
    seed, offset = (ms.Parameter(number(n), name=str(n), requires_grad=False) for n in (5, 8))
    kept = None
    for command, given, want, after in STEPS:
        found = Generator()(command, (seed, offset, *given))
        assert [f.tolist() for f in found[:2]] == [[n] for n in want]
        assert [f.dtype for f in found] == [ms.int64, ms.int64, ms.uint8]
        assert found[2].tolist() == [*want[0].to_bytes(8, "little"), *want[1].to_bytes(8, "little")]
        assert int(offset) == after
        kept = found[2] if command == 2 else kept
    drawn = Generator()(1, (seed, offset))
    assert int(seed) == drawn[0].tolist()[0] and int(offset) == 0
    Generator()(3, (seed, offset, kept))
    assert (int(seed), int(offset)) == (5, 23)
    for command, given in ((6, ()), (0, ()), (2, (number(1),))):
        with pytest.raises(ValueError):
            Generator()(command, (seed, offset, *given))
