"""Attention and the layers of the Transformer (Vaswani et al., 2017, Attention Is All You Need)."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..common.initializer import XavierNormal, XavierUniform, initializer
from ..core import dtype as mstype
from ..ops.attention import multi_head_attention
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor
from .activation import GELU
from .cell import Cell
from .checks import count, one_of, positive_int
from .container import CellList
from .dense import Dense
from .dropout import Dropout
from .normalization import LayerNorm
from .rectifier import ReLU

__all__ = [
    "MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer",
    "TransformerEncoder", "TransformerDecoder", "Transformer",
]


class MultiheadAttention(Cell):
    """Several attentions side by side: each looks at a projection of query, key and value.

    Args:
        embed_dim: E, the length of the query's and the output's last dimension.
        num_heads: how many attentions; must divide `embed_dim`.
        dropout: the probability to drop a weight while training.
        has_bias: whether the projections have biases.
        add_bias_kv: whether one learned key and value are appended.
        add_zero_attn: whether a key and value of zeros are appended.
        kdim, vdim: lengths of the key's and the value's last dimension; default `embed_dim`.
        batch_first: whether the batch is the first dimension.
        dtype: type of the parameters.

    Inputs:
        - **query** - Tensor (T, N, E), with `batch_first` (N, T, E), or (T, E).
        - **key**, **value** - Tensors (S, N, kdim) and (S, N, vdim), likewise.
        - **key_padding_mask** - Tensor (N, S): True leaves a key out; a float is added
          to its score.
        - **need_weights** - whether the weights are given.
        - **attn_mask** - Tensor (T, S) or (N * num_heads, T, S), likewise.
        - **average_attn_weights** - whether the weights are the mean of all heads'.

    Outputs:
        The output of the shape of `query`, and the weights (N, T, S), or (N, num_heads, T, S);
        a tuple of one without `need_weights`.

    Raises:
        ValueError: if `num_heads` does not divide `embed_dim`, or a mask is of integers.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.MultiheadAttention(8, 2)
        >>> x = ms.ops.ones((4, 3, 8))
        >>> out, weights = net(x, x, x)
        >>> out.shape, weights.shape
        ((4, 3, 8), (3, 4, 4))
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, has_bias: bool = True,
                 add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
                 vdim: int | None = None, batch_first: bool = False, dtype: Any = mstype.float32):
        super().__init__()
        for name, size in (("embed_dim", embed_dim), ("num_heads", num_heads)):
            positive_int(size, name, type(self).__name__)
        if embed_dim % num_heads:
            raise ValueError(f"For '{type(self).__name__}', 'num_heads' must divide 'embed_dim', "
                             f"but got {num_heads} and {embed_dim}.")
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn
        self.dtype = dtype = mstype.float32 if dtype is None else dtype

        def weight(name: str, *shape: int, init: Any = None) -> Parameter:
            return Parameter(initializer(init or XavierUniform(), shape, dtype), name)

        self.in_proj_weight = self.q_proj_weight = None
        self.k_proj_weight = self.v_proj_weight = None
        if self._qkv_same_embed_dim:
            self.in_proj_weight = weight("in_proj_weight", 3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = weight("q_proj_weight", embed_dim, embed_dim)
            self.k_proj_weight = weight("k_proj_weight", embed_dim, self.kdim)
            self.v_proj_weight = weight("v_proj_weight", embed_dim, self.vdim)
        self.in_proj_bias = self.bias_k = self.bias_v = None
        if has_bias:
            self.in_proj_bias = weight("in_proj_bias", 3 * embed_dim, init="zeros")
        if add_bias_kv:
            self.bias_k = weight("bias_k", 1, 1, embed_dim, init=XavierNormal())
            self.bias_v = weight("bias_v", 1, 1, embed_dim, init=XavierNormal())
        self.out_proj = Dense(embed_dim, embed_dim, has_bias=has_bias, dtype=dtype)

    def construct(self, query: Tensor, key: Tensor, value: Tensor,
                  key_padding_mask: Tensor | None = None, need_weights: bool = True,
                  attn_mask: Tensor | None = None, average_attn_weights: bool = True) -> tuple:
        _check_mask(key_padding_mask, "key_padding_mask", type(self).__name__)
        swap = self.batch_first and query.ndim == 3
        if swap:
            query, key, value = (t.swapaxes(0, 1) for t in (query, key, value))
        # under `to_float` the Parameters of the Cell below have not been converted
        out_weight, out_bias = (p if p is None or p._raw.dtype is query._raw.dtype
                                else p.astype(query.dtype)
                                for p in (self.out_proj.weight, self.out_proj.bias))
        out, weights = multi_head_attention(
            query, key, value, self.num_heads, need_weights, embed_dim_to_check=self.embed_dim,
            in_proj_weight=self.in_proj_weight, in_proj_bias=self.in_proj_bias, bias_k=self.bias_k,
            bias_v=self.bias_v, add_zero_attn=self.add_zero_attn, dropout_p=self.dropout,
            out_proj_weight=out_weight, out_proj_bias=out_bias,
            training=self.training, key_padding_mask=key_padding_mask, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight, average_attn_weights=average_attn_weights)
        if swap:
            out = out.swapaxes(0, 1)
        return (out, weights) if need_weights else (out,)


def _check_mask(mask: Tensor | None, what: str, name: str) -> None:
    if mask is not None and mask.dtype != mstype.bool_ and not mask._raw.is_floating_point():
        raise ValueError(f"For '{name}', '{what}' must be boolean or floating, "
                         f"but got {mask.dtype}.")


def _function(activation: Any, name: str) -> Any:
    """The activation that the argument of a Transformer layer stands for."""
    if isinstance(activation, str):
        one_of(activation, ("relu", "gelu"), "activation", name)
        return ops.relu if activation == "relu" else ops.gelu
    if not (isinstance(activation, (ReLU, GELU)) or activation in (ops.relu, ops.gelu)):
        raise ValueError(f"For '{name}', 'activation' must be 'relu', 'gelu', nn.ReLU, nn.GELU, "
                         f"ops.relu or ops.gelu, but got {activation!r}.")
    return activation


class _TransformerLayer(Cell):
    """What encoder and decoder layers share: the order of their parts, and the feed-forward one."""

    _attentions: tuple[str, ...] = ()

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: Any = "relu", layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, dtype: Any = mstype.float32):
        super().__init__()
        self.activation1 = activation
        function = _function(activation, type(self).__name__)
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout=dropout,
                                                   batch_first=batch_first, dtype=dtype))
        self.dense1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dropout = Dropout(p=dropout)
        self.dense2 = Dense(dim_feedforward, d_model, dtype=dtype)
        parts = range(1, len(self._attentions) + 2)
        for i in parts:
            setattr(self, f"norm{i}", LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype))
        for i in parts:
            setattr(self, f"dropout{i}", Dropout(p=dropout))
        self.activation = function
        self.d_model = d_model
        self.nhead = nhead
        self.dim_feedforward = dim_feedforward
        self.dropout_num = dropout
        self.layernorm_eps = layer_norm_eps
        self.batch_first = batch_first
        self.norm_first = norm_first
        self.dtype = dtype

    def _residual(self, x: Tensor, norm: Cell, part: Any) -> Tensor:
        """x plus a part of the layer, normalized before that part or after the sum."""
        return x + part(norm(x)) if self.norm_first else norm(x + part(x))

    def _attend(self, attention: Cell, dropout: Cell, x: Tensor, memory: Tensor,
                mask: Tensor | None, padding: Tensor | None) -> Tensor:
        out = attention(x, memory, memory, attn_mask=mask, key_padding_mask=padding,
                        need_weights=False)[0]
        return dropout(out)

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.dense2(self.dropout(self.activation(self.dense1(x))))


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and a feed-forward network, each with residual and normalization.

    Args:
        d_model: E, the length of the input's last dimension.
        nhead: the number of attentions.
        dim_feedforward: the width of the feed-forward network.
        dropout: the probability to drop an element while training.
        activation: ``"relu"``, ``"gelu"``, or one of their functions or Cells.
        layer_norm_eps: added to variances.
        batch_first: whether the batch is the first dimension.
        norm_first: whether normalization comes before attention and network, not after the sums.
        dtype: type of the parameters.

    Inputs:
        - **src** - Tensor (S, N, E), with `batch_first` (N, S, E), or (S, E).
        - **src_mask** - Tensor (S, S) or (N * nhead, S, S): True leaves a pair out.
        - **src_key_padding_mask** - Tensor (N, S): True leaves a position out.

    Outputs:
        Tensor of the shape of `src`.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.TransformerEncoderLayer(16, 2)(ms.ops.ones((4, 3, 16))).shape
        (4, 3, 16)
    """

    _attentions = ("self_attn",)

    def construct(self, src: Tensor, src_mask: Tensor | None = None,
                  src_key_padding_mask: Tensor | None = None) -> Tensor:
        x = self._residual(src, self.norm1, lambda t: self._attend(
            self.self_attn, self.dropout1, t, t, src_mask, src_key_padding_mask))
        return self._residual(x, self.norm2, lambda t: self.dropout2(self._feed_forward(t)))


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to an encoder's output, and a feed-forward network.

    Args: those of `TransformerEncoderLayer`.

    Inputs:
        - **tgt** - Tensor (T, N, E), with `batch_first` (N, T, E), or (T, E).
        - **memory** - Tensor (S, N, E), likewise: the encoder's output.
        - **tgt_mask**, **memory_mask** - Tensors (T, T) and (T, S): True leaves a pair out.
        - **tgt_key_padding_mask**, **memory_key_padding_mask** - Tensors (N, T) and (N, S).

    Outputs:
        Tensor of the shape of `tgt`.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.TransformerDecoderLayer(16, 2)
        >>> net(ms.ops.ones((4, 3, 16)), ms.ops.ones((5, 3, 16))).shape
        (4, 3, 16)
    """

    _attentions = ("self_attn", "multihead_attn")

    def construct(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None,
                  memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
                  memory_key_padding_mask: Tensor | None = None) -> Tensor:
        x = self._residual(tgt, self.norm1, lambda t: self._attend(
            self.self_attn, self.dropout1, t, t, tgt_mask, tgt_key_padding_mask))
        x = self._residual(x, self.norm2, lambda t: self._attend(
            self.multihead_attn, self.dropout2, t, memory, memory_mask, memory_key_padding_mask))
        return self._residual(x, self.norm3, lambda t: self.dropout3(self._feed_forward(t)))


def _copies(layer: _TransformerLayer, num_layers: int) -> CellList:
    """Layers built as `layer` is, which begin with one set of values."""
    if not isinstance(layer, _TransformerLayer):
        raise TypeError(f"The layer of a Transformer must be a TransformerEncoderLayer or "
                        f"TransformerDecoderLayer, but got {type(layer).__name__}.")
    count(num_layers, "num_layers", "Transformer")
    layers = CellList()
    first = None
    for _ in range(num_layers):
        twin = type(layer)(layer.d_model, layer.nhead, layer.dim_feedforward, layer.dropout_num,
                           layer.activation1, layer.layernorm_eps, layer.batch_first,
                           layer.norm_first, dtype=layer.dtype)
        first = first or twin
        for mine, model in zip(twin.get_parameters(), first.get_parameters(), strict=True):
            if mine is not model:
                mine.set_data(model)
        layers.append(twin)
    return layers


class TransformerEncoder(Cell):
    """Encoder layers, one after the other.

    Args:
        encoder_layer: a `TransformerEncoderLayer` that says how they are built.
        num_layers: how many.
        norm: a normalization behind the last; default none.

    Inputs and outputs: those of `TransformerEncoderLayer`.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.TransformerEncoder(ms.nn.TransformerEncoderLayer(16, 2), num_layers=2)
        >>> net(ms.ops.ones((4, 3, 16))).shape
        (4, 3, 16)
    """

    def __init__(self, encoder_layer: TransformerEncoderLayer, num_layers: int,
                 norm: Cell | None = None):
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def construct(self, src: Tensor, src_mask: Tensor | None = None,
                  src_key_padding_mask: Tensor | None = None) -> Tensor:
        for layer in self.layers:
            src = layer(src, src_mask=src_mask, src_key_padding_mask=src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Cell):
    """Decoder layers, one after the other.

    Args:
        decoder_layer: a `TransformerDecoderLayer` that says how they are built.
        num_layers: how many.
        norm: a normalization behind the last; default none.

    Inputs and outputs: those of `TransformerDecoderLayer`.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.TransformerDecoder(ms.nn.TransformerDecoderLayer(16, 2), num_layers=2)
        >>> net(ms.ops.ones((4, 3, 16)), ms.ops.ones((5, 3, 16))).shape
        (4, 3, 16)
    """

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int,
                 norm: Cell | None = None):
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def construct(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None,
                  memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
                  memory_key_padding_mask: Tensor | None = None) -> Tensor:
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                        tgt_key_padding_mask=tgt_key_padding_mask,
                        memory_key_padding_mask=memory_key_padding_mask)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Cell):
    """An encoder and a decoder that looks at its output.

    Args:
        d_model: E, the length of the inputs' last dimension.
        nhead: the number of attentions.
        num_encoder_layers, num_decoder_layers: how many layers of each.
        dim_feedforward, dropout, activation: those of `TransformerEncoderLayer`.
        custom_encoder, custom_decoder: Cells to use instead.
        layer_norm_eps, batch_first, norm_first, dtype: those of `TransformerEncoderLayer`.

    Inputs:
        - **src** - Tensor (S, N, E), with `batch_first` (N, S, E), or (S, E).
        - **tgt** - Tensor (T, N, E), likewise.
        - **src_mask**, **tgt_mask**, **memory_mask** - Tensors (S, S), (T, T) and (T, S).
        - **src_key_padding_mask**, **tgt_key_padding_mask**, **memory_key_padding_mask** - Tensors
          (N, S), (N, T) and (N, S).

    Outputs:
        Tensor of the shape of `tgt`.

    Raises:
        ValueError: if the batches of `src` and `tgt` differ, or a last dimension is not `d_model`.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Transformer(16, 2, num_encoder_layers=1, num_decoder_layers=1)
        >>> net(ms.ops.ones((5, 3, 16)), ms.ops.ones((4, 3, 16))).shape
        (4, 3, 16)
    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6,
                 num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: Any = "relu", custom_encoder: Cell | None = None,
                 custom_decoder: Cell | None = None, layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, dtype: Any = mstype.float32):
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
                   batch_first, norm_first)
        if custom_encoder is None:
            custom_encoder = TransformerEncoder(
                TransformerEncoderLayer(*options, dtype=dtype), num_encoder_layers,
                LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype))
        self.encoder = custom_encoder
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(
                TransformerDecoderLayer(*options, dtype=dtype), num_decoder_layers,
                LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype))
        self.decoder = custom_decoder
        for parameter in self.get_parameters():
            if parameter.ndim > 1:
                parameter.set_data(
                    initializer("xavier_uniform", parameter.shape, parameter.dtype))
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def construct(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None,
                  tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                  src_key_padding_mask: Tensor | None = None,
                  tgt_key_padding_mask: Tensor | None = None,
                  memory_key_padding_mask: Tensor | None = None) -> Tensor:
        axis = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[axis] != tgt.shape[axis]:
            raise ValueError(f"For '{type(self).__name__}', 'src' and 'tgt' must have equal "
                             f"batches, but got shapes {src.shape} and {tgt.shape}.")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ValueError(f"For '{type(self).__name__}', the last dimension of 'src' and 'tgt' "
                             f"must be {self.d_model}, but got shapes {src.shape} and {tgt.shape}.")
        memory = self.encoder(src, src_mask=src_mask, src_key_padding_mask=src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                            tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask)
