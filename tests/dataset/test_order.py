"""Streams of row numbers cut at their ends, tables of rows, and the buffer of shuffles."""

import itertools
import pickle

import numpy as np
import pytest

from lamella.common.mersenne_twister import Mt19937x64
from lamella.dataset.order import (
    ArrayTable,
    Buffer,
    ChosenTable,
    JoinedTable,
    MappedTable,
    Table,
    batched,
    chunked,
    flat,
    read_from,
    rows_from,
    skipped,
    taken,
)

CUTS = [[3, 1, 4], [1, 1, 1, 5], [8], [2, 6], [0, 8], [4, 0, 4], [7, 1]]


def chunks(sizes):
    edges = np.cumsum([0, *sizes])
    return (np.arange(a, b) for a, b in itertools.pairwise(edges))


@pytest.mark.parametrize("sizes", CUTS)
@pytest.mark.parametrize("count", range(9))
def test_first_and_later_numbers(sizes, count):
    assert list(flat(taken(chunks(sizes), count))) == list(range(count))
    assert list(flat(skipped(chunks(sizes), count))) == list(range(count, 8))


def test_no_more_is_read_than_is_taken():
    read = []

    def noted():
        for chunk in chunks([3, 2, 3]):
            read.append(len(chunk))
            yield chunk

    assert list(flat(taken(noted(), 5))) == list(range(5)) and read == [3, 2]


@pytest.mark.parametrize("sizes", CUTS)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8, 9])
@pytest.mark.parametrize("drop", [False, True])
def test_numbers_in_batches(sizes, size, drop):
    wanted = [list(range(at, min(at + size, 8))) for at in range(0, 8, size)]
    if drop:
        wanted = [batch for batch in wanted if len(batch) == size]
    assert [batch.tolist() for batch in batched(chunks(sizes), size, drop)] == wanted


@pytest.mark.parametrize("count, sizes", [(0, []), (1, [1]), (3, [3]), (4, [3, 1]), (6, [3, 3])])
def test_numbers_in_arrays(count, sizes):
    found = list(chunked(range(count), 3))
    assert [len(chunk) for chunk in found] == sizes and list(flat(found)) == list(range(count))
    assert all(chunk.dtype == np.int64 for chunk in found)
    assert [len(chunk) for chunk in chunked(iter(range(2049)))] == [1024, 1024, 1]


COLUMNS = [np.arange(12).reshape(4, 3), np.arange(4.0),
           np.asfortranarray(np.arange(8).reshape(4, 2))]


def tables():
    plain = ArrayTable(COLUMNS)
    by_rows = Table(lambda place: tuple(np.asarray(column[place]) for column in COLUMNS), 4)
    return {"arrays": (plain, COLUMNS), "chosen": (ChosenTable(plain, [2, 0]), COLUMNS[2::-2]),
            "mapped": (MappedTable(plain, lambda c: (c[0] * 2, c[1])),
                       [COLUMNS[0] * 2, COLUMNS[1]]),
            "chosen of mapped": (ChosenTable(MappedTable(plain, lambda c: (c[1] + 1, c[0])), [1]),
                                 COLUMNS[:1]),
            "rows": (by_rows, COLUMNS),
            "chosen of rows": (ChosenTable(by_rows, [1, 2]), COLUMNS[1:])}


@pytest.mark.parametrize("name", list(tables()))
def test_tables(name):
    table, columns = tables()[name]
    assert table.size == 4 and table.stacks is ("rows" not in name) and table.files is None
    for place in range(4):
        row = table.row(place)
        assert len(row) == len(columns)
        for value, column in zip(row, columns, strict=True):
            assert isinstance(value, np.ndarray) and value.tolist() == column[place].tolist()
    places = np.array([3, 0, 3])
    if not table.stacks:
        return
    for value, column in zip(table.gather(places), columns, strict=True):
        assert value.tolist() == column[places].tolist()
        assert not np.shares_memory(value, column)


def test_joined_tables():
    parts = [ArrayTable([np.arange(2)], lambda place: [f"a{place}"]), ArrayTable([np.zeros(0)]),
             ArrayTable([np.array([7, 8, 9])])]
    joined = JoinedTable(parts)
    assert joined.size == 5
    assert [int(joined.row(place)[0]) for place in range(5)] == [0, 1, 7, 8, 9]
    assert [list(joined.files(place)) for place in range(5)] == [["a0"], ["a1"], [], [], []]


@pytest.mark.parametrize("size, count", [(1, 5), (3, 8), (5, 5), (6, 5), (4, 5), (5, 0), (2, 1)])
def test_a_shuffle_draws_among_the_next(size, count):
    """By the definition: a slot of those held is drawn, and the next item put in at the end."""
    buffer, draw = Buffer(size, 11), Mt19937x64(11).word
    for _ in range(2):  # the generator goes on
        source, held, wanted = iter(range(count)), [], []
        held += itertools.islice(source, size)
        while held:
            slot = draw() % len(held)
            wanted.append(held[slot])
            held[slot] = held[-1]
            held.pop()
            held += itertools.islice(source, 1)
        assert list(buffer.mixed(iter(range(count)))) == wanted
        assert sorted(wanted) == list(range(count))
        assert all(item - at < size for at, item in enumerate(wanted))


def test_rows_remember_their_files():
    row = read_from((1, 2), (lambda name: [name, "b"], "a"))
    assert row == (1, 2) and row.files == ["a", "b"]
    again = pickle.loads(pickle.dumps(row))
    assert again == row and list(again.files) == ["a", "b"]
    kind = rows_from((list, ("c",)))
    assert kind((3,)).files == ["c"] and kind((4,)) == (4,)
