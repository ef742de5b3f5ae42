"""Primitives that update Parameters, and optimizers over several steps."""

from ..spec import each, many, programs

# g is the gradient, v the variable; m and u are moments of it
UPDATES = """
    P.Adam()(v, m, u, 0.9, 0.999, 0.01, 0.9, 0.999, 1e-8, g)
    P.Adam(use_nesterov=True)(v, m, u, 0.9, 0.999, 0.01, 0.9, 0.999, 1e-8, g)
    P.AdamWeightDecay()(v, m, u, 0.01, 0.9, 0.999, 1e-8, 0.1, g)
    out = P.AdamNoUpdateParam()(m, u, t(0.9), t(0.999), t(0.01), t(0.9), t(0.999), t(1e-8), g)
    P.ApplyAdaMax()(v, m, u, t(0.9), t(0.01), t(0.9), t(0.99), t(1e-8), g)
    P.ApplyAdadelta()(v, m, u, t(0.01), t(0.5), t(1e-6), g)
    P.ApplyAdagrad()(v, m, 0.01, g)
    P.ApplyAdagrad(update_slots=False)(v, m, 0.01, g)
    P.ApplyAdagradV2(1e-6)(v, m, 0.01, g)
    P.ApplyAdagradDA()(v, m, u, g, t(0.01), t(0.001), t(0.002), Tensor(2, ms.int32))
    P.ApplyAdamWithAmsgrad(0.9, 0.999, 1e-8)(v, m, u, w, t(0.9), t(0.999), t(0.01), g)
    P.ApplyAdamWithAmsgradV2()(v, m, u, w, t(0.9), t(0.999), t(0.01), t(0.9), t(0.99), t(1e-8), g)
    P.ApplyAddSign()(v, m, t(0.01), t(1.0), t(0.9), t(0.9), g)
    P.ApplyPowerSign()(v, m, t(0.01), t(2.0), t(0.9), t(0.9), g)
    P.ApplyCenteredRMSProp()(v, m * 0.1, u, w, g, 0.01, 0.9, 0.5, 1e-3)
    P.ApplyFtrl()(v, u, m, g, 0.01, 0.001, 0.002, -0.5)
    P.ApplyGradientDescent()(v, t(0.1), g)
    P.ApplyKerasMomentum()(v, m, t(0.1), g, t(0.9))
    P.ApplyKerasMomentum(use_nesterov=True)(v, m, t(0.1), g, t(0.9))
    P.ApplyMomentum()(v, m, t(0.1), g, t(0.9))
    P.ApplyMomentum(use_nesterov=True)(v, m, 0.1, g, 0.9)
    P.ApplyMomentum(gradient_scale=2.0)(v, m, 0.1, g, 0.9)
    P.ApplyProximalAdagrad()(v, u, t(0.01), t(0.001), t(0.002), g)
    P.ApplyProximalGradientDescent()(v, t(0.01), t(0.001), t(0.002), g)
    P.ApplyRMSProp()(v, u, m, 0.01, g, 0.9, 0.5, 1e-6)
    P.SGD()(v, g, t(0.1), m, t(0.9), u)
    P.SGD(0.1, 0.01, False)(v, g, t(0.1), m, t(0.9), u)
    P.SGD(0.0, 0.0, True)(v, g, t(0.1), m, t(0.9), u)
    P.SGD(-1.0)(v, g, t(0.1), m, t(0.9), u)
    out = P.LARSUpdate()(g, g, (g * g).sum(), (g * g).sum(), 0.1, t(0.1))
    P.FusedSparseAdam()(v, m, u, t(0.9), t(0.999), t(0.01), t(0.9), t(0.999), t(1e-8), g, i)
    P.FusedSparseLazyAdam()(v, m, u, t(0.9), t(0.999), t(0.01), t(0.9), t(0.999), t(1e-8), g, i)
    P.FusedSparseFtrl(0.01, 0.001, 0.002, -0.5)(v, u, m, g, i)
    P.FusedSparseProximalAdagrad()(v, u, t(0.01), t(0.001), t(0.002), g, i)
    P.SparseApplyAdadelta(1e-6)(v, m, u, 0.01, 0.2, g, i)
    P.SparseApplyAdagrad(0.01)(v, u, g, i)
    P.SparseApplyAdagrad(0.01, False)(v, u, g, i)
    P.SparseApplyAdagradV2(0.01, 1e-6)(v, u, g, i)
    P.SparseApplyFtrl(0.01, 0.001, 0.002, -0.5)(v, u, m, g, i)
    P.SparseApplyFtrlV2(0.01, 0.001, 0.002, 0.1, -0.5)(v, u, m, g, i)
    P.SparseApplyProximalAdagrad()(v, u, 0.01, 0.001, 0.002, g, i)
    P.SparseApplyRMSProp(0.2, 0.01, 1e-6)(v, m, u, 0.01, g, i)
    """
HEAD = """
t = lambda value: Tensor(value, g.dtype)
v, m = ms.Parameter(g * 2 + 1, name='v'), ms.Parameter(g * 0.5, name='m')
u, w = ms.Parameter(g * g + 0.5, name='u'), ms.Parameter(g * g + 2.0, name='w')
"""
LINES = [line.strip() for line in UPDATES.splitlines() if line.strip()]
BODIES = [
    f"{HEAD}{line}\nreturn {'out' if line.startswith('out') else 'v, m, u, w'}" for line in LINES
]
ROWS = [b for line, b in zip(LINES, BODIES, strict=True) if ", i)" in line]
STEPS = """
    nn.ASGD(p, 0.1)
    nn.AdaFactor(p, learning_rate=0.1, scale_parameter=False, relative_step=False)
    nn.AdaMax(p, 0.1)
    nn.Adadelta(p, 0.5)
    nn.Adagrad(p, 0.1, 0.1, 'update_slots', 0.1)
    nn.Adagrad(p, 0.1)
    nn.Adagrad(p, 0.1, weight_decay=0.1)
    nn.Adam(p, 0.1)
    nn.Adam(p, 0.1, weight_decay=0.1)
    nn.Adam(p, 0.1, use_nesterov=True)
    nn.Adam(p, 0.1, use_amsgrad=True)
    nn.Adam(p, 0.1, use_lazy=True)
    nn.Adam(p, 0.1, loss_scale=2.0)
    nn.Adam(p, 0.1, beta1=1.5)
    nn.Adam([{'params': p[:1], 'lr': 0.5, 'weight_decay': 0.1}, {'params': p[1:]}], 0.1)
    nn.Adam([{'params': p[:1], 'lr': 0.5}, {'params': p[1:]}, {'order_params': p}], 0.1)
    nn.Adam(p, nn.ExponentialDecayLR(0.1, 0.5, 2))
    nn.Adam(p, [0.5, 0.1, 0.01])
    nn.AdamOffload(p, 0.1)
    nn.AdamWeightDecay(p, 0.1, weight_decay=0.1)
    nn.FTRL(p, learning_rate=0.1)
    nn.FTRL(p, l1=0.1, l2=0.1, learning_rate=0.1)
    nn.Lamb(p, 0.1)
    nn.Lamb(p, 0.1, weight_decay=0.1)
    nn.LARS(nn.Momentum(p, 0.1, 0.9), 1e-3)
    nn.LazyAdam(p, 0.1)
    nn.Momentum(p, 0.1, 0.9)
    nn.Momentum(p, 0.1, 0.9, use_nesterov=True)
    nn.Momentum(p, 0.1, 0.9, weight_decay=0.1, loss_scale=2.0)
    nn.Momentum(p, nn.CosineDecayLR(0.01, 0.1, 4), 0.9)
    nn.Momentum(p, nn.PolynomialDecayLR(0.1, 0.01, 4, 2.0), 0.9)
    nn.Momentum(p, nn.NaturalExpDecayLR(0.1, 0.9, 4, True), 0.9)
    nn.Momentum(p, nn.InverseDecayLR(0.1, 0.5, 4), 0.9)
    nn.Momentum(p, nn.WarmUpLR(0.1, 4), 0.9)
    nn.Momentum(p, -0.1, 0.9)
    nn.Momentum(p, 0.1, -0.9)
    nn.Momentum(p, 'a', 0.9)
    nn.ProximalAdagrad(p, learning_rate=0.1)
    nn.RMSProp(p, 0.1)
    nn.RMSProp(p, 0.1, centered=True)
    nn.RMSProp(p, 0.1, momentum=0.9, weight_decay=0.1)
    nn.Rprop(p, 0.1)
    nn.SGD(p, 0.1)
    nn.SGD(p, 0.1, momentum=0.9, dampening=0.1, weight_decay=0.1)
    nn.SGD(p, 0.1, momentum=0.9, nesterov=True)
    nn.SGD(p, 0.1, momentum=-0.9)
    ms.experimental.optim.SGD(p, 0.1, momentum=0.9)
    ms.experimental.optim.Adam(p, 0.1)
    ms.experimental.optim.AdamW(p, 0.1)
    ms.experimental.optim.Adadelta(p, 0.1)
    ms.experimental.optim.Adagrad(p, 0.1)
    ms.experimental.optim.Adamax(p, 0.1)
    ms.experimental.optim.ASGD(p, 0.1)
    ms.experimental.optim.NAdam(p, 0.1)
    ms.experimental.optim.RAdam(p, 0.1)
    ms.experimental.optim.RMSprop(p, 0.1)
    ms.experimental.optim.Rprop(p, 0.1)
    """
TRAINING = """
p = [ms.Parameter(x * 2 + 1, name='a.weight'), ms.Parameter(x[0] + 1, name='a.bias')]
step = {}
for n in range(3):
    step((x * (n + 1), x[0] * n))
return list(p)
"""
CASES = [
    *programs(BODIES, ("float32", "float16", "int32"), g="[2,2]", i="int32[2]=0,1"),
    *programs(ROWS, i="int32[2]=1,1", g="[2,2]"),
    *programs(ROWS, i="int32[2]=0,5", g="[2,2]"),
    *programs(ROWS, i="int64[2]=0,1", g="[2,2]"),
    *programs(ROWS, i="float32[2]=0,1", g="[2,2]"),
    *programs(
        [TRAINING.format(line.strip()) for line in STEPS.splitlines() if line.strip()],
        ("float32", "float16"),
        x="[2,3]",
    ),
    *many(
        """
        nn.ExponentialDecayLR(0.1, 0.5, 2)(x)
        nn.ExponentialDecayLR(0.1, 0.5, 2, True)(x)
        nn.CosineDecayLR(0.01, 0.1, 4)(x)
        nn.CosineDecayLR(0.1, 0.01, 4)(x)
        nn.PolynomialDecayLR(0.1, 0.01, 4, 2.0)(x)
        nn.PolynomialDecayLR(0.1, 0.01, 4, 2.0, True)(x)
        nn.NaturalExpDecayLR(0.1, 0.9, 4)(x)
        nn.InverseDecayLR(0.1, 0.5, 4, True)(x)
        nn.WarmUpLR(0.1, 4)(x)
        nn.WarmUpLR(0.1, 4.0)(x)
        """,
        ("int32", "float32"),
        x="[]=3",
    ),
    *each("nn.WarmUpLR(0.1, 4)(x)", x="[]=0"),
    *each("nn.piecewise_constant_lr([2, 5], [0.1, 0.05])"),
    *each("nn.exponential_decay_lr(0.1, 0.9, 6, 2, 1, True)"),
    *each("nn.natural_exp_decay_lr(0.1, 0.9, 6, 2, 2)"),
    *each("nn.inverse_decay_lr(0.1, 0.5, 6, 1, 1, True)"),
    *each("nn.cosine_decay_lr(0.01, 0.1, 6, 2, 2)"),
    *each("nn.polynomial_decay_lr(0.1, 0.01, 6, 2, 2, 0.5, True)"),
    *each("nn.warmup_lr(0.1, 12, 2, 3)"),
]
