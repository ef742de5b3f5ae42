"""Shapes and places of elements: nothing is computed."""

from ..spec import SOME, many

CASES = [
    *many(
        """
        ops.reshape(x, (3, 2))
        ops.reshape(x, (-1,))
        ops.reshape(x, (4, 2))
        ops.reshape(x, 'a')
        x.reshape(3, -1)
        x.view(6)
        ops.transpose(x, (1, 0))
        ops.transpose(x, (1, 1))
        ops.transpose(x, (0,))
        ops.permute(x, (1, 0))
        ops.swapaxes(x, 0, 1)
        ops.swapaxes(x, 0, 3)
        ops.swapdims(x, -1, 0)
        ops.moveaxis(x, 0, 1)
        ops.movedim(x, 0, 5)
        ops.t(x)
        x.T
        x.t()
        ops.expand_dims(x, 0)
        ops.expand_dims(x, -1)
        ops.expand_dims(x, 4)
        ops.unsqueeze(x, 1)
        ops.squeeze(x)
        ops.squeeze(x, 0)
        ops.flatten(x)
        ops.flatten(x, start_dim=0)
        ops.flatten(x, order='F')
        ops.flatten(x, order='K')
        ops.ravel(x)
        ops.broadcast_to(x, (2, 2, 3))
        ops.broadcast_to(x, (2, 4))
        ops.broadcast_to(x, (-1, 3))
        ops.expand_as(x, ms.Tensor(np.zeros((4, 2, 3))))
        ops.tile(x, (2, 1))
        ops.tile(x, (2,))
        ops.tile(x, (-1,))
        ops.tile(x, 2)
        x.repeat(2)
        ops.repeat_elements(x, 2, 1)
        ops.repeat_interleave(x, 2)
        ops.repeat_interleave(x, 2, 0)
        ops.repeat_interleave(x, 2, 3)
        ops.roll(x, 1)
        ops.roll(x, 1, 0)
        ops.roll(x, (1, 2), (0, 1))
        ops.roll(x, 1, 2)
        ops.rot90(x, 1, (0, 1))
        ops.rot90(x, 3, [0, 1])
        ops.rot90(x, 1, (0, 0))
        ops.flip(x, (0,))
        ops.flip(x, 1)
        ops.flip(x, (0, 0))
        ops.fliplr(x)
        ops.flipud(x)
        ops.reverse(x, [0])
        ops.cat((x, x))
        ops.cat((x, x), 1)
        ops.cat((x, x), 2)
        ops.cat([x])
        ops.cat(())
        ops.cat((x, x.reshape(3, 2)))
        ops.concat((x, x), axis=-1)
        ops.stack((x, x))
        ops.stack((x, x), -1)
        ops.stack((x, x), 3)
        ops.stack([])
        ops.vstack((x, x))
        ops.hstack((x, x))
        ops.dstack((x, x))
        ops.column_stack((x, x))
        ops.split(x, 1)
        ops.split(x, 2, 1)
        ops.split(x, [1, 2], 1)
        ops.split(x, [1, 1], 1)
        ops.split(x, 0)
        ops.split(x, 1, 2)
        ops.chunk(x, 2)
        ops.chunk(x, 2, 1)
        ops.chunk(x, 0)
        ops.tensor_split(x, 2)
        ops.tensor_split(x, (1,), 1)
        ops.hsplit(x, 3)
        ops.vsplit(x, 2)
        ops.unbind(x)
        ops.unbind(x, 1)
        ops.unstack(x, 1)
        ops.narrow(x, 0, 0, 1)
        ops.narrow(x, 1, 1, 5)
        ops.slice(x, (0, 1), (2, 2))
        ops.slice(x, (0, 1), (2, 3))
        ops.strided_slice(x, (0, 0), (2, 3), (1, 2))
        ops.strided_slice(x, (1, 0), (0, 3), (-1, 1))
        ops.pad(x, (1, 1))
        ops.pad(x, (1, 0, 0, 1), value=2)
        ops.pad(x, (1, 1), 'reflect')
        ops.pad(x, (1, 1), 'other')
        ops.pad(x, (-1, 0))
        ops.tril(x)
        ops.triu(x, 1)
        ops.tril(x, 'a')
        ops.diag(x)
        ops.diagonal(x)
        ops.diagonal(x, 1)
        ops.diagonal(x, 0, 0, 0)
        ops.diagflat(x)
        ops.diag_embed(x)
        ops.trace(x)
        ops.meshgrid(x[0], x[1])
        ops.meshgrid(x[0], x[1], indexing='ij')
        ops.atleast_1d(x)
        ops.atleast_3d(x)
        ops.block_diag(x, x)
        ops.cartesian_prod(x[0], x[1])
        ops.combinations(x[0])
        ops.vander(x[0])
        ops.shape(x)
        ops.rank(x)
        ops.size(x)
        ops.numel(x)
        ops.dyn_shape(x)
        ops.is_nonzero(x[0, 0])
        ops.ones_like(x)
        ops.zeros_like(x)
        ops.full_like(x, 2)
        ops.full_like(x, 2.5)
        ops.fill(ms.int32, (2,), 2.5)
        ops.fills(x, 3)
        ops.type_as(x, ms.Tensor([1], ms.int8))
        ops.space_to_batch_nd(x.reshape(1, 1, 2, 3), (2, 1), ((0, 0), (0, 0)))
        ops.batch_to_space_nd(x.reshape(6, 1, 1, 1), (2, 1), ((0, 0), (0, 0)))
        ops.pixel_shuffle(ops.cat((x, x)).reshape(1, 4, 1, 3), 2)
        ops.channel_shuffle(ops.cat((x, x)).reshape(1, 4, 3, 1), 2)
        ops.one_hot(ms.Tensor([0, 2, 5, -1]), 3)
        ops.matrix_diag_part(x, ms.Tensor(0), ms.Tensor(0, x.dtype))
        x[0]
        x[0, 1]
        x[-1]
        x[5]
        x[0, 5]
        x[..., 1]
        x[None, 0]
        x[:, ::2]
        x[::-1]
        x[ms.Tensor([0, 1])]
        x[ms.Tensor(5)]
        x[ms.Tensor([0, 5])]
        x[[0, 1], [1, 2]]
        x[x > 0]
        x['a']
        x[1.0]
        x[True]
        """,
        (*SOME, "complex64", "bfloat16"),
        x="[2,3]",
    ),
    *many(
        """
        ops.reshape(x, (3, 2))
        ops.transpose(x, (1, 0))
        ops.tile(x, (2, 1))
        ops.repeat_interleave(x, 2, 1)
        ops.roll(x, 1, 0)
        ops.cat((x, x), 1)
        ops.stack((x, x))
        ops.split(x, 1)
        ops.pad(x, (1, 0, 0, 1), value=2)
        ops.tril(x)
        ops.diagonal(x)
        ops.broadcast_to(x, (2, 2, 3))
        ops.flip(x, (0,))
        ops.trace(x)
        ops.unbind(x)
        x[:, 1:]
        x[ms.Tensor([0, 1])]
        """,
        (),
        grad=True,
        graph=True,
        x="float32[2,3]",
    ),
]
