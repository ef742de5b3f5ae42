"""Operators that exchange borders, products and tokens between four real processes."""

import json
from pathlib import Path

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

from ..worlds import run_world_here
from .exchanging import (
    ABOVE,
    BELOW,
    LEFT,
    RIGHT,
    WORLD,
    experts_of,
    image,
    main,
    matrices,
    tokens,
)


@pytest.fixture(scope="module")
def found():
    worker = Path(__file__).with_name("exchanging.py")
    return [json.loads(out.splitlines()[-1]) for out in run_world_here(
        main, worker, WORLD)]


def test_borders_of_neighbours(found):
    """Four quarters of one picture, each with the rows and columns around it."""
    whole = np.block([[image(0)[0, 0], image(1)[0, 0]], [image(2)[0, 0], image(3)[0, 0]]])
    padded = np.pad(whole, ((ABOVE, BELOW), (LEFT, RIGHT)))
    seen = np.zeros_like(padded)  # each pixel by itself, and by the neighbours that got it
    for rank in range(WORLD):
        row, column = 3 * (rank // 2), 3 * (rank % 2)
        window = np.s_[row:row + ABOVE + 3 + BELOW, column:column + LEFT + 3 + RIGHT]
        np.testing.assert_array_equal(np.array(found[rank]["borders"])[0, 0], padded[window])
        seen[window] += 1
    for rank in range(WORLD):
        row, column = ABOVE + 3 * (rank // 2), LEFT + 3 * (rank % 2)
        np.testing.assert_array_equal(np.array(found[rank]["borders gradient"])[0, 0],
                                      seen[row:row + 3, column:column + 3])


def test_lists_of_ranks(found):
    for rank in range(WORLD):
        pair = (0, 2) if rank % 2 == 0 else (1, 3)
        assert found[rank]["gathered"] == [float(pair[0]), float(pair[1])]
        total = np.sum([np.arange(4) + other for other in pair], 0)
        assert found[rank]["scattered"] == total[2 * pair.index(rank):][:2].tolist()


def test_products(found):
    rows = np.concatenate([matrices(rank)[0] for rank in range(WORLD)])
    total = np.sum([matrices(rank)[2] @ matrices(rank)[1] for rank in range(WORLD)], 0)
    for rank in range(WORLD):
        np.testing.assert_allclose(found[rank]["product"], rows @ matrices(rank)[1], rtol=1e-5)
        np.testing.assert_allclose(found[rank]["rows"], rows)
        np.testing.assert_allclose(found[rank]["part"], total[2 * rank:2 * rank + 2], rtol=1e-4)


def test_tokens_go_to_their_experts_and_back(found):
    """Expert e multiplies by e + 1; each process has two of the eight."""
    for rank in range(WORLD):
        mine = [(expert, source, place) for expert in (2 * rank, 2 * rank + 1)
                for source in range(WORLD)
                for place in np.flatnonzero(experts_of(source).reshape(-1) == expert)]
        want = [tokens(source)[place // 2] for _, source, place in mine]
        np.testing.assert_array_equal(np.array(found[rank]["came"]).reshape(-1, 3),
                                      np.array(want).reshape(-1, 3))
        numbers = [sum(one == expert for one, _, _ in mine) for expert in (2 * rank, 2 * rank + 1)]
        assert found[rank]["numbers"] == np.cumsum(numbers).tolist()
        factors = (experts_of(rank) + 1) * np.array([1.0, 0.5])
        np.testing.assert_allclose(found[rank]["back"],
                                   tokens(rank) * factors.sum(1, keepdims=True), rtol=1e-6)
        np.testing.assert_allclose(found[rank]["gradient"],
                                   np.broadcast_to(factors.sum(1, keepdims=True), (3, 3)),
                                   rtol=1e-6)


def test_wrong_calls():
    x, ids = ops.ones((2, 3)), Tensor([[0], [5]], ms.int32)
    with pytest.raises(ValueError, match=r"'expert_ids' must be in \[0, 2\)"):
        ops.moe_distribute_dispatch(x, ids, 1, 0, 2)
    with pytest.raises(ValueError, match="'ep_world_size'"):
        ops.moe_distribute_dispatch(x, ids, 2, 0, 2)
    with pytest.raises(ValueError, match="'quant_mode' must be 0"):
        ops.moe_distribute_dispatch(x, ids, 1, 0, 6, quant_mode=2)
    with pytest.raises(ValueError, match="'world_size'"):
        ops.all_gather_matmul(x, x.T, "hccl_world_group", 2)
    for option in ({"bias": x}, {"trans_input": True}, {"bias": x, "trans_input": True}):
        for call in (ops.all_gather_matmul, ops.matmul_reduce_scatter):
            with pytest.raises(ValueError, match="'bias' must be None and 'trans_input' False"):
                call(x, x.T, "hccl_world_group", 1, **option)
    with pytest.raises(ValueError, match="'send_lens' must be 4 ints"):
        ops.NeighborExchangeV2([-1] * 8, [0], [-1] * 8, [0] * 4, "NCHW")
    with pytest.raises(ValueError, match="'group' must be a list of ranks"):
        ms.ops.primitives.neighbours._HostAllGather("world")
