"""Seam: a question that no single domain can answer."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.scene import Scene


@dataclass(frozen=True, slots=True, kw_only=True)
class Seam:
    name: str
    asks: str  # the question, in an operator's words
    kinds: tuple[str, ...]  # of the findings it may lead to
    reads: tuple[str, ...]
    domains: tuple[str, ...]  # whose instruments it joins
    explain: Callable[[Scene], Iterable[CauseCandidate]]
    asked_first: bool = False  # it judges instruments: other seams do not see what it finds broken
