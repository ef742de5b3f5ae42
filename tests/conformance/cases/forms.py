"""Forms of calls: arguments by name, lists as operands, numbers as tensors, results of graphs."""

import re

from ..spec import each, many, programs

GRAPHS = """
@ms.jit
def f(a):
    return {"a": a, "b": 2}.keys(), {"a": a}.values()
return f(x)

@ms.jit
def f(a):
    return [{"a": a}.items()], {"b": {"c": a}.values()}
return f(x)

@ms.jit
def f(a):
    return zip([a, 1], (2, 3)), enumerate([a]), range(3)
return f(x)

@ms.jit
def f(a):
    return map(lambda v: v + 1, [a, 2]), filter(lambda v: v > 1, [1, 2])
return f(x)
"""

CASES = [
    *many(
        """
        x.reshape(shape=(3, 2))
        x.view(shape=(3, 2))
        x.broadcast_to(shape=(4, 2, 3))
        x.flip(dims=(1,))
        x.permute(dims=(1, 0))
        x.unsqueeze(axis=0)
        x.unsqueeze(dim=0)
        x.narrow(axis=1, start=0, length=2)
        x.sub(y=z)
        x.sub(y=2)
        x.where(condition=z > 0, other=z)
        x.reshape()
        x.expand()
        x.broadcast_to()
        x.flip()
        x.repeat()
        x.resize()
        """,
        ("float32", "int32", "bool"),
        x="[2,3]", z="[2,3]",
    ),
    *many(
        """
        x.T
        x.squeeze(0)
        ops.squeeze(x, -1)
        ops.cartesian_prod(x, x)
        ops.cartesian_prod(x, z)
        ops.cartesian_prod(z)
        """,
        ("float32", "int64"),
        x="[]", z="[3]",
    ),
    *many(
        """
        x + [1, 2, 3]
        [1, 2, 3] + x
        x - (1, 2, 3)
        [3, 2, 1] - x
        x // [1, 2, 3]
        x.add([1, 2, 3])
        x.sub((1, 2, 3))
        """,
        ("int8", "uint8", "int32", "int64", "float16", "float32", "float64"),
        x="[2,3]",
    ),
    *many(
        """
        x + [1.5, 2, 3]
        [1.5, 2, 3] - x
        x.add([1.5, 2, 3])
        """,
        ("float16", "float32", "float64"),
        x="[2,3]",
    ),
    *many(
        """
        ops.addmm(x, y, z, beta=1.5)
        ops.addmm(x, y, z, beta=2, alpha=0.5)
        ops.addmm(x, y, z, beta=2, alpha=3)
        """,
        ("int32", "float32"),
        x="[2,3]", y="[2,4]", z="[4,3]",
    ),
    *each("ops.baddbmm(x, y, z, alpha=0.5)", ("int32",), x="[2,2,3]", y="[2,2,4]", z="[2,4,3]"),
    *each("ops.gaussian_nll_loss(x, y, ops.abs(z) + 1)", ("int32", "float32"), x="[2,3]", y="[2,3]",
          z="[2,3]"),
    *each("ops.batch_dot(x, y)", ("float32",), x="[0,2,3]", y="[0,3,2]"),
    *each("ops.intopk(x, y, 2)", ("float32",), x="[3,4]", y="int32[3]"),
    *each("x.strides", ("float32",), x="[0,3]"),
    *programs(re.split(r"\n\n(?=@)", GRAPHS), x="[2,3]"),
]
