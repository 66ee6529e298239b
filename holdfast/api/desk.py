"""What the API needs of the controller behind it: wishes go to the one writer, questions to the store."""

from collections.abc import Awaitable, Sequence
from typing import Annotated, Protocol

from litestar.params import Dependency

from holdfast.api.access import Access, Caller
from holdfast.api.board import Board
from holdfast.api.drill_views import DrillRoom
from holdfast.api.job_views import TrainingDetail, TrainingsView
from holdfast.api.probe_views import ProbeRunAsk, ProbeRunView, ProbesView
from holdfast.api.seam_views import SeamsView, SignalsAsk, SignalsTaken
from holdfast.api.views import Ack, EnrolAsk, Enrolled, NodeView, TokenAsk, TokenMade, VerdictView, Wish
from holdfast.model.life import Happening
from holdfast.model.report import Report
from holdfast.store import Store
from holdfast.store.words import AuditEntry


class Desk(Protocol):
    """Every method answers after the commit, and raises Problem when the wish is not granted."""

    @property
    def store(self) -> Store:
        """For questions only."""
        ...

    @property
    def board(self) -> Board: ...

    @property
    def access(self) -> Access: ...

    @property
    def console(self) -> str:
        """The directory of the console's files, '' if it is not built."""
        ...

    @property
    def drills(self) -> DrillRoom: ...

    @property
    def waiting(self) -> int:
        """How much the writer still has to do."""
        ...

    def take(self, caller: Caller, reports: Sequence[Report]) -> Awaitable[Ack]: ...

    def enrol(self, ask: EnrolAsk) -> Awaitable[Enrolled]: ...

    def renew(self, caller: Caller) -> Awaitable[Enrolled]: ...

    def wish(self, node: str, kind: Happening, wish: Wish, caller: Caller) -> Awaitable[NodeView]: ...

    def digests(self, node: str) -> tuple[tuple[float, bytes], ...]:
        """The last ones that were heard, oldest first, with the agent's time."""
        ...

    def verdicts(self, node: str) -> Awaitable[tuple[VerdictView, ...]]: ...

    def probes(self) -> Awaitable[ProbesView]: ...

    def begin_run(self, ask: ProbeRunAsk, caller: Caller) -> Awaitable[ProbeRunView]: ...

    def show_run(self, number: int) -> Awaitable[ProbeRunView]: ...

    def stop_run(self, number: int, caller: Caller) -> Awaitable[ProbeRunView]: ...

    def trainings(self) -> Awaitable[TrainingsView]: ...

    def training(self, name: str) -> Awaitable[TrainingDetail]: ...

    def make_token(self, ask: TokenAsk, caller: Caller) -> Awaitable[TokenMade]: ...

    def revoke(self, target: str, caller: Caller) -> Awaitable[int]: ...

    def seams_view(self) -> SeamsView: ...

    def tell_signals(self, caller: Caller, ask: SignalsAsk) -> SignalsTaken:
        """Into the window of the seams."""
        ...

    def note(self, entry: AuditEntry) -> None:
        """For the audit log, of a request that was refused; nobody waits for it."""
        ...


Asked = Annotated[Desk, Dependency(skip_validation=True)]  # how a route takes it: what it is was settled at start
