"""Service protocol: what the API needs from the controller. Writes go to the one writer, reads to the store."""

from collections.abc import Awaitable, Sequence
from typing import Protocol

from litestar.di import NamedDependency
from litestar.params import SkipValidation

from holdfast.fleet.api.access import Access, Caller
from holdfast.fleet.api.board import Board
from holdfast.fleet.api.oidc import OidcClient
from holdfast.fleet.api.views.common import (
    Enrolled,
    EnrolRequest,
    NodeView,
    OperatorRequest,
    OrdersView,
    RevokeRequest,
    TicketRequest,
    TokenMade,
    TokenRequest,
    VouchRequest,
)
from holdfast.fleet.api.views.drills import DrillPlayback
from holdfast.fleet.api.views.series import SignalWindow
from holdfast.fleet.facility.promql_range import PromqlRange
from holdfast.fleet.inbox.figures import Figures, FigureWindow
from holdfast.fleet.inbox.incident_figures import IncidentFigures
from holdfast.fleet.inbox.states import ItemCommand, ItemView
from holdfast.fleet.incidents.views import PlannedWorksView, PlannedWorkView, SeamsView, SignalsRequest, SignalsTaken
from holdfast.fleet.jobs.views import TrainingDetail, TrainingsView
from holdfast.fleet.probe_sessions.views import ProbeRunRequest, ProbeRunView, ProbesView
from holdfast.fleet.store import Store
from holdfast.model.assets import AssetRecord
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import EventKind
from holdfast.model.records import AuditEntry, PendingNode
from holdfast.model.wire.order import Ack, Admission
from holdfast.model.wire.report import Report


class Service(Protocol):
    """Every method answers after the commit, and raises Problem when the request is not granted."""

    @property
    def store(self) -> Store:
        """The store, for reading only."""
        ...

    @property
    def board(self) -> Board: ...

    @property
    def access(self) -> Access: ...

    @property
    def console(self) -> str:
        """The directory of the console's files; '' if it is not built."""
        ...

    @property
    def drills(self) -> DrillPlayback: ...

    @property
    def waiting(self) -> int:
        """Number of commands that wait for the writer."""
        ...

    def take(self, caller: Caller, reports: Sequence[Report]) -> Awaitable[Ack]: ...

    def enrol(self, ask: EnrolRequest, address: str) -> Awaitable[Enrolled]: ...

    def vouch(self, ask: VouchRequest, caller: Caller) -> Awaitable[PendingNode]: ...

    def renew(self, caller: Caller) -> Awaitable[Enrolled]: ...

    def admission(self, caller: Caller) -> Awaitable[Admission]: ...

    def orders(self, node: str, most: int) -> Awaitable[OrdersView]:
        """Open orders to agents, of one node or of all ('')."""
        ...

    def operator_request(
        self, node: str, kind: EventKind, request: OperatorRequest, caller: Caller
    ) -> Awaitable[NodeView]: ...

    def forget_node(self, node: str, request: OperatorRequest, caller: Caller) -> Awaitable[None]: ...

    def asset_record(self, node: str) -> AssetRecord: ...

    def note_ticket(self, node: str, ask: TicketRequest, caller: Caller) -> Awaitable[AssetRecord]: ...

    def digests(self, node: str) -> tuple[tuple[float, bytes], ...]:
        """The latest digests, oldest first, with the agent's time."""
        ...

    def probes(self) -> Awaitable[ProbesView]: ...

    def begin_run(self, ask: ProbeRunRequest, caller: Caller) -> Awaitable[ProbeRunView]: ...

    def show_run(self, number: int) -> Awaitable[ProbeRunView]: ...

    def stop_run(self, number: int, caller: Caller) -> Awaitable[ProbeRunView]: ...

    def trainings(self) -> Awaitable[TrainingsView]: ...

    def training(self, name: str) -> Awaitable[TrainingDetail]: ...

    def make_token(self, ask: TokenRequest, caller: Caller) -> Awaitable[TokenMade]: ...

    def revoke(self, ask: RevokeRequest, caller: Caller) -> Awaitable[int]: ...

    def seams_view(self) -> SeamsView: ...

    def receive_signals(self, caller: Caller, ask: SignalsRequest) -> SignalsTaken:
        """Puts signals into the window of the seams."""
        ...

    @property
    def address(self) -> str:
        """The address of the page."""
        ...

    @property
    def oidc(self) -> OidcClient | None:
        """The OpenID Connect client; None if it is not configured."""
        ...

    def open_session(self, caller: Caller) -> Awaitable[tuple[str, float]]:
        """A new secret for a signed-in browser, and when it expires."""
        ...

    def close_session(self, token: str) -> Awaitable[None]: ...

    @property
    def figures(self) -> FigureWindow: ...

    async def figures_now(self) -> Figures: ...

    @property
    def seams(self) -> SignalWindow | None:
        """The seam service; None without [seams] in the configuration."""
        ...

    @property
    def prometheus(self) -> PromqlRange | None:
        """The source of history that is older than the window; None if it is not configured."""
        ...

    @property
    def currency(self) -> str: ...

    def incident_figures(self, incident: Incident) -> IncidentFigures:
        """Duration, owner and cost of an incident."""
        ...

    def past_items(self, hours: float) -> Awaitable[list[ItemView]]:
        """Inbox items that ended in the last hours."""
        ...

    def past_item(self, key: str) -> Awaitable[ItemView | None]: ...

    def inbox(self) -> Awaitable[list[ItemView]]:
        """Items that need an operator, worst first, with the operators' updates."""
        ...

    def act_on_item(self, command: ItemCommand, caller: Caller) -> Awaitable[ItemView]: ...

    def planned(self) -> Awaitable[PlannedWorksView]: ...

    def announce(self, work: PlannedWorkView, caller: Caller) -> Awaitable[PlannedWorksView]: ...

    def withdraw(self, name: str, caller: Caller) -> Awaitable[PlannedWorksView]: ...

    def note(self, entry: AuditEntry) -> None:
        """Records a refused request in the audit log; the caller does not wait."""
        ...


ServiceDep = NamedDependency[SkipValidation[Service]]  # the type under which routes receive the service
