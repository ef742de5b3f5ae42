"""Distributions: their probabilities, moments, entropies, divergences and random numbers."""

from .base import Distribution
from .discrete import Bernoulli, Categorical, Geometric, Poisson
from .gamma import Beta, Exponential, Gamma
from .location import Cauchy, Laplace, Logistic, StudentT
from .normal import HalfNormal, Normal
from .transformed import Gumbel, LogNormal, TransformedDistribution
from .uniform import Uniform

__all__ = ["Bernoulli", "Beta", "Categorical", "Cauchy", "Distribution", "Exponential", "Gamma",
           "Geometric", "Gumbel", "HalfNormal", "Laplace", "LogNormal", "Logistic", "Normal",
           "Poisson", "StudentT", "TransformedDistribution", "Uniform"]
