"""BleuScore: how many word sequences a translation shares with references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core import checks as check
from .metric import Metric, no_samples, rearrange_inputs

__all__ = ["BleuScore"]


class BleuScore(Metric):
    """The BLEU score of a corpus (Papineni et al. 2002).

    Args:
        n_gram: the longest word sequences that count, 1 to 4.
        smooth: whether to add 1 to the counts (Lin and Och 2004).

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> candidate = [["i", "have", "a", "pen", "on", "my", "desk"]]
        >>> references = [[["i", "have", "a", "pen", "in", "my", "desk"],
        ...                ["there", "is", "a", "pen", "on", "the", "desk"]]]
        >>> print(ms.train.BleuScore()(candidate, references))
        0.5946035575013605
    """

    def __init__(self, n_gram: int = 4, smooth: bool = False):
        super().__init__()
        self.n_gram = check.check_value_type("n_gram", n_gram, [int], "BleuScore")
        if not 1 <= n_gram <= 4:
            raise ValueError(f"For 'BleuScore', 'n_gram' must be 1 to 4, but got {n_gram}.")
        self.smooth = check.check_value_type("smooth", smooth, [bool], "BleuScore")
        self.clear()

    def clear(self) -> None:
        """Forget all batches."""
        self._numerator = np.zeros(self.n_gram)
        self._denominator = np.zeros(self.n_gram)
        self._c = self._r = 0.0
        self._is_update = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Add sentences: a list of lists of words, and for each a list of references."""
        self._count(inputs, 2, "candidate_corpus, reference_corpus")
        candidates, references = inputs
        if len(candidates) != len(references):
            raise ValueError(f"For 'BleuScore.update', there must be references for each candidate,"
                             f" but got {len(candidates)} and {len(references)}.")
        for candidate, own in zip(candidates, references, strict=True):
            self._c += len(candidate)
            self._r += min((len(r) for r in own), key=lambda n: abs(len(candidate) - n))
            found, known = self._grams(candidate), Counter()
            for reference in own:
                known |= self._grams(reference)
            for gram, count in (found & known).items():
                self._numerator[len(gram) - 1] += count
            for gram, count in found.items():
                self._denominator[len(gram) - 1] += count
        self._is_update = True

    def _grams(self, words: Sequence[str]) -> Counter:
        return Counter(tuple(words[i:i + n]) for n in range(1, self.n_gram + 1)
                       for i in range(len(words) - n + 1))

    def eval(self) -> Any:
        """The score."""
        if not self._is_update:
            raise no_samples(self)
        if self._numerator.min() == 0:
            return np.array(0.0)
        one = float(self.smooth)
        shares = (self._numerator + one) / (self._denominator + one)
        short = 1.0 if self._c > self._r else np.exp(1 - self._r / self._c)
        return short * np.exp(np.log(shares).mean())
