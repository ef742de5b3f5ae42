"""``mindspore.parallel._transformer`` (before 2.0 ``mindspore.nn.transformer``).

Networks compute the same on any number of processes: the strategies of a parallel configuration
are checked and kept, and spread nothing. Mixtures of experts, caches for one token at a time
(``use_past``) and fixed sparse attention raise an error when they are asked for.
"""

from .attention import MultiHeadAttention
from .blocks import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from .configs import (
    EmbeddingOpParallelConfig,
    MoEConfig,
    MoEParallelConfig,
    OpParallelConfig,
    TransformerOpParallelConfig,
    TransformerRecomputeConfig,
)
from .inputs import AttentionMask, VocabEmbedding
from .layers import FeedForward, FixedSparseAttention
from .loss import CrossEntropyLoss

__all__ = [
    "AttentionMask", "CrossEntropyLoss", "EmbeddingOpParallelConfig", "FeedForward",
    "FixedSparseAttention", "MoEConfig", "MoEParallelConfig", "MultiHeadAttention",
    "OpParallelConfig", "Transformer", "TransformerDecoder", "TransformerDecoderLayer",
    "TransformerEncoder", "TransformerEncoderLayer",
    "TransformerOpParallelConfig", "TransformerRecomputeConfig", "VocabEmbedding",
]
