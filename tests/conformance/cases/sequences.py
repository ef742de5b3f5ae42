"""Sequences, ranges, distances of rows; and what draws numbers, by its types and errors."""

from ..spec import many

_WORDS = "int32[1,2,7]=1,2,1,2,5,1,2,9,3,9,5,4,1,5"

CASES = [
    *many(
        """
        P.NoRepeatNGram(1)(s, x)
        P.NoRepeatNGram(2)(s, x)
        P.NoRepeatNGram(3)(s, x)
        P.NoRepeatNGram(7)(s, x)
        P.NoRepeatNGram(9)(s, x)
        P.NoRepeatNGram(2)(s, x[:, :, :4])
        P.NoRepeatNGram(2)(s[0], x)
        P.NoRepeatNGram(2)(s, x[0])
        P.NoRepeatNGram(2)(s, x[:, :1])
        P.NoRepeatNGram(2)(s.astype(ms.int64), x)
        P.NoRepeatNGram(0)
        P.NoRepeatNGram(1.0)
        """,
        ("float32", "float16", "float64", "int32"),
        graph=True,
        x="[1,2,10]",
        s=_WORDS,
    ),
    *many(
        """
        P.EditDistance()(i, x[:4], Tensor([2, 3, 3]), j, x[1:4], Tensor([2, 2, 2]))
        P.EditDistance(False)(i, x[:4], Tensor([2, 3, 3]), j, x[1:4], Tensor([2, 2, 2]))
        P.EditDistance(False)(i, x[:4], Tensor([2, 3, 3]), i, x[1:], Tensor([2, 3, 3]))
        P.EditDistance(True)(i, x[:4], Tensor([2, 3, 3]), i[:3], x[:3], Tensor([2, 3, 3]))
        P.EditDistance(False)(i, x[:3], Tensor([2, 3, 3]), j, x[1:4], Tensor([2, 2, 2]))
        P.EditDistance(False)(i, x[:4], Tensor([2, 3]), j, x[1:4], Tensor([2, 2, 2]))
        P.EditDistance(False)(i, x[:4], Tensor([1, 2, 3]), j, x[1:4], Tensor([1, 2, 2]))
        P.EditDistance(False)(i, x[:4], (2, 3, 3), j, x[1:4], Tensor([2, 2, 2]))
        P.EditDistance()(i.int(), x[:4], Tensor([2, 3, 3]), j, x[1:4], Tensor([2, 2, 2]))
        P.EditDistance(False)(i, x[:4], Tensor([2, 3, 3]), j, x[1:4] > 0, Tensor([2, 2, 2]))
        P.EditDistance(1)
        """,
        ("float32", "int32", "int64", "float64"),
        x="[5]",
        i="int64[4,3]=0,0,0,0,0,1,0,2,0,1,1,0",
        j="int64[3,3]=0,0,0,1,1,0,1,1,1",
    ),
    *many(
        """
        P.RaggedRange(ms.int64)(x, y, z)
        P.RaggedRange(ms.int32)(y, x, z)
        P.RaggedRange(ms.int32)(x[0], y[0], z[0])
        P.RaggedRange(ms.int32)(x, y, z * 0)
        P.RaggedRange(ms.int32)(x, y[:2], z)
        P.RaggedRange(ms.int32)(x, y, z.astype(ms.float16))
        P.RaggedRange(ms.int32)(x[None], y[None], z[None])
        P.RaggedRange(ms.int32)(1, 2, 3)
        P.RaggedRange(ms.float32)
        """,
        ("int32", "int64", "float32", "float64", "float16"),
        x="[4]=1,5,-3,0",
        y="[4]=9,1,4,0",
        z="[4]=2,-3,1,5",
    ),
    *many(
        """
        P.SubAndFilter()(x, 6, 2)
        P.SubAndFilter()(x.reshape((2, 3)), 6, 2)
        P.SubAndFilter()(x, 6.0, 2)
        P.SubAndFilter()([1, 2], 6, 2)
        P.MapUniform()(x, 4, 3)
        P.MapUniform()(x - 4, 4, 3)
        P.MapUniform()(x, 4, 0)
        P.MapUniform()(x, 4.0, 3)
        P.MapUniform()([1, 2], 4, 3)
        """,
        ("int8", "int16", "int32", "int64", "float32"),
        graph=True,
        x="[6]=1,3,5,8,9,16",
    ),
    *many(
        """
        ops.pdist(x)
        ops.pdist(x, 1.0)
        ops.pdist(x, 3.0)
        ops.pdist(x, 0.0)
        ops.pdist(x, float('inf'))
        ops.pdist(x, 2)
        ops.pdist(x, -1.0)
        ops.pdist(x[:1])
        ops.pdist(x[None])
        ops.pdist([[1.0]])
        ops.padding(x[:, :1])
        ops.padding(x[:, :1], 3)
        ops.padding(x[:, :1], 0)
        ops.padding(x[:, :1], 2.0)
        ops.padding(x)
        ops.padding(x[:, 0])
        P.Expand()(x[:, :1], Tensor([4, 3]))
        """,
        ("float32", "float64", "float16", "int32"),
        grad=True,
        x="[4,3]",
    ),
    *many(
        """
        P.Bernoulli()(x, Tensor([1.0], ms.float32))
        P.Bernoulli(3)(x, Tensor([0.0], ms.float64))
        P.Bernoulli(3, 1)(x, 1.0)
        P.Bernoulli()(x, Tensor([2.0], ms.float32))
        P.Bernoulli()(x, Tensor([0.5, 0.5], ms.float32))
        P.Bernoulli(-2)(x, 0.5)
        P.Bernoulli(1.0)
        P.LogNormalReverse()(x).shape
        P.LogNormalReverse()(x).dtype
        P.LogNormalReverse(1)
        P.LogNormalReverse(1.0, 'a')
        P.LogNormalReverse()(1.0)
        P.MultinomialWithReplacement(3, True)(x, Tensor(2), Tensor(5)).shape
        P.MultinomialWithReplacement(3, True)(x > 0, Tensor(2), Tensor(5))
        P.MultinomialWithReplacement(-1, True)
        P.MultinomialWithReplacement(1.0, True)
        P.MultinomialWithReplacement(3, 1)
        """,
        ("float32", "float64", "float16", "int32", "bool"),
        x="[2,3]+",
    ),
    *many(
        """
        P.Cauchy([2, 3])().shape
        P.Cauchy([2, 3])().dtype
        P.Cauchy((2, 3))
        P.Cauchy([])()
        P.Cauchy([-1])
        P.Cauchy([2.0])
        P.Cauchy([2], 1)
        P.Cauchy([2], 1.0, 1)
        P.NonDeterministicInts()(x).shape
        P.NonDeterministicInts()(x).dtype
        P.NonDeterministicInts(ms.int32)(x).dtype
        P.NonDeterministicInts()(x[:1])
        P.NonDeterministicInts()(x[None])
        P.NonDeterministicInts(ms.float32)
        P.NonDeterministicInts()((2, 3))
        P.ParameterizedTruncatedNormal()(x, m, m + 1, m - 1, m + 2).shape
        P.ParameterizedTruncatedNormal()(x, m, m + 1, m - 1, m + 2).dtype
        P.ParameterizedTruncatedNormal()(x[:1], m, m + 1, m - 1, m + 2)
        P.ParameterizedTruncatedNormal()(x, m, m + 1, m - 1, (m + 2).astype(ms.int32))
        """,
        ("int32", "int64"),
        x="[2]=2,3",
        m="float32[1]+",
    ),
    *many(
        """
        P.Betainc()(a, b, x)
        P.Betainc()(a - 1, b, x)
        P.Betainc()(a, b - 1, x)
        P.Betainc()(a, b, x * 1.5)
        P.Betainc()(a, b, x * 0)
        P.Betainc()(a, b, x[:2])
        P.Betainc()(a, b.astype(ms.float16), x)
        """,
        ("float32", "float64", "float16"),
        grad=True,
        graph=True,
        a="[4]=1,2,3,4",
        b="[4]=3,1,2,2",
        x="[4]+",
    ),
    *many(
        """
        P.LogUniformCandidateSampler(2, 5, True, 5)(x)[0].shape
        P.LogUniformCandidateSampler(2, 5, False, 5)(x)[1]
        P.LogUniformCandidateSampler(2, 5, True, 5)(x)[0].dtype
        P.LogUniformCandidateSampler(2, 5, True, 4)(x)
        P.LogUniformCandidateSampler(0, 5, True, 5)(x)
        P.LogUniformCandidateSampler(2, 0, True, 5)(x)
        P.LogUniformCandidateSampler(2, 5, False, 0)(x)
        P.LogUniformCandidateSampler(3, 5, True, 5)(x)
        P.LogUniformCandidateSampler(2, 5, 1, 5)
        P.UniformCandidateSampler(2, 3, False, 5)(x)[1]
        P.UniformCandidateSampler(2, 3, True, 5)(x)[0].shape
        P.UniformCandidateSampler(2, 9, True, 5)(x)
        P.UniformCandidateSampler(0, 3, True, 5)(x)
        P.UniformCandidateSampler(2, 0, True, 5)(x)
        P.UniformCandidateSampler(2, 3, False, 0)(x)
        P.UniformCandidateSampler(3, 3, True, 5)(x)
        P.UniformCandidateSampler(2, 3, 1, 5)
        P.UniformCandidateSampler(2, 3, True, 5, -1)
        """,
        ("int64", "int32"),
        x="[3,2]=1,4,0,4,3,3",
    ),
]
