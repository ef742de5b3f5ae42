"""Methods and attributes of Tensor that other families leave out, and in-place forms."""

from ..spec import many

CASES = [
    *many(
        """
        x.addmm(x[:, :2], y[:2])
        x.dim()
        x.contiguous()
        x.data
        x.dim()
        x.element_size()
        x.itemsize, x.nbytes, x.ndim, x.size, x.shape, x.strides
        x.fill_diagonal_(1)
        x.flatten()
        x.has_init
        x.index_put((Tensor([0, 1]), Tensor([1, 2])), y[0, :2])
        x.index_put_((Tensor([0, 1]),), y)
        x.is_contiguous()
        x.is_pinned()
        x.is_shared()
        x.itemset(0, 5)
        x.itemset((0, 1), 5)
        x[0, 1].item()
        x.kthvalue(1)
        x[:, :2].matrix_determinant()
        x.new_zeros((2,)), x.new_ones((2,))
        x.scatter_sub(Tensor([[0, 0], [1, 1]], ms.int32), x[0, :2])
        x.sign_()
        x.erfinv_()
        x.storage_offset(), x.stride()
        x[1:].storage_offset(), x[:, 1].stride()
        x.to(ms.float64)
        x.to('CPU').shape
        x.to_dlpack() is not None
        x.to_coo().values
        x.to_csr().indptr
        x.T
        x.type()
        x.type(ms.float16)
        x.unflatten(1, (3, 1))
        x.unflatten(0, (1, -1))
        x.untyped_storage is not None
        x[None].dsplit(1)
        x.set_dtype(ms.float64)
        x.assign_value(y)
        x.copy_(y)
        x.fill_(2)
        x.zero_()
        ops.relu(x)
        x.masked_fill_(y > 0, 2)
        x.masked_scatter(y > 0, y)
        x.index_add_(0, Tensor([0, 1], ms.int32), y)
        x.index_copy_(0, Tensor([0, 1]), y)
        x.index_fill_(0, Tensor([0], ms.int32), 2)
        x.scatter_(1, Tensor([[0], [1]]), y[:, :1])
        x.scatter_add_(1, Tensor([[0], [1]]), y[:, :1])
        x.clamp_(0, 1)
        x.floor_divide_(2)
        x.pow(2)
        x.swapaxes(0, 1)
        x.squeeze(), x.unsqueeze(0)
        x.view(3, 2)
        x.view_as(x.T)
        x.reshape_as(x.T)
        x.permute(1, 0)
        x.t()
        x.narrow(1, 0, 2)
        x.tolist()
        len(x), bool(x[0, 0]), float(x[0, 1])
        int(x[0, 1])
        hash(x) == hash(x)
        x.device
        x.is_sparse
        x.is_leaf
        x.requires_grad
        x.is_complex(), x.is_floating_point()
        x.asnumpy().shape
        x.numpy().shape
        x.get_bytes() == x.asnumpy().tobytes()
        x.init, x.init_finished
        x.mean()
        x.mT
        x.nelement(), x.numel()
        x.type_as(y)
        x.diff()
        x.sum(0), x.sum(axis=1, keepdims=True), x.sum()
        x.sum_to_size((1, 3))
        x.expand(2, 2, 3), x.expand_as(y)
        x.repeat(2), x.repeat_interleave(2, 0), x.tile((2, 1))
        x.diagonal()
        x.unbind(1), x.unfold(1, 2, 1), x.unique_consecutive()
        x.where(y > 0, y)
        x.nan_to_num(), x.nansum(), x.nanmean()
        x.var(0), x.std(1)
        x.put(0, 1)
        x.ptp()
        x[0].searchsorted(y[0])
        x.resize(3, 2)
        x.hypot(y), x.igamma(y), x.ldexp(y)
        x.logcumsumexp(0), x.logaddexp(y), x.logaddexp2(y)
        x.tril(), x.triu(1), x.vsplit(2), x.hsplit(3)
        """,
        ("float32", "int32", "bool", "float16"),
        x="[2,3]",
        y="[2,3]^",
    ),
]
