"""Collectives of a group of one process: counts, ranks and shapes at their limits, and borders."""

import numpy as np
import pytest

from lamella import Tensor, communication, ops
from lamella.ops.primitives import neighbours


@pytest.fixture(autouse=True)
def _world():
    communication.init()
    yield
    communication.release()


X = Tensor(np.arange(6.0, dtype=np.float32))
MATRIX = Tensor(np.arange(6.0, dtype=np.float32).reshape(2, 3))


@pytest.mark.parametrize("call", [
    lambda: ops.AlltoAllV(block_size=2)(X, [3], [3]), lambda: ops.AlltoAllV(block_size=3)(
        X, Tensor([2]), Tensor([2])),
    lambda: ops.AlltoAllVC(block_size=2)(X, [[3]]), lambda: ops.AlltoAllVC(None, 3, True)(
        X, Tensor([2])),
    lambda: ops.AllGatherV()(X, (6,)), lambda: ops.AllGatherV()(X, Tensor([6])),
    lambda: ops.ReduceScatterV()(X, [6]), lambda: ops.ReduceScatterV("max")(X, Tensor([6])),
    lambda: ops.Broadcast(0)((X,))[0], lambda: ops.Broadcast(0)([X])[0],
    lambda: ops.Broadcast(0)(X)[0], lambda: ops.Reduce(0, "min")(X),
    lambda: ops.CollectiveGather(0)(X), lambda: ops.CollectiveScatter(0)(X),
    lambda: ops.AllReduce(group=None)(X), lambda: ops.AlltoAll(1, 0, 0)(X),
    lambda: neighbours._HostAllGather([0])(X), lambda: neighbours._HostAllGather((0,))(X),
    lambda: neighbours._HostReduceScatter("prod", [0])(X)], ids=range(19))
def test_what_fits_gives_its_input(call):
    assert call().tolist() == X.tolist()


@pytest.mark.parametrize("call, text", [
    (lambda: ops.AlltoAllV(block_size=2)(X, [6], [6]), "as long as"),
    (lambda: ops.AlltoAllV()(X, [5], [5]), "as long as"),
    (lambda: ops.AlltoAllV()(MATRIX, [6], [6]), "one dimension"),
    (lambda: ops.AlltoAllV()(X, [3, 3], [6]), "one number for each"),
    (lambda: ops.AlltoAllV()(X, [6], [3, 3]), "one number for each"),
    (lambda: ops.AlltoAllV()(X, [], [6]), "one number for each"),
    (lambda: ops.AlltoAllVC()(X, [[6, 0], [0, 6]]), "each pair"),
    (lambda: ops.AlltoAllVC(block_size=2)(X, [6]), "as long as"),
    (lambda: ops.AlltoAllVC()(MATRIX, [6]), "one dimension"),
    (lambda: ops.AllGatherV()(X, [5]), "as long as"),
    (lambda: ops.AllGatherV()(MATRIX, [6]), "one dimension"),
    (lambda: ops.AllGatherV()(X, [3, 3]), "one number for each"),
    (lambda: ops.ReduceScatterV()(X, [7]), "as long as"),
    (lambda: ops.Broadcast(-1)(X), r"'root_rank' must be in \[0, 1\)"),
    (lambda: ops.Reduce(1)(X), r"'dest_rank' must be in \[0, 1\)"),
    (lambda: ops.Reduce(-1)(X), r"'dest_rank' must be in \[0, 1\)"),
    (lambda: ops.CollectiveScatter(1)(X), r"'src_rank' must be in \[0, 1\)"),
    (lambda: ops.CollectiveGather(-1)(X), r"'dest_rank' must be in \[0, 1\)"),
    (lambda: ops.AlltoAll(0, 0, 0)(X), "number of processes"),
    (lambda: ops.AlltoAll(1, 1, 0)(X), "dimension 1"),
    (lambda: ops.AlltoAll(1, 0, 1)(X), "dimension 1"),
    (lambda: neighbours._HostAllGather([]), "a list of ranks"),
    (lambda: neighbours._HostAllGather("0"), "a list of ranks"),
    (lambda: neighbours._HostAllGather([0.0]), "a list of ranks"),
    (lambda: neighbours._HostAllGather(0), "a list of ranks"),
    (lambda: neighbours._HostAllGather([1])(X), "ranks of the 1"),
    (lambda: neighbours._HostAllGather([0, 1])(X), "ranks of the 1"),
    (lambda: neighbours._HostAllGather([-1, 0])(X), "ranks of the 1"),
    (lambda: neighbours._HostReduceScatter("avg", [0]), "'op'")], ids=range(29))
def test_counts_and_ranks_that_do_not_fit(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("make", [
    lambda n: ops.Broadcast(n), lambda n: ops.Reduce(n), lambda n: ops.CollectiveScatter(n),
    lambda n: ops.CollectiveGather(n), lambda n: ops.AlltoAll(n, 0, 0),
    lambda n: ops.AlltoAll(1, n, 0), lambda n: ops.AlltoAll(1, 0, n),
    lambda n: ops.AlltoAllV(block_size=n), lambda n: ops.AlltoAllVC(block_size=n)])
def test_numbers_are_ints(make):
    for value in (True, 1.0, "1"):
        with pytest.raises(TypeError, match="int"):
            make(value)


@pytest.mark.parametrize("arguments", [
    (["isend"], [0, 0]), (["irecv"], [0], None, [X.dtype]), (["irecv"], [0], [(6,)]),
    (["isend"], [0], [(6,)]), (["isend"], [0], None, [X.dtype]), (["send"], [0])])
def test_batches_of_messages_have_what_they_need(arguments):
    with pytest.raises(ValueError, match="BatchISendIRecv"):
        ops.BatchISendIRecv(*arguments)


DIRECTIONS = [(-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1)]
IMAGES = np.arange(2 * 3 * 4 * 5.0, dtype=np.float32).reshape(2, 3, 4, 5)


@pytest.mark.parametrize("missing", [(), (0,), (1, 6), (2, 3, 4), tuple(range(8)), (7,)], ids=str)
def test_borders_that_a_process_gives_itself(missing):
    """What leaves at one side comes in at the other; zeros where no rank is named."""
    sends = [-1 if (place + 4) % 8 in missing else 0 for place in range(8)]
    receives = [-1 if place in missing else 0 for place in range(8)]
    above, below, left, right = 1, 2, 3, 2
    found = ops.NeighborExchangeV2(sends, [below, above, right, left], receives,
                                   [above, below, left, right], "NCHW")(Tensor(IMAGES))
    wanted = np.pad(IMAGES, ((0, 0), (0, 0), (above, below), (left, right)), "wrap")
    rows = {-1: slice(0, above), 0: slice(above, above + 4), 1: slice(above + 4, None)}
    columns = {-1: slice(0, left), 0: slice(left, left + 5), 1: slice(left + 5, None)}
    for place in missing:
        vertical, horizontal = DIRECTIONS[place]
        wanted[:, :, rows[vertical], columns[horizontal]] = 0
    np.testing.assert_array_equal(found.asnumpy(), wanted)


NONE, EMPTY = [-1] * 8, [0] * 4


@pytest.mark.parametrize("arguments, kind", [
    ((NONE[:7], EMPTY, NONE, EMPTY, "NCHW"), ValueError),
    ((NONE, EMPTY[:3], NONE, EMPTY, "NCHW"), ValueError),
    ((NONE, EMPTY, NONE + [-1], EMPTY, "NCHW"), ValueError),
    ((NONE, EMPTY, NONE, EMPTY + [0], "NCHW"), ValueError),
    (([-2] + NONE[1:], EMPTY, NONE, EMPTY, "NCHW"), ValueError),
    ((NONE, [-1, 0, 0, 0], NONE, EMPTY, "NCHW"), ValueError),
    ((NONE, EMPTY, NONE, [0, 0, 0, -1], "NCHW"), ValueError),
    ((NONE, EMPTY, NONE, EMPTY, "NHWC"), ValueError),
    ((tuple(NONE), EMPTY, NONE, EMPTY, "NCHW"), TypeError),
    ((NONE, EMPTY, NONE, [0.0] * 4, "NCHW"), ValueError)])
def test_borders_that_do_not_fit(arguments, kind):
    ops.NeighborExchangeV2(NONE, EMPTY, NONE, EMPTY, "NCHW")
    with pytest.raises(kind, match="NeighborExchangeV2"):
        ops.NeighborExchangeV2(*arguments)


def test_borders_of_images_only():
    exchange = ops.NeighborExchangeV2(NONE, EMPTY, NONE, EMPTY, "NCHW")
    for shape in ((3, 4, 5), (1, 2, 3, 4, 5)):
        with pytest.raises(ValueError, match="must have the shape"):
            exchange(ops.ones(shape))
