"""Conversions between types, and tensors out of numbers."""

from ..spec import ALL, REAL, case, each, many

TARGETS = (
    "bool_",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "complex64",
    "complex128",
)
CASES = [
    *[
        case(f"x.astype(ms.{to})", x=f"{kind}[{size}")
        for to in TARGETS
        for kind in ALL
        for size in ("2,3]", "16]!")
    ],
    *[c for to in TARGETS for c in each(f"ops.cast(x, ms.{to})", ("int32", "float32"), x="[3]")],
    *[case(f"ops.cast(x, ms.{to})", "grad", x="float32[3]") for to in TARGETS],
    *[
        case(f"x.astype({how})", x="float32[3]")
        for how in ("'int32'", "int", "bool", "float", "'a'", "None", "3")
    ],
    *[
        case(f"ms.Tensor({value}{kind})")
        for value in (
            "1",
            "1.5",
            "True",
            "1j",
            "[1, 2]",
            "[1, 2.5]",
            "[True, 2]",
            "[]",
            "[[]]",
            "(1, 2)",
            "'a'",
            "2**31",
            "2**63",
            "-1",
            "float('nan')",
            "[[1, 2], [3]]",
            "np.float64(1)",
            "np.int8([1])",
        )
        for kind in ("", ", ms.int32", ", ms.float16", ", ms.uint8", ", ms.bool_")
    ],
    *many("""
        ops.tuple_to_array((1, 2, 3))
        ops.tuple_to_array((1, 2.0))
        ops.tuple_to_array((1.5, 2.0))
        ops.tuple_to_array(range(2))
        ops.tuple_to_array([1, 2])
        ops.scalar_to_tensor(1)
        ops.scalar_to_tensor(1.5, ms.int32)
        ops.scalar_to_tensor(True)
        ops.scalar_to_array(1)
        ops.scalar_cast(1.5, ms.int32)
        ops.arange(5)
        ops.arange(1, 5, 2)
        ops.arange(1.0, 2.0, 0.25)
        ops.arange(5, 1)
        ops.arange(0, 5, 0)
        ops.arange(5, dtype=ms.float32)
        ops.arange('a')
        ops.range(0, 5, 2)
        ops.linspace(0, 1, 5)
        ops.linspace(0, 1, 0)
        ops.linspace(0, 1, -1)
        ops.linspace(1, 5, 2.5)
        ops.logspace(0, 2, 3)
        ops.logspace(0, 2, 3, 2, dtype=ms.int32)
        ops.eye(3)
        ops.eye(2, 3, ms.int32)
        ops.eye(-1)
        ops.eye('a')
        ops.ones(3)
        ops.ones((2, 3), ms.int8)
        ops.ones((-1,))
        ops.ones(2.5)
        ops.zeros((2, 0))
        ops.zeros(ms.Tensor([2, 3]))
        ops.full((2,), 1)
        ops.full((2,), 1.5, dtype=ms.int32)
        ops.full((2,), 'a')
        ops.fill(ms.float32, (2, 2), 1)
        ops.tril_indices(3, 3)
        ops.triu_indices(3, 4, 1)
        ops.tril_indices(2, 2, dtype=ms.int32)
        ops.tril_indices(-1, 2)
        ops.fftfreq(4)
        ops.rfftfreq(5, 0.5)
        """),
    *many(
        """
        x.int()
        x.long()
        x.float()
        x.half()
        x.bool()
        x.byte()
        x.short()
        x.char()
        x.double()
        x.item()
        x.tolist()
        x.itemsize
        x.nbytes
        x.strides
        x.ndim
        x.size
        x.shape
        x.copy()
        """,
        ALL,
        x="[1]+",
    ),
    *many(
        """
        x.float()
        x.double()
        ops.range(x, y, 1)
        """,
        REAL,
        grad=True,
        x="float32[]=1",
        y="float32[]=4",
    ),
]
