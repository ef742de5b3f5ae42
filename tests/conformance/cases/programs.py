"""Programs of several lines: hooks, vmap, seeds, and what the language of graphs can do."""

from ..spec import programs

HOOKS = """
seen = []
def f(a):
    b = a * 2
    b.register_hook(lambda g: seen.append(g.sum()))
    return b * a
out = ms.grad(f)(x)
return out, seen

def f(a):
    b = a * 2
    b.register_hook(lambda g: g * 3)
    return b * a
return ms.grad(f)(x)

def f(a):
    b = a * 2
    b.register_hook(lambda g: g * 3)
    b.register_hook(lambda g: g + 1)
    return b * a
return ms.grad(f)(x)

def f(a):
    b = a * 2
    h = b.register_hook(lambda g: g * 3)
    h.remove()
    return b * a
return ms.grad(f)(x)

net = filled(nn.Dense(3, 2))
net.weight.register_hook(lambda g: g * 2)
return ms.grad(net, None, net.trainable_params())(x)

net = filled(nn.Dense(3, 2))
net.weight.register_hook(lambda g: g * 2)
return ms.grad(net)(x)

net = filled(nn.Dense(3, 2))
net.register_forward_hook(lambda c, i, o: o * 2)
return net(x), ms.grad(net)(x)

net = filled(nn.Dense(3, 2))
net.register_forward_pre_hook(lambda c, i: (i[0] * 2,))
return net(x), ms.grad(net)(x)

net = filled(nn.Dense(3, 2))
net.register_backward_hook(lambda c, i, o: None)
return ms.grad(net)(x)

net = filled(nn.Dense(3, 2))
net.register_backward_pre_hook(lambda c, o: (o[0] * 2,))
return ms.grad(net)(x)

hook = ops.HookBackward(lambda g: (g[0] * 2,))
def f(a):
    return hook(a * a) * 3
return ms.grad(f)(x)

def twice(g):
    return g * 2
rule = ops.InsertGradientOf(twice)
def f(a):
    return rule(a * a) * 3
return ms.grad(f)(x)

def f(a):
    return ops.stop_gradient(a) * a
return ms.grad(f)(x)

def f(a):
    return ms.grad(lambda b: (b * b * b).sum())(a).sum()
return ms.grad(f)(x)
"""
VMAPS = """
def f(a):
    return a * 2 + 1
return ms.vmap(f)(x)

def f(a, b):
    return a @ b
return ms.vmap(f, in_axes=(0, None))(x, x[0])

def f(a):
    return a.sum()
return ms.vmap(f, in_axes=1)(x)

def f(a):
    return a * 2
return ms.vmap(f, out_axes=1)(x)

def f(a):
    return ops.softmax(a, 0)
return ms.vmap(f)(x)

def f(a):
    return ops.topk(a, 2)
return ms.vmap(f)(x)

def f(a):
    return ops.sort(a)
return ms.vmap(f)(x)

def f(a):
    return (a * a).sum()
return ms.vmap(ms.grad(f))(x)

def f(a):
    return a * a
return ms.vmap(ms.vmap(f))(x)

def f(a, b):
    return (a + b, a * b)
return ms.vmap(f, in_axes=(0, 0), out_axes=(0, 1))(x, x)

def f(a):
    return ops.linspace(a[0], a[1], 3)
return ms.vmap(f)(x)

def f(a):
    return ops.matrix_band_part(a[None], 0, 1)
return ms.vmap(f)(x)

def f(a):
    return ops.gather(a, Tensor([0, 2]), 0)
return ms.vmap(f)(x)

def f(a, i):
    return ops.gather(a, i, 0)
return ms.vmap(f)(x, Tensor([0, 2]))

def f(a, n):
    return a * n
return ms.vmap(f, in_axes=(0, None))(x, 2)

def f(a):
    return a
return ms.vmap(f, in_axes=5)(x)

def f(a, b):
    return a
return ms.vmap(f, in_axes=(None, None))(x, x)

v = ms.Parameter(x * 1, name='v')
step = ops.ApplyGradientDescent()
def f(p, g):
    return step(p, Tensor(0.1), g)
out = ms.vmap(f)(v, x)
return out, v

v, m = ms.Parameter(x * 1, name='v'), ms.Parameter(x * 0, name='m')
step = ops.ApplyMomentum()
def f(p, a, g):
    return step(p, a, 0.1, g, 0.9)
out = ms.vmap(f)(v, m, x)
return out, v, m

v, m = ms.Parameter(x * 1, name='v'), ms.Parameter(x * x, name='m')
step = ops.ApplyAdagrad()
def f(p, a, g):
    return step(p, a, Tensor(0.1), g)
out = ms.vmap(f)(v, m, x)
return v, m

ms.set_seed(3)
a = ops.standard_normal((2, 3))
ms.set_seed(3)
b = ops.standard_normal((2, 3))
return (a == b).all()

a, b = ops.standard_normal((2, 3), seed=5), ops.standard_normal((2, 3), seed=5)
return (a == b).all()

g = ms.Generator()
g.manual_seed(5)
return g.initial_seed(), g.seed() > 0
"""
LANGUAGE = """
out = []
for i in range(3):
    out.append(x * i)
return out

total = x * 0
for row in x:
    total = total + row
return total

return [a * b for a, b in zip((x, x + 1), (1, 2))]

return [i * v for i, v in enumerate([x, x + 1])]

return list(map(lambda a: a * 2, (x, x + 1)))

return list(filter(lambda a: a > 1, [1, 2, 3]))

d = {'a': x, 'b': 2}
d['c'] = x * 2
return d

d = {'a': x, 'b': 2}
return list(d.keys()), list(d.values()), len(d), 'a' in d

t = (x, x + 1, x + 2)
return t[0], t[-1], t[1:], len(t)

items = [x, 1]
items.append(2)
items.insert(0, 3)
items.extend([4, 5])
items.pop()
return items

items = [1, 2, 3]
items.reverse()
return items, sum(items), max(items), min(items)

if x.sum() > 0:
    return x * 2
return x * 3

n = 0
while n < 3:
    n = n + 1
return x * n

n = Tensor(0, ms.int32)
while n < 3:
    n = n + 1
return n

out = x
for i in range(5):
    if i == 1:
        continue
    if i == 4:
        break
    out = out + i
return out

return isinstance(x, Tensor), isinstance(1, int), isinstance([1], (list, tuple))

return len(x), x.shape, x.ndim, x.dtype

f = lambda a, b=2: a * b
return f(x), f(x, 3)

def inner(a, *rest, **named):
    return a + len(rest) + named['k']
return inner(x, 1, 2, k=3)

a, b = 1, 2
a, b = b, a
return a - b, a ** b, a // b, a % 2, -a, not a, a and b, a or b

return x if x.sum() > 100 else x * 0

return f"{1 + 1} and {'a'}", str(2), int(2.7), float(3), bool(0)

assert x.shape[0] == 2
return x

assert x.shape[0] == 5, 'five rows'
return x

n = 1
raise ValueError('no')

if x.shape[0] == 2:
    raise RuntimeError('two rows')
return x

return x[0], x[:, 1], x[..., -1], x[None], x[x > 0], x[1:, ::2]

y = x * 1
y[0] = 5
return y

y = x * 1
y[:, 1] = x[:, 0]
return y

return x is None, x is not None, 1 in [1, 2], 3 not in (1, 2)

return all([True, 1]), any([False, 0]), abs(-3), round(2.6), pow(2, 3)

return (1, 2) + (3,), [1] * 3, 'a' + 'b', (1, 2) == (1, 2), 'a' < 'b'

return hasattr(x, 'shape'), getattr(x, 'ndim')

return ms.Tensor([1.0, 2.0]) + 1

return ops.zeros((2, 3)) + x

return {'a': x}.get('a'), {'a': x}.get('b')

return slice(0, 2), range(3)

return x.asnumpy().sum()

y = np.array([1.0, 2.0])
return Tensor(y) + 1

s = 0
for i in range(10, 0, -3):
    s += i
return s

return [[i * j for j in range(2)] for i in range(3)]

return [i for i in range(6) if i % 2]

return 1 if 2 > 1 else 0, 1 < 2 < 3

return print('a', 1)

return type(x) == Tensor, type(1) == int

return x.view(-1).shape, x.T.shape, x.astype(ms.int32).dtype
"""


def _bodies(text: str) -> list[str]:
    """The programs of a text, one line each as an expression."""
    found = text.strip("\n").split("\n\n")
    return [body if "\n" in body else body.removeprefix("return ") for body in found]


CASES = [
    *programs(_bodies(HOOKS), x="[2,3]"),
    *programs(_bodies(VMAPS), x="[2,3]"),
    *programs(_bodies(LANGUAGE), ("float32", "int32"), "graph", x="[2,3]"),
    *programs(_bodies(LANGUAGE), x="[2,3]"),
]
