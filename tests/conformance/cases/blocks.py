"""Layers, losses and wrappers of several parts, with weights that both sides fill alike."""

from ..spec import many, programs

CASES = [
    *many(
        """
        filled(nn.DenseBnAct(4, 3, activation='relu'))(x)
        filled(nn.DenseBnAct(4, 3, has_bn=True))(x)
        nn.TimeDistributed(filled(nn.Dense(4, 3)), 1, 0)(x[:, None])
        filled(nn.Transformer(4, 2, 1, 1, 8, 0.0))(x[:, None], x[:, None])
        filled(nn.TransformerDecoderLayer(4, 2, 8, 0.0))(y, y)
        filled(nn.TransformerDecoderLayer(4, 2, 8, 0.0, 'gelu', norm_first=True))(y, y)
        filled(nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True))(x[None])
        filled(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0), 2))(x[:, None])
        filled(nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0), 1))(y, y)
        filled(nn.MultiheadAttention(4, 2, add_bias_kv=True))(x[:, None], x[:, None], x[:, None])
        filled(nn.LSTM(4, 3, 2, batch_first=True))(x[None])[0]
        filled(nn.GRU(4, 3, 2, has_bias=False))(x[None])[0]
        filled(nn.RNN(4, 3, bidirectional=True, nonlinearity='relu'))(x[None])[0]
        filled(nn.RNN(4, 3, nonlinearity='sin'))(x[None])
        nn.DiGamma()(x.abs() + 1)
        nn.LGamma()(x.abs() + 1)
        nn.IGamma()(x.abs() + 1, x.abs() + 2)
        nn.LBeta()(x.abs() + 1, x.abs() + 2)
        nn.Moments(0)(x)
        nn.Moments((0, 1), True)(x)
        nn.Norm(0)(x)
        nn.Norm((0, 1), True)(x)
        nn.ReduceLogSumExp(1)(x)
        nn.ReduceLogSumExp(1, True)(x)
        nn.Threshold(0.5, 2.0)(x)
        nn.Hardtanh()(x)
        nn.HShrink()(x)
        nn.SoftShrink()(x)
        nn.CELU()(x)
        nn.GLU()(x)
        nn.GLU(0)(x)
        nn.LogSigmoid()(x)
        nn.LRN()(x[:, :, None, None])
        nn.SiLU()(x)
        nn.Softsign()(x)
        nn.Softmin()(x)
        nn.FastGelu()(x)
        nn.Mish()(x)
        nn.get_activation('leakyrelu')(x)
        nn.get_activation('other')
        nn.BCELoss()(ops.sigmoid(x), x * 0 + 1)
        nn.BCELoss(reduction='none')(ops.sigmoid(x), ops.sigmoid(x + 1))
        nn.BCELoss(reduction='sum')(x, x * 0 + 1)
        nn.FocalLoss()(x, Tensor([[1], [0]], ms.int32))
        nn.FocalLoss(Tensor([1.0, 2.0, 1.0, 0.5]), 1.0, 'sum')(x, Tensor([[1], [0]], ms.int32))
        nn.MultiClassDiceLoss()(x, ops.sigmoid(x))
        nn.DiceLoss()(ops.sigmoid(x), ops.sigmoid(x + 1))
        nn.MultiLabelSoftMarginLoss()(x, x * 0 + 1)
        nn.MultiLabelSoftMarginLoss(reduction='none')(x, x * 0 + 1)
        nn.PoissonNLLLoss()(x, x.abs())
        nn.PoissonNLLLoss(False, True, 1e-3, 'sum')(x.abs(), x.abs() + 2)
        nn.TripletMarginLoss()(x, x + 1, x * 2)
        nn.TripletMarginWithDistanceLoss()(x, x + 1, x * 2)
        nn.TripletMarginWithDistanceLoss(swap=True, margin=0.5, reduction='none')(x, x + 1, x * 2)
        nn.CosineEmbeddingLoss()(x, x + 1, Tensor([1, -1], ms.int32))
        nn.RMSELoss()(x, x + 1)
        nn.MAELoss()(x, x + 1)
        nn.WithEvalCell(filled(nn.Dense(4, 3)), nn.MSELoss())(x, x[:, :3])
        nn.WithLossCell(filled(nn.Dense(4, 3)), nn.MSELoss())(x, x[:, :3])
        nn.ForwardValueAndGrad(filled(nn.Dense(4, 3)))(x)
        nn.ForwardValueAndGrad(filled(nn.Dense(4, 3)), get_all=True, sens_param=True)(x, z)
        nn.Jvp(filled(nn.Dense(4, 3)))(x, x)
        nn.Vjp(filled(nn.Dense(4, 3)))(x, ops.ones((2, 3), x.dtype))
        filled(nn.EmbeddingLookup(5, 2))(Tensor([[1, 4]], ms.int32))
        filled(nn.MultiFieldEmbeddingLookup(5, 2, 2))(i, x[:1, :2], i // 4)
        filled(nn.BatchNorm1d(4, momentum=0.5, affine=False).set_train())(x)
        filled(nn.LayerNorm((2, 4), -2, -2))(x)
        filled(nn.CellList([nn.Dense(4, 2), nn.Dense(4, 2)]))[1](x)
        filled(nn.CellDict({'a': nn.Dense(4, 2)}))['a'](x)
        filled(nn.SequentialCell([nn.Dense(4, 2), nn.Dense(2, 3)]))(x)
        filled(nn.MatMul())(x, x.swapaxes(0, 1))
        nn.OneHot(depth=4)(Tensor([0, 3]))
        nn.OneHot(0, 4, 2.0, -1.0)(Tensor([0, 3]))
        nn.Roll(1, 0)(x)
        nn.Range(0, 4, 1)()
        nn.Interpolate(scale_factor=2.0)(x)
        nn.L1Regularizer(-1.0)
        nn.ReLU6()(x)
        nn.Sigmoid()(x)
        nn.Tanhshrink()(x)
        nn.GELU(False)(x)
        nn.PReLU(1, 0.5)(x)
        """,
        ("float32", "float16", "int32"),
        grad=True,
        x="[2,4]",
        y="[2,1,4]",
        z="[2,3]",
        i="int32[1,2]=1,4",
    ),
    *programs(
        [
            """
net, loss = filled(nn.Dense(3, 2)), nn.MSELoss()
optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer)
return step(x, x[:, :2]), step(x, x[:, :2]), net.weight.value()
""",
            """
net, loss = filled(nn.Dense(3, 2)), nn.MSELoss()
optimizer = nn.Adam(net.trainable_params(), 0.1)
manager = nn.DynamicLossScaleUpdateCell(1024.0, 2, 2)
step = nn.TrainOneStepWithLossScaleCell(nn.WithLossCell(net, loss), optimizer, manager)
return step(x, x[:, :2]), step(x, x[:, :2]), net.weight.value()
""",
            """
net, loss = filled(nn.Dense(3, 2)), nn.MSELoss()
optimizer = nn.SGD(net.trainable_params(), 0.1)
manager = nn.FixedLossScaleUpdateCell(8.0)
step = nn.TrainOneStepWithLossScaleCell(nn.WithLossCell(net, loss), optimizer, manager)
return step(x, x[:, :2]), net.weight.value()
""",
            """
net = filled(nn.Dense(3, 2))
grad = nn.WithGradCell(net, nn.MSELoss())
return grad(x, x[:, :2])
""",
            """
net = filled(nn.Dense(3, 2))
net.to_float(ms.float16)
return net(x)
""",
            """
net = filled(nn.SequentialCell(nn.Dense(3, 2), nn.Dropout(p=0.5), nn.BatchNorm1d(2)))
return net.set_train(False)(x), [p.name for p in net.get_parameters()]
""",
            """
net = filled(nn.Dense(3, 2))
net.weight.requires_grad = False
return [p.name for p in net.trainable_params()], [p.name for p in net.untrainable_params()]
""",
            """
net = filled(nn.SequentialCell(nn.Dense(3, 2), nn.Dense(2, 2)))
names = [name for name, _ in net.cells_and_names()]
return names, list(net.parameters_dict()), len(list(net.cells())), str(net)
""",
        ],
        ("float32",),
        x="[4,3]",
    ),
]
