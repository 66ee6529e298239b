"""Seam: a question that no single domain can answer."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.scene import Scene


@dataclass(frozen=True, slots=True, kw_only=True)
class Seam:
    name: str
    asks: str  # the question, in an operator's words
    kinds: tuple[str, ...]  # kinds of its findings
    reads: tuple[str, ...]
    domains: tuple[str, ...]  # domains whose sensors it reads
    explain: Callable[[Scene], Iterable[CauseCandidate]]
    asked_first: bool = False  # it finds faulty sensors, which the other seams then ignore
