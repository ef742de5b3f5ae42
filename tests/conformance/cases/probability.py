"""Distributions and bijectors: every question, parameters given early or late, types, far values.

A distribution is named with two sets of parameters, one of plain numbers or lists and one of
Tensors, and with the names that its questions take. Values are literals, so that both of a
distribution's ends are among them.
"""

from ..spec import case, put

HEAD = "D = nn.probability.distribution\nB = nn.probability.bijector\n" \
       "T = lambda v, k='float32': Tensor(v, getattr(ms, k))\nreturn "
REALS = "[-3.0, -1.0, 0.0, 0.5, 1.0, 2.5]"
FAR = "[float('nan'), float('inf'), float('-inf'), -0.0, 30.0, -30.0, 200.0, -200.0, 1e30]"
SHARES = "[0.0, 0.1, 0.25, 0.5, 0.9, 1.0]"
COUNTS = "[-1.0, 0.0, 1.0, 2.0, 2.5, 5.0]"
# name: numbers, tensors, names in calls, values
MADE = {
    "Normal": ("3.0, 4.0", "T([1.0, 2.0], K), T([2.0, 3.0], K)", "mean, sd", REALS),
    "Cauchy": ("3.0, 4.0", "T([1.0, 2.0], K), T([2.0, 3.0], K)", "loc, scale", REALS),
    "Logistic": ("3.0, 4.0", "T([1.0, 2.0], K), T([2.0, 3.0], K)", "loc, scale", REALS),
    "Laplace": ("3.0, 4.0", "T([1.0, 2.0], K), T([2.0, 3.0], K)", "mean, sd", REALS),
    "HalfNormal": ("0.0, 4.0", "T([0.0, 0.0], K), T([2.0, 3.0], K)", "mean, sd", REALS),
    "StudentT": ("3.0, 0.5, 2.0", "T([2.0, 3.0], K), T([0.0, 1.0], K), T([1.0, 2.0], K)",
                 "df, mean, sd", REALS),
    "Uniform": ("0.0, 2.0", "T([-1.0, 0.0], K), T([1.0, 2.5], K)", "low, high", REALS),
    "Exponential": ("0.5", "T([0.5, 2.0], K)", "rate", REALS),
    "Gamma": ("[3.0], [4.0]", "T([0.5, 3.0], K), T([4.0, 1.0], K)", "concentration, rate", REALS),
    "Beta": ("[3.0], [1.0]", "T([0.5, 3.0], K), T([1.0, 2.0], K)",
             "concentration1, concentration0", SHARES),
    "Bernoulli": ("0.3", "T([0.25, 0.5], K)", "probs1", COUNTS),
    "Geometric": ("0.3", "T([0.25, 0.5], K)", "probs1", COUNTS),
    "Poisson": ("[0.5]", "T([0.5, 3.0], K)", "rate", COUNTS),
    "Categorical": ("[0.2, 0.3, 0.5]", "T([[0.25, 0.5, 0.25], [0.5, 0.25, 0.25]], K)", "probs",
                    COUNTS),
    "LogNormal": ("0.5, 1.5", "T([1.0, 0.0], K), T([0.5, 1.5], K)", "loc, scale", REALS),
    "Gumbel": ("3.0, 4.0", "T([1.0, 2.0], K), T([2.0, 3.0], K)", None, REALS),
}
LATE = {"Categorical": ("T([0.5, 0.25, 0.25])",),
        "Uniform": ("T([-1.0, 0.0])", "T([1.0, 3.0])")}
OF_VALUES = ("prob", "log_prob", "cdf", "log_cdf", "survival_function", "log_survival")
OF_NOTHING = ("mean", "mode", "sd", "var", "entropy")
ABOUT = ("batch_shape", "broadcast_shape", "is_scalar_batch", "name", "dtype", "seed",
         "parameter_type", "parameter_names", "default_parameters", "get_dist_args()",
         "get_dist_type()", "get_dist_args(1.0)")
WRONG = ("'a'", "True", "-1.0", "0.0", "1", "2.0", "(1.0, 2.0)", "[]", "[1.0, 'a']",
         "np.array([0.5, 0.5])", "np.array([0.5, 0.5], 'float32')", "np.float32(0.5)",
         "T([1, 2], 'int32')", "T([True, True], 'bool')", "float('nan')", "float('inf')")
OPTIONS = ("seed=-1", "seed=1.5", "seed='a'", "seed=True", "seed=3", "dtype=ms.int32",
           "dtype=ms.bool_", "dtype='float32'", "dtype=None", "dtype=ms.uint8",
           "dtype=ms.bfloat16", "name=3", "name=None", "name='x'")


def _late(name):
    """Parameters of a call, each by its name in calls."""
    names = MADE[name][2].split(", ") if MADE[name][2] else []
    usual = "T([0.25, 0.5])" if names == ["probs1"] else "T([1.0, 2.0])"
    return dict(zip(names, LATE.get(name, (usual,) * len(names)), strict=True))


def _calls(name):
    numbers, tensors, _, values = MADE[name]
    plain, whole, half, double = f"D.{name}({numbers})", *(
        f"D.{name}({put(tensors, K=repr(kind))})" for kind in ("float32", "float16", "float64"))
    typed = f"D.{name}({numbers}, dtype=ms.float16)", f"D.{name}({numbers}, dtype=ms.float64)"
    makes = plain, whole, half, double, *typed
    given = _late(name)
    late, named = ", ".join(given.values()), ", ".join(f"{n}={v}" for n, v in given.items())
    two = values[1:-1].split(", ")[2:4]
    column = f"T([[{two[0]}], [{two[1]}]])"
    for question in OF_VALUES:
        for made in makes:
            yield f"{made}.{question}({column})"
        for value in (f"T({values})", f"T({FAR})", "T(1.0)", "T([[]])"):
            yield f"{plain}.{question}({value})"
        yield f"{plain}('{question}', {column})"
        yield f"{whole}.{question}(T([1.0, 0.5, 0.25]))"
        yield f"{half}.{question}({column.replace(']])', ']], {!r})'.format('float16'))}"
        if given:
            for call in (f"{plain}.{question}({column}, {late})",
                         f"D.{name}().{question}({column}, {late})",
                         f"D.{name}().{question}({column}, {named})",
                         f"D.{name}().{question}({column})"):
                yield call
    for question in ("prob", "cdf"):
        for kind in ("float16", "float64", "int32", "int8", "uint8", "bool"):
            yield f"{plain}.{question}(T([0, 1], '{kind}'))"
        for value in ("1.0", "None", "", "[0.5]", f"value={column}", f"{column}, 1.0",
                      f"{column}, unknown=T(1.0)", f"{column}, None",
                      f"{column}, {', '.join([late] * 3)}"):
            yield f"{plain}.{question}({value})"
        for one in list(given)[:1]:
            yield f"{plain}.{question}({column}, {one}=T([0.5, 0.25], 'float16'))"
    for question in OF_NOTHING:
        for made in makes:
            yield f"{made}.{question}()"
        yield f"{plain}('{question}')"
        if given:
            for call in (f"D.{name}().{question}()", f"D.{name}().{question}({late})",
                         f"{plain}.{question}({named})"):
                yield call
    yield f"{plain}.mean(1.0)"
    yield f"{plain}.mean(unknown=T(1.0))"
    for question in ("kl_loss", "cross_entropy"):
        for made in makes:
            yield f"{made}.{question}('{name}', {late or 'T(1.0), T(2.0)'})"
        for arguments in (f"'Other', {late}", f"None, {late}", late, f"'{name}'",
                          f"'{name}', 1.0, 2.0", f"'{name}', {late}, {late}"):
            yield f"{plain}.{question}({arguments})"
        yield f"D.{name}().{question}('{name}', {late}, {late})"
        yield f"D.{name}().{question}('{name}', {late})"
    for made in makes:
        for shape in ("()", "(2, 3)"):
            yield f"shown({made}.sample({shape}))"
    for wrong in ("2", "[2]", "None", "(-1,)", "('a',)", "(2.0,)", "T([2])", ""):
        yield f"shown({plain}.sample({wrong}))"
    yield f"shown({plain}('sample', (2,)))"
    yield f"shown({plain}.sample((2,), {late}))"
    yield f"shown(D.{name}().sample((2,), {late}))"
    yield f"shown(D.{name}().sample((2,)))"
    for about in ABOUT:
        for made in (plain, whole, f"D.{name}()"):
            yield f"{made}.{about}"
    for made in makes:
        yield f"{made}.parameter_type"
    for call in (f"str({plain})", f"str({whole})", f"str(D.{name}())", f"{plain}('unknown')",
                 f"{plain}()"):
        yield call
    first = [numbers] if name == "Categorical" else numbers.split(", ")
    for wrong in WRONG:
        for place in range(len(first)):
            yield f"D.{name}({', '.join([*first[:place], wrong, *first[place + 1:]])})" \
                  ".default_parameters"
    for option in OPTIONS:
        yield f"D.{name}({numbers}, {option}).{'name' if 'name' in option else 'dtype'}"
    yield f"D.{name}({put(tensors, K=repr('float32')).replace('float32', 'float16', 1)})" \
          ".parameter_type"
    yield f"{whole[:-1]}, dtype=ms.float16).parameter_type"
    yield f"D.{name}({', '.join(['T([1, 2, 3])', 'T([1, 2])', 'T(1)'][:len(first)])})"


BIJECTORS = {
    "ScalarAffine": ("2.0, 1.0", "T([2.0, -3.0], K), T([1.0, 0.5], K)"),
    "GumbelCDF": ("1.0, 2.0", "T([1.0, 0.0], K), T([2.0, 3.0], K)"),
    "PowerTransform": ("0.5", "T([0.0, 1.5], K)"),
    "Softplus": ("2.0", "T([0.5, 2.0], K)"),
    "Exp": ("", None),
}
MOVES = ("forward", "inverse", "forward_log_jacobian", "inverse_log_jacobian")


INNER = ("D.Normal(0.5, 1.5)", "D.Normal()", "D.Uniform(0.25, 0.75)", "D.Bernoulli(0.5)",
         "D.Normal(T([0.0, 1.0]), T([1.0, 2.0]))")
ASKED = ("prob(T([[0.25], [0.5]]))", "log_prob(T([0.25, 0.5]))", "cdf(T([0.25, 0.5]))",
         "survival_function(T([0.25, 0.5]))", "mean()", "sd()", "entropy()", "mode()",
         "batch_shape", "broadcast_shape", "is_scalar_batch", "dtype", "name",
         "is_linear_transformation")


def _bijections(name):
    numbers, tensors = BIJECTORS[name]
    plain = f"B.{name}({numbers})"
    makes = [plain, f"B.Invert({plain})"]
    if tensors:
        makes += [f"B.{name}({put(tensors, K=repr(kind))})"
                  for kind in ("float32", "float16", "float64")]
        makes.append(f"B.Invert({makes[2]})")
    for made in makes:
        for move in MOVES:
            for value in ("T([[0.25], [0.5]])", "T([0.25, 0.5], 'float16')",
                          "T([0.25, 0.5], 'float64')", "T([1.0, 2.0, 3.0])", "T(0.5)"):
                yield f"{made}.{move}({value})"
        for about in ("name", "dtype", "is_constant_jacobian", "is_injective", "batch_shape",
                      "is_scalar_batch", "shape_mapping((3, 1))", "shape_mapping((3,))",
                      "common_dtype", "parameter_names"):
            yield f"{made}.{about}"
    for made in makes[:2]:
        for move in MOVES:
            yield f"{made}('{move}', T([0.25, 0.5]))"
            for value in (f"T({REALS})", f"T({FAR})", "T([[]])"):
                yield f"{made}.{move}({value})"
        for wrong in ("0.5", "None", "[0.5]", "T([1, 2], 'int32')", "T([True], 'bool')", ""):
            yield f"{made}.forward({wrong})"
        for inner in INNER:
            for asked in ASKED:
                yield f"{made}({inner}).{asked}"
            yield f"shown({made}({inner}).sample((2,)))"
        for call in ("('unknown', T(1.0))", "()", "(1.0)"):
            yield f"{made}{call}"
        yield f"str({made})"
    given = numbers.split(", ") if numbers else []
    for wrong in ("'a'", "True", "None", "-1.0", "0.0", "1", "[1.0]", "np.array([0.5])",
                  "T([1, 2], 'int32')", "float('nan')", "(1.0,)"):
        for place in range(len(given)):
            yield f"B.{name}({', '.join([*given[:place], wrong, *given[place + 1:]])}).batch_shape"
    for option in ("name='x'", "name=3", "name=None"):
        yield f"B.{name}({option}).name"


OTHERS = """
    B.Invert(D.Normal(0.0, 1.0))
    B.Invert(1.0)
    B.Invert(B.Exp(), name='x').name
    B.Invert(B.Exp()).name
    B.Invert(B.Invert(B.Exp())).forward(T([0.5, 1.0]))
    D.TransformedDistribution(B.Exp(), D.Normal(0.0, 1.0), seed=0).prob(T([1.0, 2.0]))
    D.TransformedDistribution(B.Exp(), D.Normal(0.0, 1.0), name='x').name
    D.TransformedDistribution(D.Normal(0.0, 1.0), B.Exp())
    D.TransformedDistribution(B.Exp(), D.Bernoulli(0.5))
    D.TransformedDistribution(B.Exp(), D.Normal(0.0, 1.0), seed=-1)
    D.TransformedDistribution(B.Exp(), D.Normal(), seed=0).prob(T([1.0, 2.0]), T(0.0), T(1.0))
    D.TransformedDistribution(B.Exp(), D.Normal(), seed=0).cdf(T([1.0]), mean=T(0.0), sd=T(1.0))
    """
GRADIENTS = ("prob", "log_prob", "cdf", "log_cdf", "log_survival")


def _derivatives():
    for name, (numbers, _, _, values) in MADE.items():
        inner = ",".join(v for v in values[1:-1].split(", ") if float(v) not in (0.0, 1.0))
        x = f"float32[{inner.count(',') + 1}]={inner}"
        whole = values == COUNTS
        for question in GRADIENTS:
            body = f"{HEAD}D.{name}({numbers}).{question}(x)"
            if not whole:
                yield case(body, "grad", x=x)
            if question == "log_prob":
                yield case(body, "graph", x=x)
        given = _late(name)
        if not given or name == "Categorical":
            continue
        p = {f"p{i}": f"float32[2]={'0.75,1.5' if i else '0.25,0.5'}" for i in range(len(given))}
        for call in (f"log_prob(T([0.5]), {', '.join(p)})", f"entropy({', '.join(p)})",
                     f"sd({', '.join(p)})",
                     f"kl_loss('{name}', {', '.join(p)}, {', '.join(given.values())})"):
            yield case(f"{HEAD}D.{name}().{call}", "grad", **p)
    for name, (numbers, _) in BIJECTORS.items():
        for move in MOVES:
            body = f"{HEAD}B.{name}({numbers}).{move}(x)"
            yield case(body, "grad", x="float32[3]=0.25,0.5,0.75")
            if move == "inverse":
                yield case(body, "graph", x="float32[3]=0.25,0.5,0.75")


_LINES = [
    *(line for name in MADE for line in _calls(name)),
    *(line for name in BIJECTORS for line in _bijections(name)),
    *filter(None, map(str.strip, OTHERS.splitlines())),
]
CASES = [*(case(HEAD + line) for line in dict.fromkeys(_LINES)), *_derivatives()]
