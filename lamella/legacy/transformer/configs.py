"""Settings of how a Transformer is spread over processes, with their checks."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from ...core import checks

__all__ = ["EmbeddingOpParallelConfig", "MoEConfig", "MoEParallelConfig", "OpParallelConfig",
           "TransformerOpParallelConfig", "TransformerRecomputeConfig", "default_dpmp_config",
           "default_embedding_parallel_config", "default_moe_config", "default_moeparallel_config",
           "default_transformer_config", "default_transformer_recompute_config"]


class _Config:
    """What the records have in common: each field is checked by the type of its default."""

    def __setattr__(self, name: str, value: Any) -> None:
        default = type(self).__dict__.get(name)
        if isinstance(default, bool):
            checks.check_bool(value, name, type(self).__name__)
        elif isinstance(default, int):
            checks.check_positive_int(value, name, type(self).__name__)
        object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, those of records inside too."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return {name: value.to_dict() if isinstance(value, _Config) else value
                for name, value in found.items()}


@dataclass
class OpParallelConfig(_Config):
    """Into how many parts the batch and the weights are cut.

    Args:
        data_parallel, model_parallel: ints of 1 or more.

    Raises:
        TypeError: if one is no int.
        ValueError: if one is below 1.

    Examples:
        >>> from lamella.legacy.transformer import OpParallelConfig
        >>> OpParallelConfig(2).to_dict()
        {'data_parallel': 2, 'model_parallel': 1}
    """

    data_parallel: int = 1
    model_parallel: int = 1


@dataclass
class MoEParallelConfig(OpParallelConfig):
    """As `OpParallelConfig`, with the parts that experts are cut into."""

    data_parallel: int = 1
    model_parallel: int = 1
    expert_parallel: int = 1

    @property
    def dpmp(self) -> OpParallelConfig:
        """The parts of what isn't an expert."""
        return OpParallelConfig(self.data_parallel, self.model_parallel)


@dataclass
class EmbeddingOpParallelConfig(OpParallelConfig):
    """As `OpParallelConfig`, and whether an embedding's table stays whole."""

    data_parallel: int = 1
    model_parallel: int = 1
    vocab_emb_dp: bool = True

    @property
    def dp_mp_config(self) -> OpParallelConfig:
        """The parts alone."""
        return OpParallelConfig(self.data_parallel, self.model_parallel)


@dataclass
class TransformerRecomputeConfig(_Config):
    """What is computed again in the backward pass: kept, of no effect (see `Cell.recompute`)."""

    recompute: bool = False
    parallel_optimizer_comm_recompute: bool = False
    mp_comm_recompute: bool = True
    recompute_slice_activation: bool = False


@dataclass
class TransformerOpParallelConfig(_Config):
    """The whole configuration of a Transformer.

    Args:
        data_parallel, model_parallel, expert_parallel, pipeline_stage, micro_batch_num: parts.
        recompute: a TransformerRecomputeConfig or a bool.
        use_seq_parallel, optimizer_shard, vocab_emb_dp: bools.
        gradient_aggregation_group: an int.

    Raises:
        TypeError: if one has a wrong type.
        ValueError: if an int is below 1.

    Examples:
        >>> from lamella.legacy.transformer import TransformerOpParallelConfig
        >>> TransformerOpParallelConfig(model_parallel=2).dp_mp_config
        OpParallelConfig(data_parallel=1, model_parallel=2)
    """

    data_parallel: int = 1
    model_parallel: int = 1
    expert_parallel: int = 1
    pipeline_stage: int = 1
    micro_batch_num: int = 1
    recompute: Any = field(default_factory=TransformerRecomputeConfig)
    use_seq_parallel: bool = False
    optimizer_shard: bool = False
    gradient_aggregation_group: int = 4
    vocab_emb_dp: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.recompute, (bool, TransformerRecomputeConfig)):
            raise TypeError(f"For 'TransformerOpParallelConfig', 'recompute' must be a "
                            f"TransformerRecomputeConfig or a bool, but got {self.recompute!r}.")

    @property
    def dp_mp_config(self) -> OpParallelConfig:
        """The parts of a layer."""
        return OpParallelConfig(self.data_parallel, self.model_parallel)

    @property
    def moe_parallel_config(self) -> MoEParallelConfig:
        """The parts of a layer with experts."""
        return MoEParallelConfig(self.data_parallel, self.model_parallel, self.expert_parallel)

    @property
    def embedding_dp_mp_config(self) -> EmbeddingOpParallelConfig:
        """The parts of an embedding."""
        return EmbeddingOpParallelConfig(self.data_parallel, self.model_parallel,
                                         self.vocab_emb_dp)


@dataclass
class MoEConfig(_Config):
    """A mixture of experts; only one expert, which is none at all, can be asked for here.

    Raises:
        NotImplementedError: if `expert_num` is above 1.
    """

    expert_num: int = 1
    capacity_factor: float = 1.1
    aux_loss_factor: float = 0.05
    num_experts_chosen: int = 1
    expert_group_size: int | None = None
    group_wise_a2a: bool = False
    comp_comm_parallel: bool = False
    comp_comm_parallel_degree: int = 2

    def __post_init__(self) -> None:
        if self.expert_num > 1:
            raise NotImplementedError(
                f"For 'MoEConfig', mixtures of experts of older versions aren't in Lamella; "
                f"'expert_num' must be 1, but got {self.expert_num}.")


default_dpmp_config = OpParallelConfig()
default_embedding_parallel_config = EmbeddingOpParallelConfig()
default_moe_config = MoEConfig()
default_moeparallel_config = MoEParallelConfig()
default_transformer_config = TransformerOpParallelConfig()
default_transformer_recompute_config = TransformerRecomputeConfig()


def _check_config(config: Any) -> None:
    """Whether `config` is one of these, so that programs may ask."""
    if not isinstance(config, _Config):
        raise TypeError(f"'parallel_config' must be a parallel configuration, but got {config!r}.")


def _check_moe_config(moe_config: Any = None, parallel_config: Any = None) -> None:
    if not isinstance(moe_config, MoEConfig):
        raise TypeError(f"'moe_config' must be a MoEConfig, but got {moe_config!r}.")
