"""Primitives that update Parameters, by the types of variables, states, gradients and numbers."""

from __future__ import annotations

import re

from ..spec import Case, case

FLOATS = ("float16", "float32", "float64")
# v is the variable, m, u and w are its states, g the gradient, i the rows, n makes a number
UPDATES = """
    P.Adam()(v, m, u, n(0.5), n(0.75), n(0.25), n(0.5), n(0.75), n(0.125), g)
    P.Adam(False, True)(v, m, u, n(0.5), n(0.75), n(0.25), n(0.5), n(0.75), n(0.125), g)
    P.AdamWeightDecay()(v, m, u, n(0.25), n(0.5), n(0.75), n(0.125), n(0.5), g)
    out = P.AdamNoUpdateParam()(m, u, n(0.5), n(0.75), n(0.25), n(0.5), n(0.75), n(0.125), g)
    P.ApplyAdaMax()(v, m, u, n(0.5), n(0.25), n(0.5), n(0.75), n(0.125), g)
    P.ApplyAdadelta()(v, m, u, n(0.25), n(0.5), n(0.125), g)
    P.ApplyAdagrad()(v, m, n(0.25), g)
    P.ApplyAdagrad(update_slots=False)(v, m, n(0.25), g)
    P.ApplyAdagradV2(0.125)(v, m, n(0.25), g)
    P.ApplyAdagradV2(0.125, update_slots=False)(v, m, n(0.25), g)
    P.ApplyAdagradDA()(v, m, u, g, n(0.25), n(0.125), n(0.5), k(2))
    P.ApplyAdamWithAmsgrad(0.5, 0.75, 0.125)(v, m, u, w, n(0.5), n(0.75), n(0.25), g)
    P.ApplyAdamWithAmsgradV2()(v, m, u, w, n(0.5), n(0.75), n(0.25), n(0.5), n(0.75), n(0.125), g)
    P.ApplyAddSign()(v, m, n(0.25), n(1.0), n(0.5), n(0.75), g)
    P.ApplyPowerSign()(v, m, n(0.25), n(2.0), n(0.5), n(0.75), g)
    P.ApplyCenteredRMSProp()(v, m, u, w, g, n(0.25), n(0.5), n(0.75), n(0.125))
    P.ApplyRMSProp()(v, m, u, n(0.25), g, n(0.5), n(0.75), n(0.125))
    P.ApplyFtrl()(v, m, u, g, n(0.25), n(0.125), n(0.5), n(-0.5))
    P.ApplyGradientDescent()(v, n(0.25), g)
    P.ApplyKerasMomentum()(v, m, n(0.25), g, n(0.5))
    P.ApplyKerasMomentum(False, True)(v, m, n(0.25), g, n(0.5))
    P.ApplyMomentum()(v, m, n(0.25), g, n(0.5))
    P.ApplyMomentum(use_nesterov=True)(v, m, n(0.25), g, n(0.5))
    P.ApplyMomentum(gradient_scale=2.0)(v, m, n(0.25), g, n(0.5))
    P.ApplyProximalAdagrad()(v, m, n(0.25), n(0.125), n(0.5), g)
    P.ApplyProximalGradientDescent()(v, n(0.25), n(0.125), n(0.5), g)
    P.SGD(0.25, 0.5)(v, g, n(0.25), m, n(0.5), u)
    P.SGD(0.0, 0.5, True)(v, g, n(0.25), m, n(0.5), u)
    out = P.LARSUpdate(0.125, 0.5)(v, g, (v * v).sum(), (g * g).sum(), n(0.5), n(0.25))
    out = P.LARSUpdate(0.125, 0.5, True)(v, g, (v * v).sum(), (g * g).sum(), n(0.5), n(0.25))
    P.FusedSparseAdam()(v, m, u, n(0.5), n(0.75), n(0.25), n(0.5), n(0.75), n(0.125), g, i)
    P.FusedSparseLazyAdam()(v, m, u, n(0.5), n(0.75), n(0.25), n(0.5), n(0.75), n(0.125), g, i)
    P.FusedSparseFtrl(0.25, 0.125, 0.5, -0.5)(v, m, u, g, i)
    P.FusedSparseProximalAdagrad()(v, m, n(0.25), n(0.125), n(0.5), g, i)
    P.SparseApplyAdadelta(0.125)(v, m, u, n(0.25), n(0.5), g, i)
    P.SparseApplyAdagrad(0.25)(v, m, g, i)
    P.SparseApplyAdagradV2(0.25, 0.125)(v, m, g, i)
    P.SparseApplyFtrl(0.25, 0.125, 0.5, -0.5)(v, m, u, g, i)
    P.SparseApplyFtrlV2(0.25, 0.125, 0.5, 0.25, -0.5)(v, m, u, g, i)
    P.SparseApplyProximalAdagrad()(v, m, n(0.25), n(0.125), n(0.5), g, i)
    P.SparseApplyRMSProp(0.5, 0.75, 0.125)(v, m, u, n(0.25), g, i)
    """
LINES = [line.strip() for line in UPDATES.splitlines() if line.strip()]
STATES = "muw"
VALUES = {"v": "1,-2,0.5,3", "m": "0.5,0.25,1.5,2", "u": "1,0.75,2,0.5", "w": "2,1,3,0.5",
          "g": "0.5,-1,0.25,2"}
WHOLE = {"v": "1,-2,0,3", "m": "1,2,3,4", "u": "1,3,2,1", "w": "2,1,3,1", "g": "1,-1,0,2"}
NUMBERS = ("Tensor(x, ms.float16)", "Tensor(x, ms.float32)", "Tensor(x, ms.float64)",
           "Tensor([x], ms.float32)", "ms.Parameter(Tensor(x, ms.float32))", "int(2 * x)",
           "Tensor(2 * x, ms.int32)", "np.float32(x)", "Tensor([x, x], ms.float32)", "True", "'a'",
           "None")


def array(name: str, kind: str) -> str:
    values = (VALUES if "float" in kind else WHOLE)[name]
    if kind[0] in "ub":
        values = values.replace("-", "")
    return f"{kind}[2,2]={values}"


def update(line: str, types: dict[str, str], number: str = "x", held: str = "ms.Parameter(x)",
           **arrays: str) -> Case:
    """One update; `types` are of v, the states and g, and float32 where they say nothing."""
    names = [n for n in "vmuwg" if re.search(rf"[(, ]{n}[,) ]", line)]
    inputs = {n: arrays.get(n, array(n, types.get(n, "float32"))) for n in names}
    if " i)" in line:
        inputs["i"] = arrays.get("i", "int32[2]=1,0")
    states = ", ".join(n for n in names if n != "g")
    # 2.10 returns memory that it doesn't fill where the result is the changed Parameters
    result = f"out, {states}" if line.startswith("out") else states
    body = (f"n = lambda x: {number}\nk = lambda x: Tensor(x, ms.int32)\n"
            f"hold = lambda x: {held}\n"
            + "".join(f"{n} = hold({n})\n" for n in names if n != "g")
            + f"{line}\nreturn {result}")
    return case(body, **inputs)


def of_types(line: str) -> list[Case]:
    found = []
    for v in FLOATS:
        found += [update(line, {**dict.fromkeys("vmuw", v), "g": g}) for g in FLOATS]
        found += [update(line, {**dict.fromkeys(STATES, kind), "v": v, "g": v}) for kind in FLOATS]
    for state in STATES:
        if f"{state}," in line:
            found += [update(line, {state: kind}) for kind in ("float16", "float64")]
    return found


CASES = list(dict.fromkeys(c for line in LINES for c in [
    *of_types(line),
    *(update(line, dict.fromkeys("vmuwg", kind), number) for number in NUMBERS if "n(" in line
      for kind in FLOATS[:1 if number[:6] != "Tensor" else 3]),
    *(update(line, dict.fromkeys("vmuwg", kind)) for kind in ("int32", "bool", "complex64")),
    *(update(line, {name: kind}) for name in "vmg" for kind in ("int32", "bool")),
    update(line, {}, held="x"),
    *(update(re.sub(rf"(?<=[(, ]){name}(?=,|\))", "2.0", line, count=1), {}) for name in "vmg"),
    *(update(line, dict.fromkeys("vmuwg", kind), m=f"{kind}[2,2]=-0.5,0.25,-1.5,2")
      for kind in FLOATS),
    *(update(line, {}, i=f"{kind}[2]=1,0") for kind in ("int64", "int16", "float32", "bool")
      if " i)" in line),
]))
