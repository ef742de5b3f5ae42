"""Settings of Ascend's compiler, which have no effect here."""

from ..choice import choice

__all__ = ["aclnn_cache", "aoe_job_type", "aoe_tune_mode", "op_compile"]

op_compile = choice("op_compile", True, False)
aclnn_cache = choice("aclnn_cache")
aoe_tune_mode = choice("aoe_tune_mode", "online", "offline")
aoe_job_type = choice("aoe_job_type", "1", "2")
