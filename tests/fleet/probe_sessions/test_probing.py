"""Probing idle nodes: a slow node fails after a second look, a slow trunk is one incident, a wanted node is let go."""

import random
from dataclasses import replace

import pytest

pytest.importorskip("sqlalchemy")

from holdfast.fleet.decisions.lifecycle.maintenance import Maintenance
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.probe_sessions.probing import CHECK, MOST_TROUBLES, RECHECKS
from holdfast.fleet.probe_sessions.sessions import DAY_SECONDS, GRACE_SECONDS, ProbeSession
from holdfast.model.incident import IncidentState
from holdfast.model.lifecycle import Offence, Stage
from holdfast.model.node_status import NodeStatus
from holdfast.model.wire.order import Order
from holdfast.model.wire.probe import ProbePolicy, Proof, SweepRequest
from holdfast.model.wire.report import OrderOutcome, Report
from holdfast.node.probes.isolation.blame import Blame
from holdfast.node.probes.isolation.isolation import SuspectPart
from tests.counts import draws
from tests.fleet.decisions.simulated_fleet import SimulatedFleet

PROBES = ProbePolicy(enabled=True, share=0.5, period_hours=2.0, minutes_per_day=240.0, timeout_seconds=60.0)
POLICY = Policy(dry_run=False, probes=PROBES, shared_first_seconds=0.0)
BEAT_SECONDS = 5.0


class Site(SimulatedFleet):
    """Nodes that meet when they are told to; how fast depends on what is broken."""

    def __init__(self, count: int = 24, per_leaf: int = 6, seed: int = 1, policy: Policy = POLICY) -> None:
        super().__init__(count, policy, per_leaf)
        self.chance = random.Random(seed)
        self.slow_nodes: dict[str, float] = {}
        self.slow_trunks: dict[frozenset[str], float] = {}
        self.dead: dict[str, str] = {}  # node -> what it answers instead of measuring
        self.orders: dict[str, Order] = {}
        self.kept: list[Proof] = []

    def rate(self, one: str, other: str) -> float:
        leaves = frozenset(self.fleet.nodes[name].place["leaf"] for name in (one, other))
        share = min(self.slow_nodes.get(one, 1.0), self.slow_nodes.get(other, 1.0), self.slow_trunks.get(leaves, 1.0))
        return 380e9 * share * self.chance.uniform(0.6, 1.0)

    def beats(self) -> None:
        """Every agent reports, and those that were told to meet do so."""
        self.passes(BEAT_SECONDS)
        for name, node in self.fleet.nodes.items():
            orders, cancelled = self.fleet.probing.orders_for(node, self.now)
            if name in self.orders and self.orders[name].id in cancelled:
                del self.orders[name]
            if orders:
                self.orders[name] = orders[0]
        for name, order in list(self.orders.items()):
            assert order.probe is not None
            if name in self.dead:
                self.answers(name, order, ok=False, reason=self.dead[name])
            elif order.probe.rank == 0 and order.probe.peer in self.orders.keys() - self.dead.keys():
                rate = self.rate(name, order.probe.peer)
                self.answers(name, order, rate=rate)
                self.answers(order.probe.peer, self.orders[order.probe.peer], rate=1.01 * rate)
        self.kept += self.fleet.probing.take_new()

    def answers(self, name: str, order: Order, ok: bool = True, reason: str = "", rate: float | None = None) -> None:
        self.orders.pop(name, None)
        self._sequence += 1
        outcome = OrderOutcome(order=order.id, verb="probe", ok=ok, reason=reason, bytes_per_second=rate)
        report = Report(node=name, session="s", seq=self._sequence, at=self.now, outcomes=(outcome,))
        self.steps += self.fleet.take(report, self.now)

    def goes_on(self, beats: int = 120) -> None:
        for _ in range(beats):
            self.beats()

    def stage(self, name: str) -> Stage:
        return self.fleet.nodes[name].stage

    @property
    def out(self) -> set[str]:
        return {name for name, node in self.fleet.nodes.items() if node.stage not in (Stage.READY, Stage.SPARE)}


@pytest.mark.parametrize("seed", range(draws(1, 4)))
def test_with_nothing_slow_everything_is_proven_and_no_node_is_blamed(seed: int) -> None:
    site = Site(seed=seed)
    site.goes_on(400)
    assert site.out == set()
    assert site.incidents() == {}
    assert len(site.fleet.probing.coverage.last_of_leaves()) == 10
    assert all(site.fleet.probing.coverage.node_proven(name) > 0 for name in site.fleet.nodes)


@pytest.mark.parametrize("seed", range(draws(1, 4)))
def test_a_slow_node_fails_after_another_look_with_a_partner_known_good(seed: int) -> None:
    site = Site(seed=seed)
    site.goes_on(60)
    site.slow_nodes["n7"] = 0.3
    for _ in range(800):
        site.beats()
        if site.out:
            break
    assert site.out == {"n7"}
    node = site.fleet.nodes["n7"]
    assert node.cause == CHECK
    failed = next(step for step in site.steps if step.transition.event.cause == CHECK)
    assert "node/n7 is slow" in failed.transition.reason
    slow = [one for one in site.kept if "n7" in (one.one, one.other) and one.bytes_per_second < 150e9]
    assert len({one.one if one.other == "n7" else one.other for one in slow}) >= 2, "at least two partners"


@pytest.mark.parametrize("seed", range(draws(1, 4)))
def test_a_slow_trunk_is_one_incident_and_no_node_is_quarantined(seed: int) -> None:
    site = Site(seed=seed)
    site.goes_on(60)
    site.slow_trunks[frozenset(("l0", "l2"))] = 0.25
    site.goes_on(900)
    assert site.out == set()
    assert list(site.incidents()) == ["fabric/trunk/l0+l2"]
    site.slow_trunks.clear()
    site.goes_on(900)
    assert site.incidents() == {}, "mended, and seen to be"


@pytest.mark.parametrize(
    "seed", [5, 9, 17, 115, 1147, *range(200, 260)][: draws(2, 65)]
)  # the first five once did otherwise
def test_a_trunk_that_is_slow_for_a_while_in_a_busy_fleet_takes_no_node_and_opens_once(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few nodes are idle at a time, so one may have met others over this trunk only; and it is mended meanwhile."""
    chance = random.Random(seed)
    site = Site(count=chance.choice((12, 24, 24, 32)), per_leaf=chance.choice((4, 6, 8)), seed=seed)
    site.goes_on(chance.randrange(10, 80))
    leaves = sorted({node.place["leaf"] for node in site.fleet.nodes.values()})
    if len(leaves) < 3:
        return  # between two leaves a trunk and its ends look the same
    ends = chance.sample(leaves, 2)
    idle, busy = site.fleet.probing._idle, set[str]()
    monkeypatch.setattr(site.fleet.probing, "_idle", lambda name, now: name not in busy and idle(name, now))
    opened = set[str]()

    def go_on(beats: int) -> None:
        for beat in range(beats):
            if beat % 40 == 0:
                busy.clear()
                share = chance.uniform(0.4, 0.85)
                busy.update(chance.sample(sorted(site.fleet.nodes), int(len(site.fleet.nodes) * share)))
            site.beats()
            opened.update(one.id for state in IncidentState for one in site.incidents(state).values())

    site.slow_trunks[frozenset(ends)] = chance.uniform(0.1, 0.35)
    go_on(chance.randrange(60, 900))
    site.slow_trunks.clear()
    go_on(900)
    assert [step.transition.node for step in site.steps if step.transition.event.cause == CHECK] == []
    assert len(opened) <= 1
    assert site.incidents() == {}, "mended, and seen to be"


def test_a_repaired_node_starts_with_nothing_against_it_and_is_proven_first() -> None:
    site = Site()
    site.goes_on(60)
    site.slow_nodes["n7"] = 0.2
    while not site.out:
        site.beats()
    site.slow_nodes.clear()
    site.goes_on(5)
    assert site.stage("n7") is Stage.RESETTING
    site.reset("n7")
    site.test("n7")
    assert site.stage("n7") is Stage.READY
    back = site.now
    site.goes_on(40)
    assert site.stage("n7") is Stage.READY
    assert site.fleet.probing.coverage.node_proven("n7") > back


def test_a_node_that_is_wanted_is_let_go_at_once_and_its_partner_reported() -> None:
    site = Site()
    site.passes(BEAT_SECONDS)
    meeting = site.fleet.probing.sessions.running()[0]
    one, other = meeting.nodes
    for name in meeting.nodes:
        assert site.fleet.probing.orders_for(site.fleet.nodes[name], site.now)[0]
    busy = NodeStatus(node=one, accepts_work=False, cordoned=False, down=False, busy=True, jobs=frozenset({"j1"}))
    site.steps += site.fleet.observe([busy], site.now)
    assert site.fleet.probing.orders_for(site.fleet.nodes[one], site.now) == ((), (meeting.orders[one].id,))
    assert site.fleet.probing.orders_for(site.fleet.nodes[other], site.now) == ((), (meeting.orders[other].id,))
    assert one not in site.fleet.probing.sessions
    site.answers(other, meeting.orders[other], rate=1e9)
    assert site.fleet.probing.take_new() == [], "an answer that nobody waits for any more proves nothing"


def test_a_node_without_torch_is_unknown_not_slow_and_left_alone_for_a_while() -> None:
    site = Site()
    site.dead["n3"] = "set-up failed: torch is not installed"
    site.goes_on(200)
    assert site.out == set()
    assert site.incidents() == {}
    assert site.fleet.probing.troubles["n3"][1] == "set-up failed: torch is not installed"
    assert not [one for one in site.kept if "n3" in (one.one, one.other)]


def test_wrong_numbers_make_a_node_fail_like_no_bandwidth_at_all() -> None:
    site = Site()
    site.goes_on(60)
    site.slow_nodes["n7"] = 0.0
    while not site.out:
        site.beats()
    assert site.out == {"n7"}


def test_no_one_is_probed_until_it_is_switched_on() -> None:
    site = Site(policy=replace(POLICY, probes=ProbePolicy()))
    site.goes_on(20)
    assert site.kept == []


def test_an_open_breaker_keeps_a_slow_node_in_service_and_says_so() -> None:
    site = Site(policy=replace(POLICY, breaker_nodes=1))
    site.goes_on(60)
    site.says("n0", "gpu.xid", "fail")
    site.slow_nodes["n7"] = 0.2
    site.goes_on(900)
    assert site.stage("n7") is Stage.READY
    assert site.fleet.nodes["n7"].held == "pool/default"


def test_what_was_proven_survives_a_restart() -> None:
    site = Site()
    site.goes_on(60)
    before = dict(site.fleet.probing.coverage.last_of_leaves())
    site.restarts(proofs=site.kept)
    assert site.fleet.probing.coverage.last_of_leaves() == before


def test_the_one_who_leads_may_say_that_the_other_could_not_and_its_word_alone_is_a_proof() -> None:
    site = Site()
    site.passes(BEAT_SECONDS)
    first, second, *_ = site.fleet.probing.sessions.running()
    led, followed = (site.fleet.probing.orders_for(site.fleet.nodes[name], site.now)[0][0] for name in first.nodes)
    assert led.probe is not None and followed.probe is not None
    assert (led.probe.rank, followed.probe.rank) == (0, 1)
    assert followed.probe.master == first.nodes[0]
    site.answers(first.nodes[1], followed)
    site.answers(first.nodes[0], led, rate=5e9, reason="5.00 GB/s over rail 3")
    assert [(one.bytes_per_second, one.note) for one in site.fleet.probing.take_new()] == [
        (5e9, "5.00 GB/s over rail 3")
    ]
    order = site.fleet.probing.orders_for(site.fleet.nodes[second.nodes[0]], site.now)[0][0]
    absent = OrderOutcome(order=order.id, verb="probe", ok=False, reason="set-up failed: late", about=second.nodes[1])
    site.fleet.probing.answered(second.nodes[0], absent, site.now)
    assert {name: why for name, (_, why) in site.fleet.probing.troubles.items()} == {
        second.nodes[1]: "set-up failed: late"
    }


@pytest.mark.parametrize(("silent", "idle"), [(0.0, True), (120.0, True), (120.5, False)])
def test_who_is_silent_takes_no_part(silent: float, idle: bool) -> None:
    site = Site(count=2)
    assert site.fleet.probing._idle("n0", site.fleet.last_report_at["n0"] + silent) is idle
    assert not site.fleet.probing._idle("nobody", site.now)
    site.fleet.last_report_at.pop("n1")
    assert not site.fleet.probing._idle("n1", 1.0), "never heard from"


def test_who_is_worked_on_takes_no_part() -> None:
    planned = Maintenance(name="winter", nodes=frozenset({"n0"}), start=0.0, end=1e9)
    site = Site(count=2, policy=replace(POLICY, maintenance=(planned,)))
    assert [site.fleet.probing._idle(name, site.now) for name in ("n0", "n1")] == [False, True]


def test_a_node_that_works_or_is_held_takes_no_part() -> None:
    site = Site(count=4)
    nodes = site.fleet.nodes
    nodes["n0"] = replace(nodes["n0"], held="leaf/l0")
    nodes["n1"] = replace(nodes["n1"], jobs=frozenset({"j1"}))
    nodes["n2"] = replace(nodes["n2"], stage=Stage.TESTING)
    assert [site.fleet.probing._idle(name, site.now) for name in nodes] == [False, False, False, True]


def test_an_open_incident_waits_for_the_first_proof_after_a_restart() -> None:
    site = Site(seed=1)
    site.goes_on(60)
    site.slow_trunks[frozenset(("l0", "l2"))] = 0.25
    while not site.incidents():
        site.beats()
    site.restarts()
    site.passes(BEAT_SECONDS)
    assert list(site.incidents()) == ["fabric/trunk/l0+l2"]


def test_only_nodes_in_service_fail_by_a_probe() -> None:
    site = Site(count=4)
    nodes = site.fleet.nodes
    nodes["n1"] = replace(nodes["n1"], stage=Stage.DRAINING)
    nodes["n2"] = replace(nodes["n2"], stage=Stage.SPARE)
    assert [site.fleet.probing._in_service(name) for name in ("n0", "n1", "n2", "gone")] == [True, False, True, False]


def test_a_slow_leaf_that_is_named_like_a_node_blames_no_node() -> None:
    site = Site(count=4)
    suspect = SuspectPart("leaf/n1", 0.5, 1.0, 2, 2, (("n0", "n2"),), confirmed=True)
    for part, failing in (("leaf/n1", None), ("node/n1", CHECK)):
        site.fleet.probing.blame = Blame((replace(suspect, part=part),))
        site.passes(BEAT_SECONDS)
        assert site.fleet._state.guards.failing_by("n1") == failing


@pytest.mark.parametrize(("stage", "failing"), [(Stage.READY, CHECK), (Stage.DRAINING, None)])
def test_a_slow_node_fails_while_it_is_idle_only(stage: Stage, failing: str | None) -> None:
    site = Site(count=4)
    site.fleet.nodes["n1"] = replace(site.fleet.nodes["n1"], stage=stage)
    site.fleet.probing.blame = Blame((SuspectPart("node/n1", 0.5, 1.0, 2, 2, (("n1", "n2"),), confirmed=True),))
    site.fleet.probing._evaluate_proofs(site.now)
    assert site.fleet._state.guards.failing_by("n1") == failing


def test_only_incidents_of_the_fabric_are_probed_again() -> None:
    site = Site(count=4)
    for subject in ("leaf/l0", "fabric/trunk/l0+l1"):
        site.fleet.incidents.raise_(subject, CHECK, "slow", site.now)
    assert site.fleet.probing._open_parts() == ["fabric/trunk/l0+l1"]


def test_a_part_with_an_incident_is_probed_again_after_a_pause() -> None:
    site = Site(seed=1)
    site.goes_on(60)
    site.slow_trunks[frozenset(("l0", "l2"))] = 0.25
    while not site.incidents():
        site.beats()
    probing, part = site.fleet.probing, "trunk/l0+l2"
    probing._rechecked.clear()
    assert probing._due_for_a_recheck(0.0) == [part], "one that was never probed again is due at once"
    probing._rechecked[f"fabric/{part}"] = site.now
    pause = probing.policy.period_seconds / RECHECKS
    assert probing._due_for_a_recheck(site.now + pause - 1.0) == []
    assert probing._due_for_a_recheck(site.now + pause) == [part]


def test_a_node_that_could_not_take_part_is_left_alone_for_ten_minutes() -> None:
    site = Site(count=2)
    site.fleet.probing.troubles["n0"] = (site.now, "no torch")
    assert site.fleet.probing._backs_off("n0", site.now + 599.0)
    assert not site.fleet.probing._backs_off("n0", site.now + 600.0)


def test_proofs_count_from_the_last_repair_on() -> None:
    site = Site(count=2)
    nodes = site.fleet.nodes
    nodes["n0"] = replace(nodes["n0"], offences=(Offence(at=5.0, cause="gpu.xid"), Offence(at=9.0, cause="gpu.xid")))
    assert site.fleet.probing._repaired() == {"n0": 9.0}


def test_sessions_are_planned_every_two_seconds() -> None:
    site = Site(count=8)
    site.passes(BEAT_SECONDS)
    planned = site.fleet.probing._plan_at
    site.passes(1.0)
    assert site.fleet.probing._plan_at == planned
    site.passes(1.0)
    assert site.fleet.probing._plan_at == site.now + 2.0


def test_a_repair_makes_what_was_found_before_it_count_no_more_without_a_new_proof() -> None:
    site = Site(count=2)
    probing, nodes = site.fleet.probing, site.fleet.nodes
    probing._evaluate_proofs(site.now)
    known = probing.blame
    probing._evaluate_proofs(site.now)
    assert probing.blame is known, "nothing new"
    nodes["n0"] = replace(nodes["n0"], offences=(Offence(at=site.now, cause=CHECK),))
    probing._evaluate_proofs(site.now)
    assert probing.blame is not known


@pytest.mark.parametrize("where", ["session", "run"])
def test_who_takes_part_in_a_probe_is_not_planned_again(where: str) -> None:
    site = Site(count=8)
    probing, pair = site.fleet.probing, ("n0", "n1")
    if where == "session":
        probing.sessions.begin(pair, "why", {}, site.now)
    else:
        probing.begin_run(pair, SweepRequest(), "why", site.now)
    assert not {name for one in probing.plan(site.now) for name in one.nodes} & set(pair)


def test_how_long_and_how_many_are_remembered() -> None:
    assert (RECHECKS, MOST_TROUBLES, DAY_SECONDS, GRACE_SECONDS) == (48, 1000, 86_400.0, 30.0)


def test_a_verdict_shows_eight_of_the_pairs_that_were_slow() -> None:
    site = Site(count=12)
    pairs = tuple(("n1", f"n{number}") for number in range(2, 12))
    site.fleet.probing._fail("n1", SuspectPart("node/n1", 0.5, 1.0, 10, 10, pairs, confirmed=True), site.now)
    (verdict,) = (one for one in site.fleet.verdicts("n1") if one.check == CHECK)
    assert len(verdict.evidence) == 8


def test_of_two_that_were_sent_the_one_that_answered_is_not_in_trouble() -> None:
    site, session = Site(count=3), ProbeSession(1, ("n0", "n1"), "x", 0.0, "k", {})
    session.sent_at.update({"n0": 1.0, "n1": 1.0})
    session.answers["n0"] = OrderOutcome(order=1, verb="probe", ok=True, reason="", bytes_per_second=1e9)
    site.fleet.probing._note_trouble(session, site.now)
    assert list(site.fleet.probing.troubles) == ["n1"]


def test_proofs_are_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[int] = []
    monkeypatch.setattr(
        "holdfast.fleet.probe_sessions.probing.blame", lambda known, *_: evaluated.append(len(list(known))) or Blame()
    )
    site = Site(count=4)
    site.goes_on(6)
    assert site.kept
    site.fleet.probing._evaluate_proofs(site.now)
    evaluated.clear()
    site.fleet.probing._evaluate_proofs(site.now)
    assert evaluated == []
