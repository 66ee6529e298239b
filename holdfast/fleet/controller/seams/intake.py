"""Input of the seam loop: reports of agents, signals and events of API clients, announced work."""

import asyncio

from holdfast.catalog import seam_signals
from holdfast.fleet.api.access import Caller
from holdfast.fleet.api.caller_quota import CallerQuota
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller.commands import PLANNED
from holdfast.fleet.incidents.fleet_time import FleetTime
from holdfast.fleet.incidents.ranks import SeamRanks
from holdfast.fleet.incidents.stops import StopWatch
from holdfast.fleet.incidents.views import PlannedWorksView, PlannedWorkView, SignalsRequest, SignalsTaken
from holdfast.fleet.incidents.window import SeamWindow
from holdfast.fleet.store import Store
from holdfast.model.records import CredentialKind, Role
from holdfast.model.signal import Event
from holdfast.model.wire.progress import WINDOW_SECONDS
from holdfast.model.wire.report import Report
from holdfast.runtime import clock, codec
from holdfast.seams.planned import PlannedWork

STEP = "job_step_seconds"
AGENTS_MAY_REPORT = ("job/", "path/", "pool/")
AGENT_SHARE, SITE_SHARE = 512, 50_000  # subjects with their signals
FORGOTTEN_SECONDS = 86_400.0  # announced work is listed for a day after its end


class SignalIntake:
    """Writes into the window. Used only on the event loop."""

    def __init__(self, window: SeamWindow, steps: StopWatch, ranks: SeamRanks, time: FleetTime) -> None:
        self._window, self._steps, self._ranks, self._time = window, steps, ranks, time
        self._shares: dict[tuple[CredentialKind, str], CallerQuota] = {}  # caller -> quota

    def take_report(self, report: Report) -> None:
        at, factor = self._time.lived(report.at), self._time.factor
        self._window.take_report(report, at)
        for about, name, seconds in self._ranks.ingest(report.node, report.progress, clock.now()):
            self._window.put(at, about, name, seconds * factor, WINDOW_SECONDS * factor)

    def reported(self, caller: Caller, ask: SignalsRequest) -> SignalsTaken:
        """Takes signals.

        An agent may report jobs, services and its own node; an operator or a site's program everything.
        """
        now = clock.now()
        if caller.role is Role.AGENT:
            own = f"node/{caller.name}/"
            for about in [one.subject for one in ask.signals] + [one.subject for one in ask.events]:
                if not about.startswith((*AGENTS_MAY_REPORT, own)):
                    raise Problem(403, f"the credential of {caller.name} cannot report on {about[:80]!r}")
        kind = CredentialKind.of(caller.role)
        share = AGENT_SHARE if kind is CredentialKind.NODE else SITE_SHARE
        known = self._shares.setdefault((kind, caller.name), CallerQuota(share))
        known.take([(one.subject, one.name) for one in ask.signals], len(ask.events), now)
        absurd = []
        for one in ask.signals:
            if why := seam_signals.implausible(one.name, one.value):
                absurd.append(f"{one.subject} {one.name}: {why}")
            else:
                at, cadence = self._time.lived(now - one.age_seconds), ask.cadence_seconds * self._time.factor
                self._window.put(at, one.subject, one.name, one.value, cadence)
                if one.name == STEP and one.subject.startswith("job/"):
                    self._steps.take_signal(one.subject, at, one.value, cadence)
        events = [
            Event(
                kind=one.kind,
                at=self._time.lived(now - one.age_seconds),
                text=one.text,
                subject=one.subject,
                detail={"version": one.version} if one.version else {},
            )
            for one in ask.events
        ]
        self._window.add_events(events, f"{kind.value}/{caller.name}")
        return SignalsTaken(taken=len(ask.signals) - len(absurd) + len(ask.events), absurd=tuple(absurd))


class AnnouncedWork:
    """Announced work of the last day and the future, as of the last read of the store."""

    def __init__(self, store: Store, time: FleetTime) -> None:
        self._store, self._time = store, time
        self._known: tuple[PlannedWorkView, ...] = ()

    @property
    def view(self) -> PlannedWorksView:
        return PlannedWorksView(planned=self._known)

    @property
    def lived(self) -> tuple[PlannedWork, ...]:
        """The announced work in fleet time."""
        return tuple(
            PlannedWork(
                name=one.name,
                subjects=one.subjects,
                start=self._time.lived(one.start),
                end=self._time.lived(one.end),
                what=one.what,
                source=one.source,
            )
            for one in self._known
        )

    async def read(self) -> None:
        documents = await asyncio.to_thread(self._store.seam_documents, PLANNED)
        known = [codec.decode(body, PlannedWorkView) for body in documents.values()]
        now = clock.now()
        self._known = tuple(one for one in known if one.end > now - FORGOTTEN_SECONDS)
