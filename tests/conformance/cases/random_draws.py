"""Random numbers beyond `drawing`: initializers, layers and Primitives that draw, and seeds."""

from ..spec import many, programs

INITIALIZERS = """
    'normal'
    'uniform'
    'zeros'
    'ones'
    'xavier_uniform'
    'xavier_normal'
    'he_uniform'
    'he_normal'
    'truncatedNormal'
    'truncated_normal'
    'orthogonal'
    'identity'
    'sparse'
    'dirac'
    'variance_scaling'
    'constant'
    'Normal'
    'x'
    1
    0.5
    True
    None
    [1, 2]
    init.Normal()
    init.Normal(2.0, 1.0)
    init.Normal('a')
    init.Normal(-1.0)
    init.Uniform()
    init.Uniform(2)
    init.Uniform(-1.0)
    init.Uniform('a')
    init.TruncatedNormal()
    init.TruncatedNormal(0.5, 0.0, -0.1, 0.1)
    init.TruncatedNormal(0.0)
    init.TruncatedNormal(1.0, 0.0, 2.0, 1.0)
    init.XavierUniform()
    init.XavierUniform(2)
    init.XavierUniform(-1)
    init.XavierNormal()
    init.XavierNormal('a')
    init.HeUniform()
    init.HeUniform(0, 'fan_out', 'relu')
    init.HeUniform(0, 'fan', 'relu')
    init.HeUniform(0, 'fan_in', 'x')
    init.HeUniform('a')
    init.HeNormal()
    init.HeNormal(0.5, 'fan_out')
    init.Constant(3)
    init.Constant('a')
    init.Constant(2.5)
    init.Identity()
    init.Orthogonal()
    init.Orthogonal(2.0)
    init.Orthogonal('a')
    init.Sparse(0.5)
    init.Sparse(0.1, 2.0)
    init.Sparse('a')
    init.Sparse(1.5)
    init.Sparse(-0.5)
    init.Dirac()
    init.Dirac(2)
    init.Dirac(0)
    init.Dirac(3)
    init.VarianceScaling()
    init.VarianceScaling(2.0, 'fan_out', 'normal')
    init.VarianceScaling(2.0, 'fan_avg', 'uniform')
    init.VarianceScaling(-1.0)
    init.VarianceScaling(0)
    init.VarianceScaling(1.0, 'x')
    init.VarianceScaling(1.0, 'fan_in', 'x')
    init.Zero()
    init.One()
    """
SHAPES = ("[4, 6]", "[5]", "[]", "[4, 2, 3]", "[4, 2, 3, 3]", "[2, 2, 2, 2, 2]", "[0, 3]", "3",
          "(2, 'a')", "[2, -1]", "None")
KINDS = ("ms.float32", "ms.float16", "ms.float64", "ms.int32", "ms.bool_", "ms.bfloat16",
         "'float32'", "None")
HEAD = "init = ms.common.initializer\nms.set_seed(3)\n"
MAKES = []
for line in filter(None, map(str.strip, INITIALIZERS.splitlines())):
    for shape in SHAPES:
        MAKES.append(f"{HEAD}t = init.initializer({line}, {shape}, ms.float32)\n"
                     "v = t.init_data() if t.has_init else t\nreturn shown(v), v")
    for kind in KINDS:
        MAKES.append(f"{HEAD}t = init.initializer({line}, [4, 4], {kind})\n"
                     "v = t.init_data() if t.has_init else t\nreturn shown(v)")
LAYERS = """
    nn.Dense(3, 2)
    nn.Dense(3, 2, weight_init='normal', bias_init='ones')
    nn.Dense(3, 2, weight_init=0.5)
    nn.Dense(3, 2, weight_init=Tensor(np.ones((2, 3), 'float32')))
    nn.Dense(3, 2, weight_init=Tensor(np.ones((3, 3), 'float32')))
    nn.Dense(3, 2, weight_init='x')
    nn.Dense(3, 2, dtype=ms.float16)
    nn.Conv1d(2, 3, 3)
    nn.Conv2d(2, 3, 3)
    nn.Conv2d(2, 4, 3, group=2, has_bias=True)
    nn.Conv2d(2, 3, 3, weight_init='he_normal', has_bias=True, bias_init='normal')
    nn.Conv2dTranspose(2, 3, 3, has_bias=True)
    nn.Conv3d(2, 3, 2)
    nn.Conv1dTranspose(2, 3, 3)
    nn.Embedding(5, 3)
    nn.Embedding(5, 3, True)
    nn.Embedding(5, 3, padding_idx=0)
    nn.Embedding(5, 3, embedding_table='zeros')
    nn.EmbeddingLookup(5, 3)
    nn.LSTM(3, 4)
    nn.LSTM(3, 4, 2, bidirectional=True)
    nn.GRU(3, 4)
    nn.RNN(3, 4)
    nn.LSTMCell(3, 4)
    nn.GRUCell(3, 4)
    nn.RNNCell(3, 4)
    nn.BatchNorm2d(3)
    nn.LayerNorm((3,))
    nn.GroupNorm(2, 4)
    nn.InstanceNorm2d(3)
    nn.PReLU()
    nn.PReLU(3, 0.5)
    nn.BiDense(2, 3, 4)
    nn.MultiheadAttention(4, 2)
    nn.TransformerEncoderLayer(4, 2, 8)
    nn.Transformer(4, 2, 1, 1, 8)
    ms.mint.nn.Linear(3, 2)
    ms.mint.nn.Conv2d(2, 3, 3)
    ms.mint.nn.Embedding(5, 3)
    ms.mint.nn.BatchNorm2d(3)
    ms.mint.nn.LayerNorm(3)
    ms.mint.nn.GroupNorm(2, 4)
    ms.mint.nn.PReLU()
    ms.mint.nn.ConvTranspose2d(2, 3, 3)
    """
for line in filter(None, map(str.strip, LAYERS.splitlines())):
    MAKES += [f"ms.set_seed(5)\nnet = {line}\n"
              "return [[p.name, p.dtype, p.shape, p.requires_grad] for p in net.get_parameters()]",
              f"ms.set_seed(5)\nnet = {line}\nreturn [p.value() for p in net.get_parameters()]"]
DRAWS = """
    ops.standard_normal((50,))
    ops.standard_laplace((50,))
    ops.uniform((50,), Tensor(0.0), Tensor(1.0))
    ops.normal((50,), Tensor(0.0), Tensor(1.0))
    ops.gamma((50,), Tensor(2.0), Tensor(1.0))
    ops.laplace((50,), Tensor(0.0), Tensor(1.0))
    ops.poisson((50,), Tensor(20.0))
    ops.random_poisson(Tensor([50]), Tensor(20.0))
    ops.random_gamma(Tensor([50]), Tensor(20.0))
    ops.rand(50)
    ops.randn(50)
    ops.randint(0, 1000, (50,))
    ops.randperm(50)
    ops.bernoulli(ops.ones(50) * 0.5, 0.5)
    ops.multinomial(ops.ones(50), 40)
    ops.random_categorical(ops.ones((1, 50)), 40)
    ops.dropout(ops.ones(50), 0.5, True)
    ops.dropout1d(ops.ones((5, 10, 2)), 0.5)
    ops.dropout2d(ops.ones((5, 10, 2, 2)), 0.5)
    ops.dropout3d(ops.ones((5, 10, 2, 2, 2)), 0.5)
    ops.shuffle(ops.arange(50))
    ops.rrelu(-ops.ones(50))
    ops.gumbel_softmax(ops.ones(50))
    nn.Dropout(p=0.5).set_train()(ops.ones(50))
    nn.Dropout2d(p=0.5).set_train()(ops.ones((5, 10, 2, 2)))
    ms.numpy.rand(50)
    ms.numpy.randn(50)
    ms.numpy.randint(1000, shape=50)
    P.StandardNormal()((50,))
    P.UniformReal()((50,))
    P.UniformInt()((50,), Tensor(0), Tensor(1000))
    P.StandardLaplace()((50,))
    P.TruncatedNormal()(Tensor([50]))
    P.RandomShuffle()(ops.arange(50))
    P.Multinomial()(ops.ones(50), 40)
    P.Dropout(0.5)(ops.ones(50))[0]
    P.Bernoulli()(ops.ones(50) * 0.5, 0.5)
    ms.mint.rand(50)
    ms.mint.randn(50)
    Tensor(np.ones(50, 'float32')).bernoulli(0.5)
    Tensor(np.ones(50, 'float32')).uniform_()
    Tensor(np.ones(50, 'float32')).normal_()
    Tensor(np.ones(50, 'float32')).random_()
    Tensor(np.ones(50, 'float32')).exponential_()
    """
SAME = ("ms.set_seed(7)\na = DRAW\nms.set_seed(7)\nb = DRAW\nreturn bool((a == b).all())",
        "ms.set_seed(7)\na = DRAW\nb = DRAW\nreturn bool((a == b).all())",
        "ms.set_seed(7)\na = DRAW\nms.set_seed(8)\nb = DRAW\nreturn bool((a == b).all())",
        "f = ms.jit(lambda: DRAW)\nms.set_seed(7)\na = f()\nms.set_seed(7)\nb = f()\n"
        "return bool((a == b).all())",
        "f = ms.jit(lambda: DRAW)\na = f()\nb = f()\nreturn bool((a == b).all())")
for line in filter(None, map(str.strip, DRAWS.splitlines())):
    MAKES += [body.replace("DRAW", line) for body in SAME]
for line in ("ms.mint.rand(50)", "ms.mint.randn(50)", "ms.mint.randint(0, 1000, (50,))",
             "Tensor(np.ones(50, 'float32')).normal_()", "ms.mint.randperm(50)"):
    MAKES += [f"ms.manual_seed(7)\na = {line}\nms.manual_seed(7)\nb = {line}\n"
              "return bool((a == b).all())",
              f"state = ms.get_rng_state()\na = {line}\nms.set_rng_state(state)\nb = {line}\n"
              "return bool((a == b).all())"]
SEEDED = """
    P.StandardNormal(seed=5)
    P.StandardNormal(5, 6)
    P.StandardNormal(seed2=6)
    P.UniformReal(5, 6)
    P.UniformReal(seed=5)
    P.StandardLaplace(5, 6)
    P.Multinomial(5, 6)
    P.RandomShuffle(5, 6)
    P.Dropout(0.5, 5, 6)
    P.RandomGamma(5, 6)
    P.RandomPoisson(5)
    """
ARGUMENTS = {"Multinomial": "(ops.ones(50), 40)", "RandomShuffle": "(ops.arange(50))",
             "Dropout": "(ops.ones(50))[0]", "RandomGamma": "(Tensor([50]), Tensor(2.0))",
             "RandomPoisson": "(Tensor([50]), Tensor(20.0))"}
for line in filter(None, map(str.strip, SEEDED.splitlines())):
    given = ARGUMENTS.get(line.split("(")[0][2:], "((50,))")
    MAKES += [f"a = {line}{given}\nb = {line}{given}\nreturn bool((a == b).all())",
              f"f = {line}\na = f{given}\nb = f{given}\nreturn bool((a == b).all())",
              f"ms.set_seed(1)\na = {line}{given}\nms.set_seed(2)\nb = {line}{given}\n"
              "return bool((a == b).all())"]
CASES = [
    *programs(MAKES),
    *many(
        """
        ms.set_seed(0)
        ms.set_seed(1)
        ms.set_seed(-1)
        ms.set_seed(2**31)
        ms.set_seed(2**32)
        ms.set_seed(2**63)
        ms.set_seed(1.5)
        ms.set_seed('a')
        ms.set_seed(None)
        ms.set_seed(True)
        ms.get_seed()
        ms.manual_seed(-1)
        ms.manual_seed(1.5)
        ms.manual_seed('a')
        ms.manual_seed(None)
        ms.manual_seed(True)
        ms.initial_seed()
        ms.Generator().manual_seed(3).initial_seed()
        ms.Generator().initial_seed()
        ms.Generator().get_state().shape
        ms.Generator().manual_seed('a')
        """
    ),
]
