"""The part of the controller's transaction that the job services use."""

from collections.abc import Sequence
from typing import Protocol

from holdfast.fleet.decisions.fleet import Fleet
from holdfast.model.job import Job
from holdfast.model.records import LifecycleStep, Training


class JobStore(Protocol):
    def trainings(self, most: int, /) -> list[Training]: ...

    def save_trainings(self, made: Sequence[Training], /) -> None: ...

    def jobs(self, node: str | None, since: float, most: int, /) -> list[Job]: ...

    def save_jobs(self, made: Sequence[Job], /) -> None: ...

    def newest_report(self, node: str, session: str, /) -> int: ...


class JobTransaction(Protocol):
    @property
    def store(self) -> JobStore: ...

    @property
    def fleet(self) -> Fleet: ...

    @property
    def epoch(self) -> int: ...

    @property
    def now(self) -> float: ...

    def decide(self, steps: Sequence[LifecycleStep], /) -> None: ...
