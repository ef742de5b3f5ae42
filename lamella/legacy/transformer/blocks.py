"""Encoders and decoders of blocks with attention and dense layers."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...core import dtype as mstype
from ...nn.cell import Cell
from ...nn.container import CellList
from ...tensors.tensor import Tensor
from .attention import MultiHeadAttention
from .layers import FeedForward, _LayerNorm

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
           "TransformerEncoderLayer"]


class TransformerEncoderLayer(Cell):
    """Attention to oneself and a `FeedForward`, each behind a layer norm and with a way around it.

    Args:
        batch_size, seq_length: of no effect: inputs say it.
        hidden_size, ffn_hidden_size: sizes outside and inside of the `FeedForward`.
        num_heads: how many attentions.
        attention_dropout_rate, hidden_dropout_rate: dropout.
        post_layernorm_residual: whether what goes around is taken behind the layer norm.
        layernorm_compute_type, softmax_compute_type, param_init_type: types.
        hidden_act: the activation's name, or a Cell's class.
        use_past: must be False.
        moe_config: a MoEConfig of one expert.
        parallel_config: kept, of no effect.

    Inputs:
        - **x** - Tensor (B, S, hidden_size) or (B * S, hidden_size).
        - **input_mask** - Tensor (B, S, S), or None.

    Outputs:
        A Tensor of the shape of `x`, and keys and values.

    Raises:
        NotImplementedError: if `use_past`, or there is more than one expert.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.transformer import TransformerEncoderLayer
        >>> net = TransformerEncoderLayer(2, 8, 32, 2, 3)
        >>> net(ms.ops.ones((2, 3, 8)), ms.ops.ones((2, 3, 3)))[0].shape
        (2, 3, 8)
    """

    def __init__(self, batch_size: int | None, hidden_size: int, ffn_hidden_size: int,
                 num_heads: int, seq_length: int, attention_dropout_rate: float = 0.1,
                 hidden_dropout_rate: float = 0.1, post_layernorm_residual: bool = False,
                 layernorm_compute_type: Any = mstype.float32,
                 softmax_compute_type: Any = mstype.float32,
                 param_init_type: Any = mstype.float32, hidden_act: Any = "gelu",
                 use_past: bool = False, moe_config: Any = None, parallel_config: Any = None):
        super().__init__()
        self.layernorm_dtype, self.post = layernorm_compute_type, post_layernorm_residual
        self.layernorm1 = _LayerNorm(hidden_size)
        self.layernorm2 = _LayerNorm(hidden_size)
        self.attention = MultiHeadAttention(
            batch_size, seq_length, seq_length, hidden_size, num_heads, hidden_dropout_rate,
            attention_dropout_rate, softmax_compute_type=softmax_compute_type,
            param_init_type=param_init_type, use_past=use_past)
        self.output = FeedForward(hidden_size, ffn_hidden_size, hidden_dropout_rate, hidden_act,
                                  _experts(moe_config), param_init_type=param_init_type)

    def construct(self, x: Tensor, input_mask: Tensor | None = None, init_reset: Any = True,
                  batch_valid_length: Any = None) -> tuple[Tensor, Any]:
        normed = _normed(self.layernorm1, x, self.layernorm_dtype)
        attended, present = self.attention(normed, normed, normed, input_mask)
        x = (normed if self.post else x) + attended
        return _fed(self, x), present


def _experts(moe_config: Any) -> int:
    return 1 if moe_config is None else moe_config.expert_num


def _normed(layer: Cell, x: Tensor, kind: Any) -> Tensor:
    return ops.cast(layer(ops.cast(x, kind)), x.dtype)


def _fed(layer: Any, x: Tensor) -> Tensor:
    normed = _normed(layer.layernorm2, x, layer.layernorm_dtype)
    return (normed if layer.post else x) + layer.output(normed)


class TransformerDecoderLayer(Cell):
    """As `TransformerEncoderLayer`, with attention to an encoder's result.

    Args:
        hidden_size, ffn_hidden_size: sizes outside and inside of the `FeedForward`.
        num_heads: how many attentions.
        batch_size, src_seq_length, tgt_seq_length: of no effect: inputs say it.
        attention_dropout_rate, hidden_dropout_rate: dropout.
        post_layernorm_residual: whether what goes around is taken behind the layer norm.
        use_past: must be False.
        layernorm_compute_type, softmax_compute_type, param_init_type: types.
        hidden_act: the activation's name, or a Cell's class.
        moe_config: a MoEConfig of one expert.
        parallel_config: kept, of no effect.

    Inputs:
        - **hidden_stats** - Tensor (B, T, hidden_size) or (B * T, hidden_size).
        - **decoder_mask** - Tensor (B, T, T), or None.
        - **encoder_output** - Tensor (B, S, hidden_size) or (B * S, hidden_size).
        - **memory_mask** - Tensor (B, T, S), or None.

    Outputs:
        A Tensor of the shape of `hidden_stats`, and keys and values of both attentions.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.transformer import TransformerDecoderLayer
        >>> net, x = TransformerDecoderLayer(8, 32, 2, 2, 4, 3), ms.ops.ones((2, 3, 8))
        >>> out, present = net(x, None, ms.ops.ones((2, 4, 8)), None)
        >>> out.shape, len(present)
        ((2, 3, 8), 4)
    """

    def __init__(self, hidden_size: int, ffn_hidden_size: int, num_heads: int,
                 batch_size: int | None, src_seq_length: int, tgt_seq_length: int,
                 attention_dropout_rate: float = 0.1, hidden_dropout_rate: float = 0.1,
                 post_layernorm_residual: bool = False, use_past: bool = False,
                 layernorm_compute_type: Any = mstype.float32,
                 softmax_compute_type: Any = mstype.float32,
                 param_init_type: Any = mstype.float32, hidden_act: Any = "gelu",
                 moe_config: Any = None, parallel_config: Any = None):
        super().__init__()
        self.layernorm_dtype, self.post = layernorm_compute_type, post_layernorm_residual

        def attention(source: int) -> MultiHeadAttention:
            return MultiHeadAttention(
                batch_size, tgt_seq_length, source, hidden_size, num_heads, hidden_dropout_rate,
                attention_dropout_rate, softmax_compute_type=softmax_compute_type,
                param_init_type=param_init_type, use_past=use_past)
        self.layernorm1 = _LayerNorm(hidden_size)
        self.layernorm2 = _LayerNorm(hidden_size)
        self.attention = attention(tgt_seq_length)
        self.cross_attention = attention(src_seq_length)
        self.cross_attention_layernorm = _LayerNorm(hidden_size)
        self.output = FeedForward(hidden_size, ffn_hidden_size, hidden_dropout_rate, hidden_act,
                                  _experts(moe_config), param_init_type=param_init_type)

    def construct(self, hidden_stats: Tensor, decoder_mask: Tensor | None = None,
                  encoder_output: Tensor | None = None, memory_mask: Tensor | None = None,
                  init_reset: Any = True, batch_valid_length: Any = None) -> tuple[Tensor, Any]:
        normed = _normed(self.layernorm1, hidden_stats, self.layernorm_dtype)
        attended, present = self.attention(normed, normed, normed, decoder_mask)
        x = (normed if self.post else hidden_stats) + attended
        if encoder_output is not None:
            normed = _normed(self.cross_attention_layernorm, x, self.layernorm_dtype)
            attended, cross = self.cross_attention(normed, encoder_output, encoder_output,
                                                   memory_mask)
            present = (*present, *cross)
            x = (normed if self.post else x) + attended
        return _fed(self, x), present


class TransformerEncoder(Cell):
    """`TransformerEncoderLayer` several times.

    Args:
        batch_size, seq_length: of no effect: inputs say it.
        num_layers: how many.
        hidden_size, ffn_hidden_size, num_heads: of each layer.
        attention_dropout_rate, hidden_dropout_rate, hidden_act, post_layernorm_residual: likewise.
        layernorm_compute_type, softmax_compute_type, param_init_type: likewise.
        lambda_func, offset, parallel_config: kept, of no effect.
        use_past: must be False.
        moe_config: a MoEConfig of one expert.

    Inputs:
        - **hidden_states** - Tensor (B, S, hidden_size) or (B * S, hidden_size).
        - **attention_mask** - Tensor (B, S, S), or None.

    Outputs:
        A Tensor of the shape of `hidden_states`, and a tuple of each layer's keys and values.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.transformer import TransformerEncoder
        >>> out, present = TransformerEncoder(2, 3, 8, 32, 5, 2)(ms.ops.ones((2, 5, 8)))
        >>> out.shape, len(present)
        ((2, 5, 8), 3)
    """

    def __init__(self, batch_size: int | None, num_layers: int, hidden_size: int,
                 ffn_hidden_size: int, seq_length: int, num_heads: int,
                 attention_dropout_rate: float = 0.1, hidden_dropout_rate: float = 0.1,
                 hidden_act: Any = "gelu", post_layernorm_residual: bool = False,
                 layernorm_compute_type: Any = mstype.float32,
                 softmax_compute_type: Any = mstype.float32,
                 param_init_type: Any = mstype.float32, lambda_func: Any = None, offset: int = 0,
                 use_past: bool = False, moe_config: Any = None, parallel_config: Any = None):
        super().__init__()
        self.num_layers = num_layers
        self.blocks = CellList([TransformerEncoderLayer(
            batch_size, hidden_size, ffn_hidden_size, num_heads, seq_length,
            attention_dropout_rate, hidden_dropout_rate, post_layernorm_residual,
            layernorm_compute_type, softmax_compute_type, param_init_type, hidden_act, use_past,
            moe_config) for _ in range(num_layers)])

    def construct(self, hidden_states: Tensor, attention_mask: Tensor | None = None,
                  init_reset: Any = True, batch_valid_length: Any = None) -> tuple[Tensor, Any]:
        present: tuple[Any, ...] = ()
        for block in self.blocks:
            hidden_states, found = block(hidden_states, attention_mask)
            present = (*present, found)
        return hidden_states, present


class TransformerDecoder(Cell):
    """`TransformerDecoderLayer` several times.

    Args:
        num_layers: how many.
        batch_size, src_seq_length, tgt_seq_length: of no effect: inputs say it.
        hidden_size, ffn_hidden_size, num_heads: of each layer.
        attention_dropout_rate, hidden_dropout_rate, post_layernorm_residual, hidden_act: likewise.
        layernorm_compute_type, softmax_compute_type, param_init_type: likewise.
        lambda_func, offset, parallel_config: kept, of no effect.
        use_past: must be False.
        moe_config: a MoEConfig of one expert.

    Inputs:
        - **hidden_states**, **attention_mask**, **encoder_output**, **memory_mask** - as a layer's.

    Outputs:
        A Tensor of the shape of `hidden_states`, and a tuple of each layer's keys and values.
    """

    def __init__(self, num_layers: int, batch_size: int | None, hidden_size: int,
                 ffn_hidden_size: int, src_seq_length: int, tgt_seq_length: int, num_heads: int,
                 attention_dropout_rate: float = 0.1, hidden_dropout_rate: float = 0.1,
                 post_layernorm_residual: bool = False,
                 layernorm_compute_type: Any = mstype.float32,
                 softmax_compute_type: Any = mstype.float32,
                 param_init_type: Any = mstype.float32, hidden_act: Any = "gelu",
                 lambda_func: Any = None, use_past: bool = False, offset: int = 0,
                 moe_config: Any = None, parallel_config: Any = None):
        super().__init__()
        self.num_layers = num_layers
        self.blocks = CellList([TransformerDecoderLayer(
            hidden_size, ffn_hidden_size, num_heads, batch_size, src_seq_length, tgt_seq_length,
            attention_dropout_rate, hidden_dropout_rate, post_layernorm_residual, use_past,
            layernorm_compute_type, softmax_compute_type, param_init_type, hidden_act,
            moe_config) for _ in range(num_layers)])

    def construct(self, hidden_states: Tensor, attention_mask: Tensor | None = None,
                  encoder_output: Tensor | None = None, memory_mask: Tensor | None = None,
                  init_reset: Any = True, batch_valid_length: Any = None) -> tuple[Tensor, Any]:
        present: tuple[Any, ...] = ()
        for block in self.blocks:
            hidden_states, found = block(hidden_states, attention_mask, encoder_output,
                                         memory_mask)
            present = (*present, found)
        return hidden_states, present


class Transformer(Cell):
    """An encoder and a decoder behind it; either may have no layers.

    Args:
        hidden_size, ffn_hidden_size, num_heads: of each layer.
        batch_size, src_seq_length, tgt_seq_length: of no effect: inputs say it.
        encoder_layers, decoder_layers: how many; a decoder needs an encoder.
        attention_dropout_rate, hidden_dropout_rate, hidden_act, post_layernorm_residual: likewise.
        layernorm_compute_type, softmax_compute_type, param_init_type: likewise.
        lambda_func, parallel_config: kept, of no effect.
        use_past: must be False.
        moe_config: a MoEConfig of one expert.

    Inputs:
        - **encoder_inputs**, **encoder_masks** - as `TransformerEncoder` takes them.
        - **decoder_inputs**, **decoder_masks**, **memory_mask** - as `TransformerDecoder` does.

    Outputs:
        The last layer's result, the encoder's keys and values, and the decoder's, None without one.

    Raises:
        ValueError: if there is a decoder without an encoder.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.transformer import Transformer
        >>> net = Transformer(8, 2, 32, 4, 3, encoder_layers=1, decoder_layers=2)
        >>> out, encoded, decoded = net(ms.ops.ones((2, 4, 8)), None, ms.ops.ones((2, 3, 8)))
        >>> out.shape, len(encoded), len(decoded)
        ((2, 3, 8), 1, 2)
    """

    def __init__(self, hidden_size: int, batch_size: int | None, ffn_hidden_size: int,
                 src_seq_length: int, tgt_seq_length: int, encoder_layers: int = 3,
                 decoder_layers: int = 3, num_heads: int = 2, attention_dropout_rate: float = 0.1,
                 hidden_dropout_rate: float = 0.1, hidden_act: Any = "gelu",
                 post_layernorm_residual: bool = False,
                 layernorm_compute_type: Any = mstype.float32,
                 softmax_compute_type: Any = mstype.float32,
                 param_init_type: Any = mstype.float32, lambda_func: Any = None,
                 use_past: bool = False, moe_config: Any = None, parallel_config: Any = None):
        super().__init__()
        if decoder_layers > 0 and encoder_layers <= 0:
            raise ValueError(f"For '{self.cls_name}', a decoder needs an encoder, but got "
                             f"{encoder_layers} and {decoder_layers} layers.")
        common = {
            "hidden_size": hidden_size, "batch_size": batch_size, "num_heads": num_heads,
            "ffn_hidden_size": ffn_hidden_size, "hidden_act": hidden_act, "use_past": use_past,
            "attention_dropout_rate": attention_dropout_rate, "moe_config": moe_config,
            "hidden_dropout_rate": hidden_dropout_rate, "param_init_type": param_init_type,
            "post_layernorm_residual": post_layernorm_residual,
            "layernorm_compute_type": layernorm_compute_type,
            "softmax_compute_type": softmax_compute_type}
        self.encoder = None if encoder_layers <= 0 else TransformerEncoder(
            num_layers=encoder_layers, seq_length=src_seq_length, **common)
        self.decoder = None if decoder_layers <= 0 else TransformerDecoder(
            num_layers=decoder_layers, src_seq_length=src_seq_length,
            tgt_seq_length=tgt_seq_length, **common)

    def construct(self, encoder_inputs: Tensor, encoder_masks: Tensor | None = None,
                  decoder_inputs: Tensor | None = None, decoder_masks: Tensor | None = None,
                  memory_mask: Tensor | None = None, init_reset: Any = True,
                  batch_valid_length: Any = None) -> tuple[Any, Any, Any]:
        output, encoded, decoded = encoder_inputs, None, None
        if self.encoder is not None:
            output, encoded = self.encoder(encoder_inputs, encoder_masks)
        if self.decoder is not None:
            output, decoded = self.decoder(decoder_inputs, decoder_masks, output, memory_mask)
        return output, encoded, decoded


def _get_lambda_func(total_layer: int | None = None) -> Any:
    """A function that puts no layer into a stage: strategies spread nothing here."""
    return lambda network, layer_id, offset, parallel_config, layers: None
