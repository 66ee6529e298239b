"""Runs that an operator asks for: who may be asked, who leads, and what becomes of those that cannot."""

import json
from dataclasses import replace

import pytest

pytest.importorskip("sqlalchemy")

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.probe_sessions import views
from holdfast.fleet.probe_sessions.runs import ProbeRun
from holdfast.fleet.probe_sessions.views import view
from holdfast.model.lifecycle import EventKind
from holdfast.model.node_status import NodeStatus
from holdfast.model.wire.order import Order
from holdfast.model.wire.probe import LONGEST_RUN_SECONDS, ProbePolicy, Proof, SweepRequest
from holdfast.model.wire.report import OrderOutcome, Report
from tests.fleet.decisions.simulated_fleet import SimulatedFleet

POLICY = Policy(dry_run=False, probes=ProbePolicy(timeout_seconds=60.0))
GOOD = {"subject": "node/n1", "health": "pass", "reason": "as fast as its peers, with right numbers"}


class Site(SimulatedFleet):
    def __init__(self, policy: Policy = POLICY) -> None:
        super().__init__(8, policy, per_leaf=4)

    def begins(self, *names: str) -> ProbeRun:
        assert self.fleet.probing.runs.refusal(names) == ""
        return self.fleet.probing.begin_run(names, SweepRequest(largest=1024), "to see", self.now)

    def fetches(self, name: str) -> tuple[Order | None, tuple[int, ...]]:
        orders, cancelled = self.fleet.probing.orders_for(self.fleet.nodes[name], self.now)
        return (orders[0] if orders else None), cancelled

    def ordered(self, name: str) -> Order:
        order, _ = self.fetches(name)
        assert order is not None and order.probe is not None
        return order

    def answers(self, name: str, order: Order, **facts: object) -> None:
        self._sequence += 1
        outcome = replace(OrderOutcome(order=order.id, verb="probe", ok=True), **facts)  # type: ignore[arg-type]
        report = Report(node=name, session="s", seq=self._sequence, at=self.now, outcomes=(outcome,))
        self.steps += self.fleet.take(report, self.now)

    def works(self, name: str, job: str = "j1") -> None:
        busy = NodeStatus(node=name, accepts_work=False, cordoned=False, down=False, busy=True, jobs=frozenset({job}))
        self.steps += self.fleet.observe([busy], self.now)

    def refusal(self, *names: str) -> str:
        return self.fleet.probing.runs.refusal(names)


def verdicts(run: ProbeRun) -> dict[str, tuple[str, str]]:
    assert run.report is not None
    return {one["subject"]: (one["health"], one["reason"]) for one in run.report.verdicts}


def test_the_first_who_comes_leads_and_the_others_are_sent_to_it() -> None:
    site = Site()
    run = site.begins("n1", "n2", "n5")
    leads, follows = site.ordered("n2"), site.ordered("n1")
    assert leads.probe is not None and follows.probe is not None
    assert (leads.probe.rank, [guest.name for guest in leads.probe.participants]) == (0, ["n1", "n2", "n5"])
    assert leads.probe.sweep == run.request
    assert [guest.leaf for guest in leads.probe.participants] == ["l0", "l0", "l1"]
    assert (follows.probe.rank, follows.probe.peer, follows.probe.master) == (1, "n2", "n2")
    assert follows.probe.sweep is None
    assert len({leads.probe.key, follows.probe.key}) == 1 < len(leads.probe.key)
    assert site.fetches("n1") == (None, ()), "once"


def test_what_the_leader_reports_is_the_report_and_who_could_not_come_says_why_itself() -> None:
    site = Site()
    run = site.begins("n1", "n2", "n5")
    led = site.ordered("n1")
    site.answers("n2", site.ordered("n2"), ok=False, reason="this node's own policy does not list probe")
    site.answers("n1", led, under_way=True, reason="round 1: n1+n5")
    assert (run.ended, run.at) == (None, "round 1: n1+n5")
    absent = {"subject": "node/n2", "health": "unknown", "reason": "set-up failed: it did not come within 60 s"}
    late = {"subject": "node/n5", "health": "unknown", "reason": "set-up failed: it did not come within 60 s"}
    site.answers("n1", led, document=json.dumps({"hosts": ["n1"], "verdicts": [GOOD, absent, late]}))
    assert run.ended == site.now
    assert verdicts(run) == {
        "node/n1": ("pass", GOOD["reason"]),
        "node/n2": ("unknown", "set-up failed: this node's own policy does not list probe"),
        "node/n5": ("unknown", "set-up failed: it did not come within 60 s"),
    }
    assert site.fetches("n1") == (None, ())
    assert site.refusal("n1", "n2") == "", "they are free again"


@pytest.mark.parametrize("document", ["", "{", "[]", '{"sweep": 3}', '{"verdicts": [1]}'])
def test_a_report_that_cannot_be_read_makes_no_one_slow(document: str) -> None:
    site = Site()
    run = site.begins("n1", "n2")
    site.answers("n1", site.ordered("n1"), document=document)
    assert set(verdicts(run).values()) == {("unknown", "set-up failed: n1 led and reported nothing")}


def test_when_the_leader_cannot_lead_the_next_who_comes_does() -> None:
    site = Site()
    run = site.begins("n1", "n2", "n5")
    first = site.ordered("n1")
    waiting = site.ordered("n2")
    site.answers("n1", first, ok=False, reason="cannot listen at 10.0.0.1:29477: Address already in use")
    second, cancelled = site.fetches("n2")
    assert cancelled == (waiting.id,)
    assert second is not None and second.probe is not None
    assert (second.probe.rank, [guest.name for guest in second.probe.participants]) == (0, ["n2", "n5"])
    site.answers("n2", waiting, ok=False, reason="stopped: the node is wanted")
    assert run.leader == "n2", "the answer to what was cancelled counts no more"
    site.answers("n2", second, document='{"verdicts": []}')
    assert verdicts(run)["node/n1"][1].startswith("set-up failed: cannot listen")


def test_no_one_who_works_is_probed_and_one_sentence_says_so() -> None:
    site = Site()
    site.works("n3")
    assert site.refusal("n2", "n3") == "n3: job j1 runs on it: a probe would take its bandwidth"
    assert site.refusal("n2", "n99") == "no node is called 'n99'"
    assert "2 to" in site.refusal("n2")
    assert "2 to" in site.refusal("n2", "n2")
    site.steps += site.fleet.operator("n4", EventKind.RETEST, "why not", "ann", site.now)
    assert site.refusal("n2", "n4").startswith("n4 is testing: only nodes")
    run = site.begins("n1", "n2")
    assert site.refusal("n2", "n5") == f"n2 is in run {run.number} already"
    (shown,) = view(site.fleet.probing, site.now).runs
    assert (shown.nodes, shown.reason, shown.report) == (("n1", "n2"), "to see", None)


def test_a_node_that_is_wanted_leaves_at_once_and_the_others_go_on() -> None:
    site = Site()
    run = site.begins("n1", "n2", "n5")
    led, order = site.ordered("n1"), site.ordered("n2")
    site.works("n2")
    site.fleet.tick(site.now)
    assert site.fetches("n2") == (None, (order.id,))
    assert run.ended is None
    site.answers("n1", led, document='{"verdicts": []}')
    assert verdicts(run)["node/n2"] == ("unknown", "set-up failed: released: a workload needs the node")


def test_a_run_that_no_one_comes_to_and_one_that_is_stopped_end_with_everybody_unknown() -> None:
    site = Site()
    run = site.begins("n1", "n2")
    site.now += 61.0
    site.fleet.tick(site.now)
    assert set(verdicts(run).values()) == {("unknown", "set-up failed: its agent did not fetch its order")}
    run = site.begins("n1", "n2")
    order = site.ordered("n1")
    site.fleet.probing.runs.stop(run, site.now)
    assert {health for health, _ in verdicts(run).values()} == {"unknown"}
    assert site.fetches("n1") == (None, (order.id,))
    run = site.begins("n1", "n2")
    site.ordered("n1")
    for _ in range(4):
        site.now += LONGEST_RUN_SECONDS / 3
        site.fleet.last_report_at.update(dict.fromkeys(("n1", "n2"), site.now))
        site.fleet.tick(site.now)
    assert run.ended is not None


def test_a_leader_that_is_received_no_more_is_replaced_and_what_was_proven_before_is_not_touched() -> None:
    site = Site()
    run = site.begins("n1", "n2", "n3")
    site.ordered("n1")
    site.now += POLICY.silent_seconds + 1.0
    site.fleet.last_report_at.update(dict.fromkeys(("n2", "n3"), site.now))
    site.fleet.tick(site.now)
    assert run.unable["n1"] == "set-up failed: it led and its agent is silent"
    assert site.ordered("n3").probe is not None
    assert run.leader == "n3"
    assert site.fleet.probing.take_new() == []


def test_nodes_of_a_run_are_in_no_probe_session_meanwhile() -> None:
    site = Site(replace(POLICY, probes=replace(POLICY.probes, enabled=True, share=1.0)))
    site.now += 10.0
    site.fleet.last_report_at.update(dict.fromkeys(site.fleet.nodes, site.now))
    site.fleet.tick(site.now)
    met = site.fleet.probing.sessions.running()[0].nodes
    order = site.ordered(met[0])
    site.begins(*met)
    again, cancelled = site.fetches(met[0])
    assert cancelled == (order.id,)
    assert again is not None and again.probe is not None and again.probe.sweep is not None
    site.now += 10.0
    site.fleet.tick(site.now)
    assert not {node for one in site.fleet.probing.sessions.running() for node in one.nodes} & set(met)


def test_a_fleet_with_too_many_leaves_lists_only_proven_pairs_the_slowest_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = Site()
    probing = site.fleet.probing
    whole = view(probing, site.now)
    assert (whole.pairs, whole.proven, len(whole.leaves)) == (3, 0, 3)
    for at, rate in ((1.0, 40e9), (2.0, 20e9)):
        one, other = ("n1", "n2") if rate > 30e9 else ("n1", "n7")
        probing.coverage.add(Proof(at=site.now - at, one=one, other=other, bytes_per_second=rate))
    proven = view(probing, site.now)
    assert (proven.pairs, proven.proven, len(proven.leaves)) == (3, 2, 3)
    monkeypatch.setattr(views, "MOST_PAIRS", 2)
    cut = view(probing, site.now)
    assert (cut.pairs, cut.proven) == (3, 2)
    assert [pair.bytes_per_second for pair in cut.leaves] == [20e9, 40e9]
