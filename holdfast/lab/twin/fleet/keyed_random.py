"""Reproducible random numbers: the same seed and key give the same number in any order.

So the faults of one node do not depend on when the controller sent an order to another.
"""

import math
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")
Key = str | int


class KeyedRandom:
    def __init__(self, seed: int) -> None:
        self._seed = str(seed)

    def uniform(self, *question: Key) -> float:
        """A uniform number above 0 and below 1."""
        text = "\0".join((self._seed, *map(str, question)))
        number = int.from_bytes(blake2b(text.encode(), digest_size=7).digest(), "big") >> 4
        return (number + 0.5) / 2**52

    def exponential(self, mean: float, *question: Key) -> float:
        return -mean * math.log(self.uniform(*question))

    def below(self, count: int, *question: Key) -> int:
        return int(self.uniform(*question) * count)

    def one_of(self, items: Sequence[T], weights: Sequence[float], *question: Key) -> T:
        left = self.uniform(*question) * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            left -= weight
            if left < 0:
                return item
        return items[-1]
