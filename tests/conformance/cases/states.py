"""Primitives that change what they are given: a cache's map, a generator's state, rows by key."""

from ..spec import each, many

CACHE = """
kept = ms.Parameter(Tensor(ROWS, ms.int32), name='kept')
found = P.MapCacheIdx()(kept, x, Tensor(STEP, ms.int32), Tensor(LIMIT, ms.int32), OFFSET)
return found, kept.value()
""".strip()
SMALL = ("[[0, 0, 0, 0], [0, 0, 0, 1], [10, 0, -5, 2], [2, 0, -5, 3], [1, 0, -5, 4], "
         "[15, 1, -5, 5], [0, 0, 0, 6], [0, 0, 0, 7], [0, 0, 0, 8], [0, 0, 0, 9]]")
LARGE = ("[[0, 0, 0, 0], [0, 0, 0, 0], [39, 3, -3, 1], [31, 5, -3, 1], [0, 0, 0, 0], "
         "[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [12, 1, -6, 1], [38, 2, -6, 1], [0, 0, 0, 0], "
         "[0, 0, 0, 0], [0, 0, 0, 0], [27, 4, -4, 1], [6, 6, -6, 1], [32, 7, -2, 1], [0, 0, 0, 0], "
         "[0, 0, 0, 0], [8, 0, -6, 1], [0, 0, 0, 0]]")


def cache(rows: str, step: int, limit: int, offset: int) -> str:
    values = {"ROWS": rows, "STEP": step, "LIMIT": limit, "OFFSET": offset}
    body = CACHE
    for name, value in values.items():
        body = body.replace(name, str(value))
    return body


GENERATOR = """
seed, offset = [ms.Parameter(Tensor(n, ms.int64), name=str(n), requires_grad=False) for n in (5, 8)]
generator = private('ops.auto_generate', 'Generator')()
found = [generator(c, (seed, offset, *[Tensor(g, ms.int64) for g in given])) for c, given in STEPS]
return found, seed.value(), offset.value()
""".strip()
STEPS = ("[(2, ())]", "[(5, ())]", "[(0, (12,)), (0, (3,)), (2, ())]", "[(4, (9,)), (0, (1,))]",
         "[(4, (-3,)), (5, ())]")
RESTORED = """
seed, offset = [ms.Parameter(Tensor(n, ms.int64), name=str(n), requires_grad=False) for n in (5, 8)]
generator = private('ops.auto_generate', 'Generator')()
state = generator(2, (seed, offset))[2]
generator(4, (seed, offset, Tensor(77, ms.int64)))
return generator(3, (seed, offset, state)), seed.value(), offset.value()
""".strip()

MAP = """
rows = private('experimental.map_parameter', 'MapParameter')(
    key_tensor=Tensor([3, 8], ms.int32), value_tensor=Tensor([[1.0], [2.0]]), default_value='ones',
    name='rows')
make = lambda name: private('ops.operations._map_tensor_ops', name)()
one, two = Tensor([3], ms.int32), Tensor([3, 5], ms.int32)
return CALL
""".strip()
CALLS = """
    private('ops.operations._map_tensor_ops', 'MapTensorGet')(True)(rows, two)
    make('MapTensorPut')(rows, two, Tensor([[4.0], [5.0]])).get(two)
    make('MapTensorErase')(rows, one).get_keys()
    make('MapTensorGetKeys')(rows)
    make('MapTensorGetValues')(rows)
    make('MapTensorGetData')(rows)
    private('ops.operations._grad_ops', 'MapTensorGetGrad')()(rows, one, Tensor([2.0]), one)
    rows.get(two)
    rows.put(two, Tensor([[4.0], [5.0]])).get_data()
    rows.erase(one).get_data()
    rows[two]
    """

CASES = [
    *each(cache(SMALL, 0, 25, 0), x="int32[5]=10,2,25,5,3"),
    *each(cache(SMALL, 0, 25, 0), x="int32[2]=1,15"),
    *each(cache(SMALL, 1, 12, 2), x="int32[3]=12,4,17"),
    *each(cache(LARGE, 0, 38, 1), x="int32[6]=36,5,8,21,15,-1"),
    *each(cache(LARGE, 0, 40, 0), x="int32[4]=39,31,6,27"),
    *[c for steps in STEPS for c in each(GENERATOR.replace("STEPS", steps))],
    *each(RESTORED),
    *[c for line in filter(None, map(str.strip, CALLS.splitlines()))
      for c in each(MAP.replace("CALL", line))],
    *many("shown(private('ops.auto_generate', 'Generator')()(1, tuple(ms.Parameter(Tensor(n, "
          "ms.int64), name=str(n), requires_grad=False) for n in (5, 8))))"),
]
