"""Embeddings: layers that look rows of a table up."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..common.initializer import Normal, initializer
from ..core import dtype as mstype
from ..core.require import one_of
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor
from . import checks
from .basic import ClipByNorm
from .cell import Cell
from .cell_tree import operator

__all__ = ["Embedding", "EmbeddingExt", "EmbeddingLookup", "MultiFieldEmbeddingLookup"]


class Embedding(Cell):
    """The rows of a table that the input names.

    Args:
        vocab_size: the number of rows.
        embedding_size: their length.
        use_one_hot: compute by a product with one-hot rows.
        embedding_table: initializer of the table.
        dtype: accepted for MindSpore's sake; the table has the type of its initializer, float32.
        padding_idx: a row that starts as zeros.

    Inputs:
        - **ids** - Tensor of integers below `vocab_size`, of any shape.

    Outputs:
        Tensor (*ids.shape, embedding_size).

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or `padding_idx` out of range.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Embedding(20000, 8)
        >>> net(ms.ops.ones((3, 5), ms.int32)).shape
        (3, 5, 8)
    """

    _operators = {
        "gather": operator("Gather"), "one_hot": operator("OneHot"),
        "array_mul": operator("MatMul"), "expand": operator("ExpandDims"),
        "reshape": operator("Reshape"), "reshape_flat": operator("Reshape"),
        "get_shp": operator("Shape"), "concat": operator("Concat")}

    def __init__(self, vocab_size: int, embedding_size: int, use_one_hot: bool = False,
                 embedding_table: Any = "normal", dtype: Any = mstype.float32,
                 padding_idx: int | None = None):
        super().__init__()
        name = type(self).__name__
        self.vocab_size = checks.of_type(vocab_size, int, "vocab_size", name)
        self.embedding_size = checks.of_type(embedding_size, int, "embedding_size", name)
        self.use_one_hot = checks.boolean(use_one_hot, "use_one_hot", name)
        self.dtype = dtype
        self.padding_idx = padding_idx
        table = initializer(embedding_table, [vocab_size, embedding_size])
        if padding_idx is not None:
            checks.within(checks.of_type(padding_idx, int, "padding_idx", name), 0, vocab_size,
                          "[)", "padding_idx", name)
            table = Tensor(table.init_data())
            table[padding_idx] = 0
        self.embedding_table = Parameter(table, name="embedding_table")

    def construct(self, ids: Tensor) -> Tensor:
        if self.use_one_hot:
            kind = self.embedding_table.dtype
            hot = ops.one_hot(ids, self.vocab_size, Tensor(1.0, kind), Tensor(0.0, kind))
            return ops.matmul(hot, self.embedding_table)
        return ops.embedding(ids, self.embedding_table)

    def by_operators(self, ids: Tensor) -> Tensor:
        """What `construct` gives, by the operators, some of which have strategies."""
        if self.use_one_hot:
            return self.construct(ids)
        return self.gather(self.embedding_table, ids, 0)

    def extend_repr(self) -> str:
        return (f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, "
                f"use_one_hot={self.use_one_hot}, embedding_table={self.embedding_table}, "
                f"dtype={self.dtype}, padding_idx={self.padding_idx}")


class EmbeddingExt(Cell):
    """`Embedding` as `mint.nn` has it.

    Args:
        num_embeddings: the number of rows.
        embedding_dim: their length.
        padding_idx: a row that starts as zeros and gets no gradient.
        max_norm: rows that are looked up and longer are cut to this norm, in the table.
        norm_type: of that norm.
        scale_grad_by_freq: divide a row's gradient by how often it was named.
        sparse: only False.
        _weight: the table; default: random from a normal distribution.
        _freeze: whether the table is not trained.
        dtype: type of the table; default float32.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.EmbeddingExt(10, 4, padding_idx=0)(ms.Tensor([0, 3])).shape
        (2, 4)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, sparse: bool = False,
                 _weight: Tensor | None = None, _freeze: bool = False, dtype: Any = None):
        super().__init__()
        name = type(self).__name__
        if checks.boolean(sparse, "sparse", name):
            raise ValueError(f"For '{name}', 'sparse' must be False: gradients are dense.")
        self.num_embeddings = checks.of_type(num_embeddings, int, "num_embeddings", name)
        self.embedding_dim = checks.of_type(embedding_dim, int, "embedding_dim", name)
        self.dtype = mstype.float32 if dtype is None else dtype
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = checks.boolean(scale_grad_by_freq, "scale_grad_by_freq", name)
        shape = (num_embeddings, embedding_dim)
        if _weight is None:
            _weight = Tensor(initializer(Normal(1.0, 0.0), shape, self.dtype).init_data())
            if padding_idx is not None:
                checks.within(padding_idx, -num_embeddings, num_embeddings, "[)", "padding_idx",
                              name)
                _weight[padding_idx] = 0
        checks.init_shape(_weight, shape, "_weight", name)
        self.weight = Parameter(_weight, name="weight", requires_grad=not _freeze)

    def construct(self, input: Tensor) -> Tensor:
        return ops.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                             self.scale_grad_by_freq)

    def extend_repr(self) -> str:
        return (f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, "
                f"padding_idx={self.padding_idx}, max_norm={self.max_norm}, "
                f"norm_type={self.norm_type}, scale_grad_by_freq={self.scale_grad_by_freq}, "
                f"dtype={self.dtype}")


class EmbeddingLookup(Cell):
    """The rows of a table that the input names, for large tables.

    Args:
        vocab_size: the number of rows.
        embedding_size: their length.
        param_init: initializer of the table.
        target: ``"CPU"`` or ``"DEVICE"``; the table lies on the current device in both.
        slice_mode, manual_shapes: accepted for MindSpore's sake; they steer parallel tables.
        max_norm: rows that are longer are cut to this norm in the output.
        sparse: must be True when `target` is ``"CPU"``.
        dtype: type of the table.

    Inputs:
        - **indices** - Tensor of integers, of any shape.

    Outputs:
        Tensor (*indices.shape, embedding_size).

    Examples:
        >>> import lamella as ms
        >>> ms.nn.EmbeddingLookup(4, 2)(ms.Tensor([[1, 0], [3, 2]])).shape
        (2, 2, 2)
    """

    BATCH_SLICE = "batch_slice"
    FIELD_SLICE = "field_slice"
    TABLE_ROW_SLICE = "table_row_slice"
    TABLE_COLUMN_SLICE = "table_column_slice"

    def __init__(self, vocab_size: int, embedding_size: int, param_init: Any = "normal",
                 target: str = "CPU", slice_mode: str = "batch_slice", manual_shapes: Any = None,
                 max_norm: float | None = None, sparse: bool = True, dtype: Any = mstype.float32):
        super().__init__()
        name = type(self).__name__
        self.sparse = checks.boolean(sparse, "sparse", name)
        self.vocab_size = checks.positive_int(vocab_size, "vocab_size", name)
        self.embedding_size = checks.positive_int(embedding_size, "embedding_size", name)
        self.target = one_of(target, ("CPU", "DEVICE"), "target", name)
        if not sparse and target == "CPU":
            raise ValueError(f"For '{name}', 'sparse' must be True when 'target' is 'CPU', "
                             f"but got {sparse}.")
        if max_norm is not None:
            checks.within(checks.of_type(max_norm, float, "max_norm", name), 0, float("inf"), "()",
                          "max_norm", name)
        self.max_norm = max_norm
        self.embedding_table = Parameter(
            initializer(param_init, [vocab_size, embedding_size], dtype), name="embedding_table")

    def _rows(self, indices: Tensor) -> Tensor:
        rows = ops.embedding(indices, self.embedding_table)
        if self.max_norm is None:
            return rows
        return ClipByNorm(indices.ndim)(rows, self.max_norm)

    def construct(self, indices: Tensor) -> Tensor:
        return self._rows(indices)


class MultiFieldEmbeddingLookup(EmbeddingLookup):
    """Rows of a table, weighted, and joined for each field they belong to.

    Args:
        vocab_size, embedding_size, param_init, target, slice_mode, max_norm, sparse, dtype: as
            those of `EmbeddingLookup`.
        field_size: the number of fields.
        feature_num_list: accepted for MindSpore's sake.
        operator: how rows of one field are joined: ``"SUM"``, ``"MEAN"`` or ``"MAX"``.

    Inputs:
        - **input_indices** - Tensor (N, L) of row numbers.
        - **input_values** - Tensor (N, L), the weight of each row.
        - **field_ids** - Tensor (N, L) int32, the field of each row.

    Outputs:
        Tensor (N, field_size, embedding_size).

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.MultiFieldEmbeddingLookup(10, 2, field_size=2)
        >>> one = ms.ops.ones((1, 3), ms.int32)
        >>> net(one, one.astype(ms.float32), ms.Tensor([[0, 1, 1]], ms.int32)).shape
        (1, 2, 2)
    """

    OPERATOR_SUM = "SUM"
    OPERATOR_MEAN = "MEAN"
    OPERATOR_MAX = "MAX"

    def __init__(self, vocab_size: int, embedding_size: int, field_size: int,
                 param_init: Any = "normal", target: str = "CPU", slice_mode: str = "batch_slice",
                 feature_num_list: Any = None, max_norm: float | None = None, sparse: bool = True,
                 operator: str = "SUM", dtype: Any = mstype.float32):
        super().__init__(vocab_size, embedding_size, param_init, target, slice_mode,
                         feature_num_list, max_norm, sparse, dtype)
        name = type(self).__name__
        self.field_size = checks.positive_int(field_size, "field_size", name)
        self.operator = one_of(operator, ("SUM", "MAX", "MEAN"), "operator", name)

    def construct(self, input_indices: Tensor, input_values: Tensor, field_ids: Tensor) -> Tensor:
        for given in (input_indices, input_values, field_ids):
            checks.rank(given.shape, (2,), type(self).__name__)
        batch = input_indices.shape[0]
        segments = batch * self.field_size
        first = ops.arange(0, segments, self.field_size).astype(field_ids.dtype).reshape(batch, 1)
        fields = (field_ids + first).reshape(-1)
        weights = input_values.reshape(-1, 1)
        rows = self._rows(input_indices).reshape(-1, self.embedding_size) * weights
        if self.operator == "MAX":
            rows = ops.masked_fill(rows, weights == 0, -3.402823466e38)
            joined = ops.unsorted_segment_max(rows, fields, segments)
            joined = ops.where(self._sizes(weights, fields, segments) != 0, joined,
                               ops.zeros_like(joined))
        else:
            joined = ops.unsorted_segment_sum(rows, fields, segments)
            if self.operator == "MEAN":
                sizes = self._sizes(weights, fields, segments)
                some = sizes != 0
                joined = ops.where(some, joined / ops.where(some, sizes, ops.ones_like(sizes)),
                                   ops.zeros_like(joined))
        return joined.reshape(batch, self.field_size, self.embedding_size)

    @staticmethod
    def _sizes(weights: Tensor, fields: Tensor, segments: int) -> Tensor:
        """The sum of the weights' magnitudes in each segment, as a column."""
        return ops.unsorted_segment_sum(ops.abs(weights), fields, segments)
