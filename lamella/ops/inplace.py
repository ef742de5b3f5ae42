"""Methods that change a Tensor in place, as functions."""

from __future__ import annotations

from .. import inplace_methods as methods
from ..faces import face
from .activation import _tanh_
from .special import _tensor_erfinv_

__all__ = ["bernoulli_", "erfinv_", "exponential_", "normal_", "put_", "random_", "tanh_",
           "uniform_", "zero_"]

bernoulli_ = face(methods.bernoulli_, "input:self, p=0.5, *, generator=None")
erfinv_ = face(_tensor_erfinv_, "input:self", "erfinv_")
exponential_ = face(methods.exponential_, "input:self, lambd=1, *, generator=None")
normal_ = face(methods.normal_, "input:self, mean=0, std=1, *, generator=None")
put_ = face(methods.put_, "input:self, index, source, accumulate=False")
random_ = face(methods.random_, "input:self, from_=0, to=None, *, generator=None")
tanh_ = face(_tanh_, "input:self", "tanh_")
uniform_ = face(methods.uniform_, "input:self, from_=0, to=1, *, generator=None")
zero_ = face(methods.zero_, "input:self")
