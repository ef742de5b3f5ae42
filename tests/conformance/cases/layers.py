"""Layers with weights that both sides fill in the same way."""

from ..spec import many

CASES = [
    *many(
        """
        filled(nn.Dense(4, 3))(x)
        filled(nn.Dense(4, 3, has_bias=False, activation='relu'))(x)
        filled(nn.Dense(5, 3))(x)
        filled(nn.LayerNorm((4,)))(x)
        filled(nn.RMSNorm(4))(x)
        filled(nn.BatchNorm1d(4))(x)
        filled(nn.BatchNorm1d(4).set_train())(x)
        filled(nn.PReLU(4))(x)
        filled(nn.GRUCell(4, 2))(x, ops.zeros((2, 2), x.dtype))
        filled(nn.RNNCell(4, 2))(x, ops.zeros((2, 2), x.dtype))
        filled(nn.LSTMCell(4, 2))(x, (ops.zeros((2, 2), x.dtype), ops.zeros((2, 2), x.dtype)))
        filled(nn.RNN(4, 2))(x.reshape(1, 2, 4))
        filled(nn.GRU(4, 2))(x.reshape(1, 2, 4))
        filled(nn.LSTM(4, 2, bidirectional=True))(x.reshape(1, 2, 4))
        filled(nn.BiDense(4, 4, 2))(x, x)
        nn.Flatten()(x)
        nn.Identity()(x)
        nn.Dropout(p=0.5).set_train(False)(x)
        nn.Unflatten(1, (2, 2))(x)
        nn.L1Regularizer(0.5)(x)
        nn.ClipByNorm()(x, ms.Tensor(1.0))
        nn.PairwiseDistance()(x, x + 1)
        nn.SequentialCell(filled(nn.Dense(4, 2)), nn.ReLU())(x)
        filled(nn.MultiheadAttention(4, 2))(x[None], x[None], x[None])
        filled(nn.TransformerEncoderLayer(4, 2, 8, 0.0))(x.reshape(1, 2, 4))
        """,
        ("float32", "float16", "int32"),
        grad=True,
        graph=True,
        x="[2,4]",
    ),
    *many(
        """
        filled(nn.Conv2d(2, 3, 2, has_bias=True))(x)
        filled(nn.Conv2d(2, 3, 3, stride=2, pad_mode='pad', padding=1))(x)
        filled(nn.Conv2d(2, 4, 2, pad_mode='valid', group=2))(x)
        filled(nn.Conv2d(3, 3, 2))(x)
        filled(nn.Conv2dTranspose(2, 3, 2))(x)
        filled(nn.Conv2dTranspose(2, 3, 2, 2, pad_mode='valid'))(x)
        filled(nn.Conv1d(2, 3, 2))(x[:, :, 0])
        filled(nn.Conv1dTranspose(2, 3, 2))(x[:, :, 0])
        filled(nn.Conv3d(2, 3, 2))(ops.stack((x, x), 2))
        filled(nn.BatchNorm2d(2))(x)
        filled(nn.BatchNorm2d(2).set_train())(x)
        filled(nn.GroupNorm(2, 2))(x)
        filled(nn.InstanceNorm2d(2))(x)
        nn.MaxPool2d(2)(x)
        nn.MaxPool2d(2, 1, 'same')(x)
        nn.AvgPool2d(2)(x)
        nn.AvgPool2d(2, 2, 'same')(x)
        nn.MaxPool1d(2)(x[0])
        nn.AvgPool1d(2)(x[0])
        nn.AdaptiveAvgPool2d(2)(x)
        nn.AdaptiveMaxPool2d((1, 2))(x)
        nn.LPPool2d(2, 2)(x)
        nn.Pad(((0, 0), (0, 0), (1, 1), (1, 0)))(x)
        nn.ZeroPad2d(1)(x)
        nn.ReflectionPad2d(1)(x)
        nn.ReplicationPad2d((1, 0, 0, 1))(x)
        nn.ConstantPad2d(1, 0.5)(x)
        nn.PixelShuffle(1)(x)
        nn.Upsample(scale_factor=2.0, recompute_scale_factor=True)(x)
        nn.Upsample(size=(5, 5), mode='bilinear')(x)
        nn.Unfold([1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1])(x)
        ops.avg_pool2d(x, 2, 1)
        ops.max_pool2d(x, 2, 1)
        ops.max_pool2d(x, 2, return_indices=True)
        ops.adaptive_avg_pool2d(x, 2)
        ops.adaptive_max_pool2d(x, 2)
        ops.interpolate(x, (2, 2))
        ops.interpolate(x, (5, 3), mode='bilinear', align_corners=True)
        ops.interpolate(x, (5, 5), mode='bicubic')
        ops.interpolate(x, (5, 5), mode='area')
        ops.interpolate(x, (5, 5), mode='other')
        ops.lrn(x)
        ops.unfold(x, 2)
        ops.conv2d(x, x)
        ops.conv2d(x, x, pad_mode='same')
        ops.conv2d(x, x[:, :1])
        ops.group_norm(x, 2)
        ops.batch_norm(x, x[0, :, 0, 0], ops.abs(x[0, :, 0, 1]), x[0, :, 0, 0], x[0, :, 0, 0])
        ops.bias_add(x, x[0, :, 0, 0])
        ops.grid_sample(x, ops.tanh(x).transpose(0, 2, 3, 1))
        ops.pixel_unshuffle(x, 2)
        ops.dropout(x, 0.0)
        ops.layer_norm(x, (4,), x[0, 0, 0], x[0, 0, 1])
        """,
        ("float32", "float16", "int32"),
        grad=True,
        graph=True,
        x="[2,2,4,4]^",
    ),
    *many(
        """
        filled(nn.Embedding(4, 2))(x)
        filled(nn.Embedding(4, 2, True))(x)
        filled(nn.EmbeddingLookup(4, 2))(x)
        ops.embedding(x, ms.Tensor(np.eye(4, 2), ms.float32))
        ops.one_hot(x, 4)
        ops.one_hot(x, 4, 2.0, -1.0)
        """,
        ("int32", "int64", "float32"),
        x="[2]=0,3",
    ),
    *many(
        """
        filled(nn.Embedding(4, 2))(x)
        filled(nn.Embedding(4, 2, True))(x)
        ops.embedding(x, ms.Tensor(np.eye(4, 2), ms.float32))
        ops.one_hot(x, 4)
        """,
        ("int32",),
        x="[2]=5,-1",
    ),
]
