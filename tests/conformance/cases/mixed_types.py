"""Functions whose arguments have different types: likelihoods, bounds, additions, solvers."""

from ..spec import case, many

TYPES = ("float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8",
         "bool")
LIKELIHOODS = """
    ops.nll_loss(x, t, w)
    ops.nll_loss(x, t, w, reduction='none')
    ops.nll_loss(x, t, w, label_smoothing=0.5)
    ops.cross_entropy(x, t, w)
    P.NLLLoss()(x, t, w)
    nn.NLLLoss(w)(x, t)
    """
ALONE = """
    ops.nll_loss(x, t)
    ops.nll_loss(x, t, reduction='sum')
    ops.cross_entropy(x, t)
    nn.NLLLoss()(x, t)
    nn.CrossEntropyLoss()(x, t)
    ops.softmax(x)
    ops.log_softmax(x)
    nn.Softmax()(x)
    P.Softmax()(x)
    ops.gelu(x)
    nn.GELU(False)(x)
    P.GeLU()(x)
    ops.grid_sample(x[None, None], ops.zeros((1, 1, 1, 2)))
    ops.grid_sample(ops.ones((1, 1, 2, 2)), x[None, None, :1])
    """
ADDITIONS = """
    ms.mint.index_add(x, 0, i, y)
    ms.mint.index_add(x, 0, i, y, alpha=2)
    ops.index_add(x, i, y, 0)
    x.index_add(0, i, y)
    P.IndexAdd(0)(x, i, y)
    ms.mint.clamp(x, y[0])
    ms.mint.clamp(x, max=y[0])
    ms.mint.clamp(x, y[0], y[1])
    ops.clamp(x, y[0], y[1])
    x.clamp(y[0], y[1])
    x.clip(y[0], y[1])
    """
BOUNDS = """
    ms.mint.clamp(x, 1, 2)
    ms.mint.clamp(x, 0.5, 1.5)
    ms.mint.clamp(x, 3, 1)
    ms.mint.clamp(x, True, False)
    ms.mint.clamp(x)
    ms.mint.clamp(x, -300, 300)
    ms.mint.clamp(x, -2**40, 2**40)
    ms.mint.clamp(x, 2**40)
    ms.mint.clamp(x, max=-2**40)
    ops.clamp(x, -300, 300)
    x.clamp(-300, 300)
    """
SOLVERS = """
    sp.linalg.solve_triangular(a, b, lower=True)
    sp.linalg.solve_triangular(a, b, trans=1)
    sp.linalg.cho_solve((a, True), b)
    """
CASES = [
    *(c for kind in TYPES for other in TYPES
      for c in many(LIKELIHOODS, x=f"{kind}[2,2]=1,0,1,3", t="int32[2]=0,1", w=f"{other}[2]=1,2")),
    *(c for kind in TYPES
      for c in many(ALONE, x=f"{kind}[2,2]=1,0,1,3", t="int32[2]=0,1")),
    *(c for kind in TYPES for other in TYPES
      for c in many(ADDITIONS, x=f"{kind}[3]=0,1,2", i="int32[2]=0,1", y=f"{other}[2]=1,1")),
    *(c for kind in TYPES for c in many(BOUNDS, x=f"{kind}[3]=0,1,2")),
    *(c for kind in TYPES for other in (kind, "float32", "int32")
      for c in many(SOLVERS, a=f"{kind}[2,2]=1,0,2,4", b=f"{other}[2,2]=1,2,3,4")),
    *(case(f"sp.linalg.eigh(a){what}", a=f"{kind}[2,2]=1,0,0,4")
      for kind in (*TYPES, "complex64", "complex128") for what in ("[0]", "[1].dtype")),
]
