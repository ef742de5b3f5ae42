"""`mindspore.amp`: where networks compute in low precision, loss scales, whole training steps."""

from ..spec import programs


def nets(body: str, norm: str = "nn.BatchNorm1d(4)", activation: str = "nn.ReLU()") -> str:
    return f"net = filled(networks.Net({norm}, {activation}))\n{body}"


LEVELS = ("O0", "O1", "O2", "O3", "auto")
RESULT = "return networks.types_of(net, x)"
BODIES = []
for level in LEVELS:
    for kind in ("float16", "bfloat16")[: 1 + (level != "auto")]:  # bfloat16 breaks what follows
        for norm in ("nn.BatchNorm1d(4)", "nn.LayerNorm((4,))"):
            BODIES.append(
                nets(
                    f"net = ms.amp.auto_mixed_precision(net, {level!r}, ms.{kind})\n"
                    f"return networks.types_of(net, x)",
                    norm,
                )
            )
    for relu in ("ops.ReLU()", "nn.Softmax()", "ops.tanh", "nn.GELU()", "nn.Dropout(p=0.0)"):
        BODIES.append(
            nets(
                f"net = ms.amp.auto_mixed_precision(net, {level!r})\n"
                f"return networks.types_of(net, x)",
                activation=relu,
            )
        )
    BODIES.append(
        f"net = filled(networks.Loss(networks.Net(nn.LayerNorm((4,)), nn.ReLU())))\n"
        f"net = ms.amp.auto_mixed_precision(net, {level!r})\nreturn networks.types_of(net, x)"
    )
    BODIES.append(
        nets(
            f"net = ms.amp.auto_mixed_precision(net, {level!r})\n"
            f"return [p.dtype for p in net.get_parameters()]"
        )
    )
    BODIES.append(
        nets(
            f"net = ms.amp.auto_mixed_precision(net, {level!r})\n"
            f"return [p.name for p in net.get_parameters()]"
        )
    )
    BODIES.append(
        nets(
            f"net.c.to_float(ms.float32)\n"
            f"net = ms.amp.auto_mixed_precision(net, {level!r})\nreturn networks.types_of(net, x)"
        )
    )
    BODIES.append(
        nets(
            f"net = ms.amp.auto_mixed_precision(net, {level!r})\n"
            "loss = lambda x: net(x).astype(ms.float32).sum().astype(ms.float16)\n"
            "return ms.value_and_grad(loss, None, net.trainable_params())(x)"
        )
    )
    BODIES.append(
        f"net = filled(nn.SequentialCell(nn.Dense(4, 4), nn.BatchNorm1d(4), nn.ReLU()))\n"
        f"net = ms.amp.auto_mixed_precision(net, {level!r})\nreturn networks.types_of(net, x)"
    )
    BODIES.append(
        f"net = filled(nn.Dense(4, 4))\n"
        f"net = ms.amp.auto_mixed_precision(net, {level!r})\nreturn networks.types_of(net, x)"
    )
    BODIES.append(
        f"net = filled(nn.LayerNorm((4,)))\n"
        f"net = ms.amp.auto_mixed_precision(net, {level!r})\nreturn networks.types_of(net, x)"
    )
    for manager in (
        "",
        ", loss_scale_manager=None",
        ", loss_scale_manager=ms.amp.FixedLossScaleManager(4.0, False)",
        ", loss_scale_manager=ms.amp.FixedLossScaleManager(4.0)",
        ", loss_scale_manager=ms.amp.DynamicLossScaleManager(8.0, 2, 1)",
        ", cast_model_type=ms.float16",
        ", cast_model_type=ms.float32",
        ", keep_batchnorm_fp32=True",
        ", keep_batchnorm_fp32=False",
        ", cast_model_type=ms.float16, keep_batchnorm_fp32=True, loss_scale_manager=None",
        ", cast_model_type=ms.float32, loss_scale_manager=None",
        ", keep_batchnorm_fp32=False, loss_scale_manager=None",
        ", boost_level='O3'",
        ", other=1",
        ", loss_scale_manager=3",
        ", keep_batchnorm_fp32=1",
        ", cast_model_type=ms.bfloat16",
    ):
        BODIES.append(
            nets(
                f"optimizer = nn.SGD(net.trainable_params(), 0.1)\n"
                f"step = ms.amp.build_train_network(net, optimizer, nn.MSELoss(), "
                f"level={level!r}{manager})\n"
                f"out = step(x, x[:, :3])\n"
                f"out = networks.halved(out)\n"
                "return [out, type(step).__name__, networks.halved(net.trainable_params())]"
            )
        )
    BODIES.append(
        f"net = filled(networks.Loss(networks.Net(nn.LayerNorm((4,)), nn.ReLU())))\n"
        f"optimizer = nn.SGD(net.trainable_params(), 0.01)\n"
        f"step = ms.amp.build_train_network(net, optimizer, level={level!r}, "
        f"loss_scale_manager=None)\n"
        f"return [step(x).astype(ms.float16), net.net.a.weight.value().astype(ms.float16)]"
    )
for lists in (
    "white_list=[nn.Dense]",
    "white_list=[]",
    "black_list=[nn.Dense]",
    "black_list=[]",
    "white_list=[ops.ReLU]",
    "black_list=[nn.BatchNorm1d]",
    "white_list=[nn.ReLU, nn.Dense]",
    "white_list=ms.amp.get_white_list()",
    "black_list=ms.amp.get_black_list()",
    "white_list=[nn.Dense], black_list=[nn.Dense]",
    "",
    "white_list=None",
    "white_list=(nn.Dense,)",
    "white_list=nn.Dense",
    "white_list=[1]",
    "white_list=['Dense']",
    "white_list=[nn.Dense], dtype=ms.bfloat16",
    "white_list=[nn.Dense], dtype=ms.float32",
    "white_list=[nn.Dense], dtype='float16'",
    "white_list=[nn.Dense(2, 2)]",
    "black_list=[nn.ReLU], dtype=ms.bfloat16",
):
    for relu in ("nn.ReLU()", "ops.ReLU()"):
        BODIES.append(
            nets(
                f"net = ms.amp.custom_mixed_precision(net, {lists})\n"
                "return networks.types_of(net, x)",
                activation=relu,
            )
        )
PLAIN = [
    "sorted(c.__name__ for c in ms.amp.get_white_list())",
    "sorted(c.__name__ for c in ms.amp.get_black_list())",
    "ms.amp.get_white_list() is ms.amp.get_white_list()",
    "ms.amp.auto_mixed_precision(1)",
    "ms.amp.auto_mixed_precision(nn.ReLU(), 'O4')",
    "ms.amp.auto_mixed_precision(nn.ReLU(), 1)",
    "ms.amp.auto_mixed_precision(nn.ReLU(), None)",
    "ms.amp.auto_mixed_precision(nn.ReLU(), 'O0', ms.float32)",
    "ms.amp.auto_mixed_precision(nn.ReLU(), 'O2', ms.float32)",
    "ms.amp.auto_mixed_precision(nn.ReLU(), 'O2', 'float16')",
    "ms.amp.auto_mixed_precision(lambda x: x * 2, 'auto')(x)",
    "ms.amp.auto_mixed_precision(lambda x: ops.matmul(x, x.T), 'auto')(x)",
    "ms.amp.auto_mixed_precision(lambda x: ops.matmul(x, x.T), 'O2')(x)",
    "ms.amp.auto_mixed_precision(nn.ReLU, 'auto')",
    "ms.amp.auto_mixed_precision(1, 'auto')",
    "ms.amp.auto_mixed_precision(len, 'auto')",
    "ms.amp.custom_mixed_precision(1, white_list=[nn.Dense])",
    "ms.amp.custom_mixed_precision(nn.ReLU, white_list=[nn.Dense])",
    "ms.amp.custom_mixed_precision(nn.ReLU(), [nn.Dense])",
]
for name in (
    "exp log pow matmul softmax relu tanh sigmoid add mul mean cumsum cumprod prod "
    "rsqrt reciprocal tan sinh cosh asin acos expm1 log1p log2 log10 erfinv softplus norm "
    "sum sqrt abs max gelu silu sin erf square std var logsumexp log_softmax bmm dot outer ger "
    "einsum dense addmm addbmm addmv baddbmm mv conv1d conv2d prelu cross addcmul addcdiv concat "
    "addn cdist kl_div smooth_l1_loss l1_loss mse_loss huber_loss cross_entropy renorm "
    "layer_norm group_norm batch_norm bias_add"
).split():
    call = {
        "pow": "ops.pow(x, 2)",
        "matmul": "ops.matmul(x, x.T)",
        "softmax": "ops.softmax(x, -1)",
        "add": "ops.add(x, x)",
        "mul": "ops.mul(x, x)",
        "cumsum": "ops.cumsum(x, 0)",
        "cumprod": "ops.cumprod(x, 0)",
        "log_softmax": "ops.log_softmax(x, -1)",
        "logsumexp": "ops.logsumexp(x, 0)",
        "bmm": "ops.bmm(x[None], x.T[None])",
        "dot": "ops.tensor_dot(x[0], x[0], 1)",
        "outer": "ops.outer(x[0], x[0])",
        "ger": "ops.ger(x[0], x[0])",
        "einsum": "ops.einsum('ij,kj->ik', x, x)",
        "dense": "ops.dense(x, x)",
        "addmm": "ops.addmm(x[:, :3], x, x.T)",
        "addbmm": "ops.addbmm(x[:, :3], x[None], x.T[None])",
        "addmv": "ops.addmv(x[:, 0], x, x[0])",
        "baddbmm": "ops.baddbmm(x[None, :, :3], x[None], x.T[None])",
        "mv": "ops.mv(x, x[0])",
        "conv1d": "ops.conv1d(x[None], x[None, :, :2])",
        "conv2d": "ops.conv2d(x[None, None], x[None, None, :2, :2])",
        "prelu": "ops.prelu(x, x[0, :1])",
        "cross": "ops.cross(x[:, :3], x[:, :3], 1)",
        "addcmul": "ops.addcmul(x, x, x, 2)",
        "addcdiv": "ops.addcdiv(x, x, x, 2)",
        "concat": "ops.concat((x, x))",
        "addn": "ops.addn((x, x))",
        "cdist": "ops.cdist(x, x)",
        "kl_div": "ops.kl_div(x, x)",
        "smooth_l1_loss": "ops.smooth_l1_loss(x, x + 1)",
        "l1_loss": "ops.l1_loss(x, x + 1)",
        "mse_loss": "ops.mse_loss(x, x + 1)",
        "huber_loss": "ops.huber_loss(x, x + 1)",
        "cross_entropy": "ops.cross_entropy(x, x)",
        "renorm": "ops.renorm(x, 1, 0, 1.0)",
        "group_norm": "ops.group_norm(x[:2], 2)",
        "layer_norm": "nn.LayerNorm((4,))(x)",
        "batch_norm": "nn.BatchNorm1d(4)(x)",
        "bias_add": "ops.bias_add(x, x[0])",
    }.get(name, f"ops.{name}(x)")
    PLAIN.append(f"ms.amp.auto_mixed_precision(lambda x: {call}, 'auto')(x)")
    PLAIN.append(f"ms.amp.auto_mixed_precision(lambda x: {call}, 'auto')(x.astype(ms.float16))")
SCALERS = [
    "ms.amp.all_finite((x,))",
    "ms.amp.all_finite([x, x])",
    "ms.amp.all_finite((x, x / 0))",
    "ms.amp.all_finite((x.astype(ms.float16),))",
    "ms.amp.all_finite(())",
    "ms.amp.all_finite(x)",
    "ms.amp.all_finite((x.astype(ms.int32),))",
    "ms.amp.all_finite(((x, x), x))",
    "ms.amp.all_finite(1)",
    "ms.amp.all_finite((1, 2))",
    "ms.amp.all_finite((x.astype(ms.bfloat16),))",
    "ms.amp.all_finite((x * float('nan'),))",
    "ms.amp.all_finite({'a': x})",
    "ms.amp.all_finite(None)",
    "ms.amp.all_finite((x[0, 0],))",
    "ms.amp.all_finite((x[:0],))",
    "ms.amp.all_finite((x > 0,))",
]
for make in ("Static", "Dynamic"):
    rest = "" if make == "Static" else ", 2, 2"
    for start in ("4", "4.0", "1", "3", "2.0**120"):
        s = f"ms.amp.{make}LossScaler({start}{rest})"
        for value in (
            "x",
            "(x, x)",
            "[x, x]",
            "x.astype(ms.float16)",
            "x.astype(ms.int32)",
            "x[0, 0]",
            "(x, (x, x))",
            "1.5",
            "None",
            "()",
            "{'a': x}",
            "(x.astype(ms.float16), x)",
            "x.astype(ms.float64)",
            "x.astype(ms.bfloat16)",
        ):
            SCALERS += [f"{s}.scale({value})", f"{s}.unscale({value})"]
        for finite in (
            "ms.Tensor(True)",
            "ms.Tensor(False)",
            "True",
            "False",
            "1",
            "ms.Tensor(1)",
            "ms.Tensor([True])",
            "None",
            "'a'",
            "ms.Tensor([True, False])",
            "ms.Tensor(1.0)",
        ):
            SCALERS += [
                f"s = {s}\nreturn [s.adjust({finite}), s.scale_value.value(), "
                + ("None]" if make == "Static" else "s.counter.value()]"),
                f"s = {s}\nreturn [s.adjust({finite}), s.adjust({finite}), s.adjust({finite}), "
                f"s.scale_value.value()]",
            ]
    SCALERS += [
        f"s = ms.amp.{make}LossScaler(4{rest})\nreturn [s.scale_value.name, s.scale_value.dtype, "
        f"s.scale_value.requires_grad, isinstance(s.scale_value, ms.Parameter)]"
    ]
    SCALERS += [
        f"ms.amp.{make}LossScaler({v}{rest})"
        for v in (
            "0",
            "0.5",
            "'a'",
            "None",
            "True",
            "-1",
            "ms.Tensor(4.0)",
            "[4]",
            "float('nan')",
            "float('inf')",
        )
    ]
for v in (
    "(4, 0, 1)",
    "(4, 2, 0)",
    "(4, 2.0, 1)",
    "(4, 2, 1.0)",
    "(4, True, 1)",
    "(4, 2)",
    "(4, -1, 1)",
    "(4, 2, True)",
    "(4, '2', 1)",
):
    SCALERS.append(f"ms.amp.DynamicLossScaler{v}")
for v in (
    "()",
    "(4.0)",
    "(4)",
    "(0.5)",
    "('a')",
    "(None)",
    "(True)",
    "(4.0, False)",
    "(4.0, 'a')",
    "(4.0, None)",
    "(float('nan'))",
):
    SCALERS += [
        f"m = ms.amp.FixedLossScaleManager{v}\nreturn [m.get_loss_scale(), "
        "m.get_drop_overflow_update(), type(m.get_update_cell()).__name__, "
        "m.update_loss_scale(True)]"
    ]
for v in (
    "()",
    "(4.0)",
    "(4)",
    "(0.5)",
    "('a')",
    "(4, 0)",
    "(4, 2.5)",
    "(4, '2')",
    "(4, 2, 0)",
    "(4, 2, 1.5)",
    "(4, -2)",
    "(4.0, 2, 1)",
    "(4.0, 3, 2)",
    "(1, 2, 1)",
    "(4, 2, True)",
    "(None)",
):
    for steps in (
        "",
        "m.update_loss_scale(True)\n",
        "m.update_loss_scale(False)\n",
        "[m.update_loss_scale(over) for over in (False, False, True, False)]\n",
        "[m.update_loss_scale(True) for _ in range(1000)]\n",
        "[m.update_loss_scale(True) for _ in range(1001)]\n",
        "m.update_loss_scale(ms.Tensor(True))\n",
        "m.update_loss_scale(None)\n",
    ):
        SCALERS.append(
            f"m = ms.amp.DynamicLossScaleManager{v}\n{steps}"
            "return [m.get_loss_scale(), m.get_drop_overflow_update(), m.cur_iter, m.bad_step]"
        )
    SCALERS.append(
        f"m = ms.amp.DynamicLossScaleManager{v}\nc = m.get_update_cell()\n"
        "return [type(c).__name__, c.get_loss_scale(), c.scale_factor, c.scale_window]"
    )
SCALERS += [
    "ms.amp.LossScaler()",
    "m = ms.amp.LossScaleManager()\n"
    "return [m.get_loss_scale(), m.update_loss_scale(1), m.get_update_cell()]",
]

# MindSpore's O1 and lists run a copy of the source, which notes no types
BODIES = [b.replace("types_of", "result_of") if "'O1'" in b or "custom" in b else b for b in BODIES]
CASES = [
    *programs(BODIES, x="[3,4]"),
    *programs(PLAIN, x="float32[3,4]+"),
    *programs(SCALERS, x="[3,4]"),
]
