"""Activation functions."""

from ..spec import FLOATS, many, unary

TYPES = ("bool", "int8", "int32", "int64", "uint8", "uint16", *FLOATS, "complex64")
CASES = [
    *unary(
        "relu relu6 selu elu gelu fast_gelu mish silu softsign softshrink hardshrink hardsigmoid "
        "hardswish hardtanh logsigmoid leaky_relu celu tanhshrink softplus sigmoid tanh glu",
        TYPES,
    ),
    *unary("softmax log_softmax softmin", TYPES, "ops.{}(x)"),
    *unary(
        "ReLU ReLU6 SeLU Elu GeLU FastGeLU Mish SiLU Softsign SoftShrink HShrink HSigmoid HSwish "
        "Sigmoid Tanh Softplus Softmax LogSoftmax CeLU",
        ("int32", "float16", "float32", "float64"),
        "P.{}()(x)",
        grad=False,
    ),
    *unary(
        "ReLU ReLU6 SeLU ELU GELU FastGelu Mish SiLU Softsign SoftShrink HShrink HSigmoid HSwish "
        "Sigmoid Tanh Softplus Softmax LogSoftmax CELU LeakyReLU LogSigmoid Tanhshrink Hardtanh "
        "Softmin GLU",
        ("int32", "float16", "float32", "float64"),
        "nn.{}()(x)",
    ),
    *many(
        """
        ops.elu(x, 2.0)
        ops.elu(x, 0.5)
        ops.celu(x, 0.0)
        ops.celu(x, 2.0)
        ops.leaky_relu(x, 0.5)
        ops.leaky_relu(x, 'a')
        ops.hardtanh(x, -2, 2)
        ops.hardtanh(x, 1.0, -1.0)
        ops.hardshrink(x, 1.0)
        ops.softshrink(x, 0.25)
        ops.softplus(x, 2)
        ops.softplus(x, 1, 2)
        ops.threshold(x, 0.5, 9.0)
        ops.softmax(x, 0)
        ops.softmax(x, 2)
        ops.softmax(x, dtype=ms.float64)
        ops.log_softmax(x, 0)
        ops.gelu(x, 'tanh')
        ops.gelu(x, 'other')
        ops.glu(x, 0)
        ops.swiglu(x)
        ops.prelu(x, ms.Tensor([0.25], x.dtype))
        nn.PReLU()(x)
        nn.Threshold(0.5, 2.0)(x)
        nn.get_activation('relu')(x)
        """,
        TYPES,
        grad=True,
        graph=True,
        x="[2,4]",
    ),
]
