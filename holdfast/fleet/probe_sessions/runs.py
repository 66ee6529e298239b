"""Runs that somebody asked for: some nodes, one of which leads and tells what all of them found. In memory alone, like
sessions: a controller that restarts forgets them, and agents end when their time is over. No I/O and no clock.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

import msgspec

from holdfast.fleet.api.views.common import Order
from holdfast.fleet.probe_sessions.sessions import KEY_BYTES, VERB
from holdfast.model.lifecycle import NodeState, Stage
from holdfast.model.wire.probe import LONGEST_RUN_SECONDS, Guest, ProbePolicy, ProbeRequest, SweepRequest
from holdfast.model.wire.report import OrderOutcome
from holdfast.node.probes.sweep.report import Report

MAY_BE_ASKED = (Stage.READY, Stage.SPARE, Stage.QUARANTINED)
MOST_KEPT = 16
MOST_NODES = 128
SET_UP = "set-up failed"


@dataclass(slots=True, eq=False)
class Run:
    number: int
    nodes: tuple[str, ...]
    wish: SweepRequest
    reason: str
    key: str
    since: float
    waits_since: float  # for somebody to lead
    leader: str = ""  # the first who came for its order: that one is there
    orders: dict[str, Order] = field(default_factory=dict)  # handed over so far
    said: dict[str, str] = field(default_factory=dict)  # of a node that could not take part: why
    at: str = ""  # what it is at, in the words of who leads
    ended: float | None = None
    report: Report | None = None


class Runs:
    def __init__(self, nodes: Mapping[str, NodeState], number: Callable[[float], int]) -> None:
        self._nodes, self._number = nodes, number
        self._kept: dict[int, Run] = {}
        self._of: dict[str, Run] = {}  # those under way, by node
        self._cancelled: dict[str, list[int]] = {}

    def __contains__(self, node: str) -> bool:
        return node in self._of

    def under_way(self) -> list[Run]:
        return [run for run in self._kept.values() if run.ended is None]

    def get(self, number: int) -> Run | None:
        return self._kept.get(number)

    def refusal(self, names: Sequence[str]) -> str:
        """Why these cannot be probed, in one sentence; '' if they can."""
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
        if node.stage not in MAY_BE_ASKED:
            return f"{name} is {node.stage.value}: only nodes that are ready, spare or quarantined are probed"
        if node.twin:
            return f"{name} is simulated: it has nobody to send"
        return f"{name} is in run {self._of[name].number} already" if name in self else ""

    def begin(self, names: Sequence[str], wish: SweepRequest, reason: str, now: float) -> Run:
        run = Run(self._number(now), tuple(names), wish, reason, token_hex(KEY_BYTES), now, now)
        self._kept[run.number] = run
        self._of.update(dict.fromkeys(names, run))
        for old in [one.number for one in self._kept.values() if one.ended is not None][:-MOST_KEPT]:
            del self._kept[old]
        return run

    def handed_over(self, node: str, policy: ProbePolicy, now: float) -> tuple[Order, ...]:
        """Once each; whoever comes first leads."""
        run = self._of.get(node)
        if run is None or node in run.said:
            return ()
        if self._wanted(node):
            self._let_go(run, node, now)
        if node in run.orders or node in run.said:
            return ()
        run.leader = run.leader or node
        ask = self._ask(run, node, policy)
        run.orders[node] = Order(id=self._number(now), verb=VERB, suite="", reason=run.reason, probe=ask)
        return (run.orders[node],)

    def _ask(self, run: Run, node: str, policy: ProbePolicy) -> ProbeRequest:
        leads = node == run.leader
        return ProbeRequest(
            peer="" if leads else run.leader,
            rank=0 if leads else 1,
            address=self._guest(node).address,
            master=self._guest(run.leader).address.partition(",")[0] or run.leader,
            port=policy.port,
            bytes=run.wish.pair_bytes,
            seconds=policy.patience_seconds,
            key=run.key,
            guests=tuple(self._guest(name) for name in run.nodes if name not in run.said) if leads else (),
            sweep=run.wish if leads else None,
        )

    def _guest(self, name: str) -> Guest:
        place = self._nodes[name].place
        return Guest(name=name, address=place.get("address", ""), leaf=place.get("leaf", ""))

    def cancelled(self, node: str) -> tuple[int, ...]:
        return tuple(self._cancelled.pop(node, ()))

    def answered(self, node: str, outcome: OrderOutcome, now: float) -> None:
        """Who leads tells how far it is and what all of them found; another, if it could not come, why."""
        run = self._of.get(node)
        order = run.orders.get(node) if run else None
        if run is None or order is None or order.id != outcome.order:
            return
        if outcome.under_way:
            run.at = outcome.reason
        elif not outcome.ok:
            self._unable(run, node, outcome.reason, now)
        elif node == run.leader:
            self._end(run, now, _read(outcome.document))

    def _unable(self, run: Run, node: str, why: str, now: float) -> None:
        """Without the one who was to lead, the others begin again with the next who comes."""
        run.said[node] = why if why.startswith(SET_UP) else f"{SET_UP}: {why}"
        if len(run.nodes) - len(run.said) < 2:
            self._end(run, now, None)
        elif node == run.leader:
            self._cancel(run, run.orders)
            run.leader, run.orders, run.at, run.waits_since = "", {}, "", now

    def stop(self, run: Run, now: float) -> None:
        if run.ended is None:
            self._end(run, now, None)

    def tick(self, heard: Callable[[str], bool], patience: float, now: float) -> None:
        """Work goes before: a node that is wanted leaves at once. One that led and is heard no more tells nothing."""
        for run in set(self._of.values()):
            for name in [one for one in run.nodes if one not in run.said]:
                if self._wanted(name):
                    self._let_go(run, name, now)
                elif name == run.leader and not heard(name):
                    self._unable(run, name, "it led and is heard no more", now)
            waited_in_vain = not run.leader and now - run.waits_since > patience
            if run.ended is None and (waited_in_vain or now - run.since > LONGEST_RUN_SECONDS):
                self._end(run, now, None)

    def _let_go(self, run: Run, name: str, now: float) -> None:
        self._cancel(run, [name])
        self._unable(run, name, "let go: the node is wanted", now)

    def _wanted(self, name: str) -> bool:
        node = self._nodes.get(name)
        return node is None or bool(node.jobs) or node.stage not in MAY_BE_ASKED

    def _end(self, run: Run, now: float, report: Report | None) -> None:
        run.ended, run.report = now, _whole(report or Report(operation=run.wish.operation), run)
        self._cancel(
            run, [name for name in run.orders if name not in run.said and (report is None or name != run.leader)]
        )
        for name in run.nodes:
            self._of.pop(name, None)

    def _cancel(self, run: Run, names: Iterable[str]) -> None:
        for name in names:
            if name in run.orders and name not in run.said:
                self._cancelled.setdefault(name, []).append(run.orders[name].id)


def _read(document: str) -> Report | None:
    try:
        return msgspec.json.decode(document, type=Report)
    except (msgspec.MsgspecError, UnicodeError):
        return None


def _whole(report: Report, run: Run) -> Report:
    """Every node that was asked has a verdict; one that said itself why it could not come, in its own words."""
    told: dict[str, dict[str, Any]] = {str(verdict.get("subject")): verdict for verdict in report.verdicts}
    led = f"{run.leader} led and told nothing" if run.leader else "its agent did not come for its order"
    for name in run.nodes:
        subject = f"node/{name}"
        if name in run.said or subject not in told:
            why = run.said.get(name) or f"{SET_UP}: {led}"
            told[subject] = {"subject": subject, "health": "unknown", "reason": why}
    report.verdicts = list(told.values())
    return report
