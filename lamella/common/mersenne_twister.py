"""The Mersenne Twister with what libstdc++ draws from it, so that orders are MindSpore's.

MindSpore 2.10 is built with a libstdc++ whose `uniform_int_distribution` divides by the largest
whole scale and rejects the rest; newer ones multiply, which gives other numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_MAX = 0xFFFFFFFF


class Mt19937:
    """``std::mt19937(seed)`` with the distributions that data pipelines and operators draw from.

    Examples:
        >>> Mt19937(5489).word()  # the generator's first number, by its definition
        3499211612
    """

    __slots__ = ("_bits", "_left", "_spare")

    def __init__(self, seed: int):
        self._bits = np.random.MT19937()
        self._bits._legacy_seeding(seed & _MAX)  # type: ignore[attr-defined]
        self._left: list[int] = []
        self._spare: list[float] = []

    def word(self) -> int:
        """The next 32 random bits."""
        if not self._left:
            self._left = self._bits.random_raw(64).tolist()
            self._left.reverse()
        return self._left.pop()

    def integer(self, low: int, high: int) -> int:
        """``std::uniform_int_distribution<>(low, high)``: both ends included."""
        size = high - low + 1
        if size == _MAX + 1:
            return low + self.word()
        scale = _MAX // size
        past = size * scale
        word = self.word()
        while word >= past:
            word = self.word()
        return low + word // scale

    def sample(self, size: int, count: int) -> list[int]:
        """``std::sample`` of `count` of the numbers below `size`, which keep their order.

        It draws two numbers as one, of the product of their ranges, while there are two.
        """
        found: list[int] = []
        left = size
        while len(found) < count:
            drawn = divmod(self.integer(0, left * (left - 1) - 1), left - 1) if left > 1 else (
                self.integer(0, 0),)
            for number in drawn:
                if len(found) < count and number < count - len(found):
                    found.append(size - left)
                left -= 1
        return found

    def float32(self, low: float, high: float) -> float:
        """``std::uniform_real_distribution<float>(low, high)``."""
        ratio = np.float32(self.word()) * np.float32(2.0**-32)
        if ratio >= 1:
            ratio = np.nextafter(np.float32(1), np.float32(0))
        first, last = np.float32(low), np.float32(high)
        return float(ratio * (last - first) + first)

    def canonical(self) -> float:
        """``std::generate_canonical<double, 53>``: in [0, 1), of two words."""
        ratio = (self.word() + self.word() * 4294967296.0) / 18446744073709551616.0
        return min(ratio, float(np.nextafter(1.0, 0.0)))

    def float64(self, low: float, high: float) -> float:
        """``std::uniform_real_distribution<double>(low, high)``."""
        return self.canonical() * (high - low) + low

    def bernoulli(self, chance: float) -> bool:
        """``std::bernoulli_distribution(chance)``."""
        return self.canonical() < chance

    def normal(self, mean: float, deviation: float) -> float:
        """``std::normal_distribution<float>``: Marsaglia's polar method makes two at a time."""
        if self._spare:
            return float(np.float32(self._spare.pop()) * np.float32(deviation) + np.float32(mean))
        one = np.float32(1)
        while True:
            x = np.float32(2) * np.float32(self.float32(0, 1)) - one
            y = np.float32(2) * np.float32(self.float32(0, 1)) - one
            square = x * x + y * y
            if 0 < square <= 1:
                break
        factor = np.sqrt(np.float32(-2) * np.log(square) / square)
        self._spare.append(float(x * factor))
        return float(y * factor * np.float32(deviation) + np.float32(mean))

    def gamma(self, alpha: float, spare: list[float] | None = None) -> float:
        """``std::gamma_distribution<float>(alpha, 1)`` (Marsaglia and Tsang 2000).

        `spare` is what the normal distribution in it has made too many: a list that one
        distribution keeps from draw to draw. Without it, the distribution is made for one number.
        """
        one, kept = np.float32(1), self._spare
        self._spare = [] if spare is None else spare
        d = np.float32(alpha + 1 if alpha < 1 else alpha) - one / np.float32(3)
        c = one / np.sqrt(np.float32(9) * d)
        while True:
            x = np.float32(self.normal(0, 1))
            v = one + c * x
            if v <= 0:
                continue
            v, u = v * v * v, self.float32(0, 1)
            with np.errstate(divide="ignore"):  # of 0, which is minus infinity
                if u <= 1 - 0.0331 * float(x)**4 or np.log(u) <= 0.5 * x * x + d * (
                        one - v + np.log(v)):
                    break
        self._spare = kept
        found = d * v
        if alpha < 1:
            while not (u := self.float32(0, 1)):
                pass
            found *= np.float32(u) ** (one / np.float32(alpha))
        return float(found)

    def shuffle(self, items: list[Any]) -> None:
        """``std::shuffle``, in place."""
        items[:] = [items[place] for place in self.permutation(len(items)).tolist()]

    def permutation(self, count: int) -> np.ndarray:
        """What ``std::shuffle`` makes of 0, 1, ...: two swaps a draw where both fit in 32 bits."""
        if count < 2:
            return np.arange(count)
        if _MAX // count < count:
            later = self._integers(np.arange(2, count + 1, dtype=np.uint64))
            return _swapped(np.concatenate([np.zeros(1, np.int64), later.astype(np.int64)]))
        first = [0] if count % 2 else [0, self.integer(0, 1)]
        tops = np.arange(len(first) + 1, count, 2, dtype=np.uint64)
        pairs = np.divmod(self._integers(tops * (tops + np.uint64(1))), tops + np.uint64(1))
        return _swapped(np.concatenate([first, np.stack(pairs, 1).ravel()]).astype(np.int64))

    def _integers(self, sizes: np.ndarray) -> np.ndarray:
        """`integer` from 0 to below each of these sizes."""
        scales = _MAX // sizes
        pasts, out, done = sizes * scales, np.empty(len(sizes), np.uint64), 0
        while done < len(sizes):
            words = self._words(min(4096, len(sizes) - done))
            found, place = np.arange(done, done + len(words)), None
            # each word is tried for one number; a rejected word leaves its number to the next word
            while place is None or (found != place).any():
                place = found
                good = words < pasts[place]
                found = done + np.cumsum(good) - good
            out[place[good]] = words[good] // scales[place[good]]
            done += int(good.sum())
        return out

    def _words(self, count: int) -> np.ndarray:
        """`word`, up to `count` at once."""
        if not self._left:
            return self._bits.random_raw(count)
        words = self._left[:-count - 1:-1]
        del self._left[-len(words):]
        return np.array(words, np.uint64)

    def state(self) -> dict[str, Any]:
        """What `restore` needs to go on from here."""
        return {"bits": self._bits.state, "left": list(self._left), "spare": list(self._spare)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken."""
        self._bits.state = state["bits"]
        self._left, self._spare = list(state["left"]), list(state["spare"])


def _swapped(slots: np.ndarray) -> np.ndarray:
    """0, 1, ... after each in turn was swapped with what then was at its slot, `slots[i] <= i`.

    All at once: what is at a slot is what came there with the swap before that had this slot; if
    there was none, what its own swap brought there, and so on back.
    """
    count = len(slots)
    places = np.arange(count)
    by_slot = np.sort(slots * count + places)  # by slot, and in it by time
    at, when = np.divmod(by_slot, count)
    again = at[1:] == at[:-1]
    source, known = slots.copy(), slots == places
    source[when[1:][again]], known[when[1:][again]] = when[:-1][again], True
    while not known.all():
        source, known = np.where(known, source, source[source]), known | known[source]
    last = np.append(~again, True)
    source[at[last]] = when[last]
    return source


class Mt19937x64:
    """``std::mt19937_64(seed)``, which orders the rows of `shuffle`.

    Examples:
        >>> Mt19937x64(5489).word()
        14514284786278117030
    """

    _SIZE, _MIDDLE = 312, 156

    def __init__(self, seed: int):
        words = [seed & 0xFFFFFFFFFFFFFFFF]
        for i in range(1, self._SIZE):
            last = words[-1]
            words.append((6364136223846793005 * (last ^ last >> 62) + i) & 0xFFFFFFFFFFFFFFFF)
        self.words, self.place = words, self._SIZE

    def word(self) -> int:
        """The next 64 random bits."""
        if self.place == self._SIZE:
            self._twist()
        x = self.words[self.place]
        self.place += 1
        x ^= x >> 29 & 0x5555555555555555
        x ^= x << 17 & 0x71D67FFFEDA60000
        x ^= x << 37 & 0xFFF7EEE000000000
        return x ^ x >> 43

    def _twist(self) -> None:
        words = self.words
        for i in range(self._SIZE):
            x = words[i] & 0xFFFFFFFF80000000 | words[(i + 1) % self._SIZE] & 0x7FFFFFFF
            odd = 0xB5026F5AA96619E9 if x & 1 else 0
            words[i] = words[(i + self._MIDDLE) % self._SIZE] ^ x >> 1 ^ odd
        self.place = 0

    def state(self) -> dict[str, Any]:
        """What `restore` needs to go on from here."""
        return {"words": list(self.words), "place": self.place}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken."""
        self.words, self.place = list(state["words"]), state["place"]


def weighted(generator: Mt19937, weights: np.ndarray, count: int) -> list[int]:
    """`count` draws of ``std::discrete_distribution`` with these weights."""
    shares = weights.astype(np.float32).astype(np.float64)
    sums = np.cumsum(shares / shares.sum())
    sums[-1] = 1.0
    return [int(np.searchsorted(sums, generator.canonical(), "left")) for _ in range(count)]


def exponential(generator: Mt19937, weights: np.ndarray, count: int) -> list[int]:
    """`count` different numbers, by exponential keys divided by the weights, smallest first."""
    drawn = [-np.log1p(-generator.canonical()) for _ in weights]  # also where a weight is 0
    keys = [key / weight if weight else np.inf
            for key, weight in zip(drawn, weights.astype(np.float64), strict=True)]
    return np.argsort(keys, kind="stable")[:count].tolist()
