"""What changes a tensor: in-place methods and assignment to parts."""

from ..spec import ALL, many

CASES = [
    *many(
        """
        (x.add_(y), x)
        (x.sub_(y), x)
        (x.mul_(y), x)
        (x.div_(y), x)
        (x.add_(2), x)
        (x.add_(2.5), x)
        (x.mul_(2), x)
        (x.sub_('a'), x)
        (x.floor_divide_(2), x)
        (x.remainder_(2), x)
        (x.fill_(2), x)
        (x.zero_(), x)
        (x.copy_(y), x)
        (x.neg_(), x)
        (x.abs_(), x)
        (x.exp_(), x)
        (x.log_(), x)
        (x.sqrt_(), x)
        (x.tanh_(), x)
        (x.sigmoid_(), x)
        (x.floor_(), x)
        (x.clamp_(0, 1), x)
        (x.masked_fill_(m, 1), x)
        (x.index_add_(0, i, y), x)
        (x.index_copy_(0, i, y), x)
        (x.index_fill_(0, i, 2), x)
        (x.scatter_(0, i.reshape(1, 2), y[:1, :2]), x)
        (x.scatter_add_(0, i.reshape(1, 2), y[:1, :2]), x)
        (x.masked_scatter_(m, y), x)
        (x.put_(i, y[0, :2]), x)
        (x.logical_not_(), x)
        (x.__setitem__(0, 2), x)[1]
        (x.__setitem__((0, 1), 2), x)[1]
        (x.__setitem__(0, y[1]), x)[1]
        (x.__setitem__((slice(None), 1), 2.5), x)[1]
        (x.__setitem__(m, 1), x)[1]
        (x.__setitem__(m, y[0, 0]), x)[1]
        (x.__setitem__(i, y), x)[1]
        (x.__setitem__(i, 3), x)[1]
        (x.__setitem__(ms.Tensor(5), 3), x)[1]
        (x.__setitem__(5, 3), x)[1]
        (x.__setitem__(0, y), x)[1]
        (x.__setitem__(0, 'a'), x)[1]
        (x.__setitem__(Ellipsis, 0), x)[1]
        (x.__iadd__(y), x)
        (x.__imul__(2), x)
        (x.__isub__(1.5), x)
        ops.assign(ms.Parameter(x), y)
        ops.assign_add(ms.Parameter(x), y)
        ops.assign_sub(ms.Parameter(x), y)
        """,
        ALL,
        x="[2,3]",
        y="[2,3]",
        m="bool[2,3]",
        i="int64[2]=0,1",
    ),
]
