"""Probe runs that an operator requested: several nodes, one of which leads and reports for all. Pure.

Runs are in memory only, like sessions: a controller forgets runs when it restarts, and agents end at their deadline.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from holdfast.fleet.probe_sessions.sessions import VERB, NewKey
from holdfast.model.lifecycle import NodeState, Stage
from holdfast.model.wire.order import Order
from holdfast.model.wire.probe import LONGEST_RUN_SECONDS, Participant, ProbePolicy, ProbeRequest, SweepRequest
from holdfast.model.wire.report import OrderOutcome
from holdfast.model.wire.sweep import SweepReport

PROBED_STAGES = (Stage.READY, Stage.SPARE, Stage.QUARANTINED)
MOST_ENDED = 16
MOST_NODES = 128
SET_UP = "set-up failed"

_decoder = msgspec.json.Decoder(SweepReport)


@dataclass(slots=True, eq=False)
class ProbeRun:
    number: int
    nodes: tuple[str, ...]
    request: SweepRequest
    reason: str
    key: str
    since: float
    waits_since: float  # time since which the run waits for a leader
    leader: str = ""  # the first node that fetched its order, so its agent is alive
    orders: dict[str, Order] = field(default_factory=dict)  # orders sent so far
    unable: dict[str, str] = field(default_factory=dict)  # node that cannot take part -> why
    at: str = ""  # the current step, as the leader reports it
    ended: float | None = None
    report: SweepReport | None = None


class ProbeRuns:
    def __init__(self, nodes: Mapping[str, NodeState], number: Callable[[float], int], new_key: NewKey) -> None:
        self._nodes, self._number, self._new_key = nodes, number, new_key
        self._runs: dict[int, ProbeRun] = {}
        self._of: dict[str, ProbeRun] = {}  # node -> its run
        self._cancelled: dict[str, list[int]] = {}

    def __contains__(self, node: str) -> bool:
        return node in self._of

    def under_way(self) -> list[ProbeRun]:
        return [run for run in self._runs.values() if run.ended is None]

    def get(self, number: int) -> ProbeRun | None:
        return self._runs.get(number)

    def refusal(self, names: Sequence[str]) -> str:
        """Why these nodes cannot be probed; '' if they can."""
        if not 2 <= len(set(names)) == len(names) <= MOST_NODES:
            return f"expected 2 to {MOST_NODES} different nodes, found {len(set(names))}"
        return next((why for name in names if (why := self._refusal_of(name))), "")

    def _refusal_of(self, name: str) -> str:
        node = self._nodes.get(name)
        if node is None:
            return f"no node is called {name[:80]!r}"
        if node.jobs or node.stage is Stage.ALLOCATED:
            work = f"job {min(node.jobs)} runs on it" if node.jobs else "it is allocated"
            return f"{name}: {work}: a probe would take its bandwidth"
        if node.stage not in PROBED_STAGES:
            return f"{name} is {node.stage.value}: only nodes that are ready, spare or quarantined are probed"
        if node.twin:
            return f"{name} is simulated: it has no agent that could probe"
        return f"{name} is in run {self._of[name].number} already" if name in self else ""

    def begin(self, names: Sequence[str], request: SweepRequest, reason: str, now: float) -> ProbeRun:
        run = ProbeRun(self._number(now), tuple(names), request, reason, self._new_key(), now, now)
        self._runs[run.number] = run
        self._of.update(dict.fromkeys(names, run))
        for old in [one.number for one in self._runs.values() if one.ended is not None][:-MOST_ENDED]:
            del self._runs[old]
        return run

    def orders_for(self, node: str, policy: ProbePolicy, now: float) -> tuple[Order, ...]:
        """The orders for a node, sent once. The first node that fetches its order leads."""
        run = self._of.get(node)
        if run is None or node in run.unable:
            return ()
        if self._needed(node):
            self._release(run, node, now)
        if node in run.orders or node in run.unable:
            return ()
        run.leader = run.leader or node
        request = self._request(run, node, policy)
        run.orders[node] = Order(id=self._number(now), verb=VERB, reason=run.reason, probe=request)
        return (run.orders[node],)

    def _request(self, run: ProbeRun, node: str, policy: ProbePolicy) -> ProbeRequest:
        leads = node == run.leader
        return ProbeRequest(
            peer="" if leads else run.leader,
            rank=0 if leads else 1,
            address=self._participant(node).address,
            master=self._participant(run.leader).address.partition(",")[0] or run.leader,
            port=policy.port,
            bytes=run.request.pair_bytes,
            seconds=policy.timeout_seconds,
            key=run.key,
            participants=tuple(map(self._participant, (name for name in run.nodes if name not in run.unable)))
            if leads
            else (),
            sweep=run.request if leads else None,
        )

    def _participant(self, name: str) -> Participant:
        place = self._nodes[name].place
        return Participant(name=name, address=place.get("address", ""), leaf=place.get("leaf", ""))

    def cancelled(self, node: str) -> tuple[int, ...]:
        return tuple(self._cancelled.pop(node, ()))

    def answered(self, node: str, outcome: OrderOutcome, now: float) -> None:
        """Takes an answer. The leader reports progress and the result; other nodes only why they cannot take part."""
        run = self._of.get(node)
        order = run.orders.get(node) if run else None
        if run is None or order is None or order.id != outcome.order:
            return
        if outcome.under_way:
            run.at = outcome.reason
        elif not outcome.ok:
            self._drop(run, node, outcome.reason, now)
        elif node == run.leader:
            self._end(run, now, _decode(outcome.document))

    def _drop(self, run: ProbeRun, node: str, why: str, now: float) -> None:
        """Drops a node. Without its leader, the run restarts with the next node that fetches its order."""
        run.unable[node] = why if why.startswith(SET_UP) else f"{SET_UP}: {why}"
        if len(run.nodes) - len(run.unable) < 2:
            self._end(run, now, None)
        elif node == run.leader:
            self._cancel(run, run.orders)
            run.leader, run.orders, run.at, run.waits_since = "", {}, "", now

    def stop(self, run: ProbeRun, now: float) -> None:
        if run.ended is None:
            self._end(run, now, None)

    def tick(self, reports: Callable[[str], bool], timeout: float, now: float) -> None:
        """Removes nodes that a workload needs, and a leader whose agent is silent."""
        for run in set(self._of.values()):
            for name in [one for one in run.nodes if one not in run.unable]:
                if self._needed(name):
                    self._release(run, name, now)
                elif name == run.leader and not reports(name):
                    self._drop(run, name, "it led and its agent is silent", now)
            no_leader_came = not run.leader and now - run.waits_since > timeout
            if run.ended is None and (no_leader_came or now - run.since > LONGEST_RUN_SECONDS):
                self._end(run, now, None)

    def _release(self, run: ProbeRun, name: str, now: float) -> None:
        self._cancel(run, [name])
        self._drop(run, name, "released: a workload needs the node", now)

    def _needed(self, name: str) -> bool:
        node = self._nodes.get(name)
        return node is None or bool(node.jobs) or node.stage not in PROBED_STAGES

    def _end(self, run: ProbeRun, now: float, report: SweepReport | None) -> None:
        run.ended, run.report = now, _complete(report or SweepReport(operation=run.request.operation), run)
        self._cancel(
            run, [name for name in run.orders if name not in run.unable and (report is None or name != run.leader)]
        )
        for name in run.nodes:
            self._of.pop(name, None)

    def _cancel(self, run: ProbeRun, names: Iterable[str]) -> None:
        for name in names:
            if name in run.orders and name not in run.unable:
                self._cancelled.setdefault(name, []).append(run.orders[name].id)


def _decode(document: str) -> SweepReport | None:
    try:
        return _decoder.decode(document)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _complete(report: SweepReport, run: ProbeRun) -> SweepReport:
    """A verdict for every node of the run. A node that could not take part is unknown, with its own reason."""
    verdicts: dict[str, dict[str, Any]] = {str(verdict.get("subject")): verdict for verdict in report.verdicts}
    missing = f"{run.leader} led and reported nothing" if run.leader else "its agent did not fetch its order"
    for name in run.nodes:
        subject = f"node/{name}"
        if name in run.unable or subject not in verdicts:
            why = run.unable.get(name) or f"{SET_UP}: {missing}"
            verdicts[subject] = {"subject": subject, "health": "unknown", "reason": why}
    report.verdicts = list(verdicts.values())
    return report
