"""Who meets next: every pair of leaves within its period, no more than the budget, no one who is wanted."""

from itertools import combinations_with_replacement

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.model.wire.probe import ProbePolicy, Proof
from holdfast.node.probes.isolation.coverage import Coverage
from holdfast.node.probes.isolation.schedule import PlannedSession, ProbeSituation, plan, slots
from tests.counts import draws

HOUR = 3_600.0
FAST = 100e9


def fleet(leaves: int, per_leaf: int) -> dict[str, str]:
    return {f"n{leaf}-{number}": f"l{leaf:02d}" for leaf in range(leaves) for number in range(per_leaf)}


class Days:
    """A fleet that is probed by plan alone; every session takes a while and then proves its pair."""

    def __init__(self, nodes: dict[str, str], policy: ProbePolicy) -> None:
        self.nodes, self.policy, self.now = nodes, policy, 0.0
        self.coverage = Coverage(nodes)
        self.held: dict[str, float] = {}  # node -> when its session ends
        self.spent: list[tuple[float, str, float]] = []  # when, who, how long
        self.sessions: list[PlannedSession] = []

    def spent_today(self) -> dict[str, float]:
        total: dict[str, float] = {}
        for at, node, seconds in self.spent:
            if at > self.now - 24 * HOUR:
                total[node] = total.get(node, 0.0) + seconds
        return total

    def step(self, seconds: float, busy: frozenset[str] = frozenset(), takes: float = 60.0) -> list[PlannedSession]:
        self.now += seconds
        self.held = {node: end for node, end in self.held.items() if end > self.now}
        idle = {node: leaf for node, leaf in self.nodes.items() if node not in busy}
        held = [node for node in self.held if node in idle]
        situation = ProbeSituation(idle=idle, in_probe=held, spent=self.spent_today())
        made = plan(situation, self.coverage, self.policy, self.now)
        for session in made:
            self.coverage.add(Proof(one=session.nodes[0], other=session.nodes[1], at=self.now, bytes_per_second=FAST))
            for node in session.nodes:
                self.held[node] = self.now + takes
                self.spent.append((self.now, node, takes))
        self.sessions += made
        return made


@settings(max_examples=draws(5, 20))
@given(leaves=st.integers(2, 6), per_leaf=st.integers(1, 5), share=st.floats(0.2, 1.0))
def test_every_pair_of_leaves_and_every_node_meets_within_each_period(leaves: int, per_leaf: int, share: float) -> None:
    policy = ProbePolicy(enabled=True, share=share, period_hours=6.0, minutes_per_day=120.0)
    days = Days(fleet(leaves, per_leaf), policy)
    for _ in range(int(18 * HOUR / 120)):
        days.step(120.0)
        if days.now > policy.period_seconds:
            since = days.now - policy.period_seconds
            for one in combinations_with_replacement(sorted(set(days.nodes.values())), 2):
                assert (one[0] == one[1] and per_leaf == 1) or days.coverage.leaves_proven(one) > since, one
            assert all(days.coverage.node_proven(node) > since for node in days.nodes)


@settings(max_examples=draws(10, 50))
@given(
    leaves=st.integers(1, 4),
    per_leaf=st.integers(1, 6),
    share=st.floats(0.01, 1.0),
    minutes=st.floats(0.0, 10.0),
    busy=st.lists(st.sets(st.integers(0, 23)), min_size=5, max_size=40),
)
def test_the_budget_is_never_exceeded_and_no_one_is_taken_who_is_wanted(
    leaves: int, per_leaf: int, share: float, minutes: float, busy: list[set[int]]
) -> None:
    policy = ProbePolicy(enabled=True, share=share, period_hours=0.05, minutes_per_day=minutes)
    days = Days(fleet(leaves, per_leaf), policy)
    names = list(days.nodes)
    for numbers in busy:
        wanted = frozenset(names[number] for number in numbers if number < len(names))
        made = days.step(45.0, wanted, takes=policy.timeout_seconds)
        taken = [node for session in made for node in session.nodes]
        assert len(taken) == len(set(taken))
        assert not wanted & set(taken)
        at_it = [node for node in days.held if node not in wanted]
        # Who is at it already may finish when fewer are idle than before; no one new is taken then.
        assert not made or len(at_it) <= slots(len(names) - len(wanted), share)
        assert all(spent <= policy.seconds_per_day for spent in days.spent_today().values())


def ask(
    doubts: tuple[str, ...] = (), trusted: tuple[str, ...] = (), repaired: dict[str, float] | None = None
) -> PlannedSession:
    nodes = fleet(3, 3)
    coverage = Coverage(nodes)
    for number, (one, other) in enumerate(combinations_with_replacement(nodes, 2)):
        if one != other:
            coverage.add(Proof(one=one, other=other, at=1000.0 + number, bytes_per_second=FAST))
    situation = ProbeSituation(idle=nodes, doubts=doubts, trusted=trusted, repaired=repaired or {})
    made = plan(situation, coverage, ProbePolicy(enabled=True, share=0.3), 2000.0)
    return made[0] if made else PlannedSession(("", ""), "")


def test_when_all_is_proven_no_one_meets() -> None:
    assert ask().why == ""


def test_a_doubtful_node_meets_somebody_trusted() -> None:
    assert ask(("node/n0-0",), ("n2-1", "n1-1")).nodes in (("n0-0", "n2-1"), ("n0-0", "n1-1"))


def test_a_doubtful_node_waits_while_no_one_is_trusted() -> None:
    assert ask(("node/n0-0",)).why == ""


def test_a_doubtful_pair_meets_again() -> None:
    assert ask(("pair/n0-0+n2-2",), ("n1-1",)).nodes == ("n0-0", "n2-2")


def test_a_doubtful_trunk_is_crossed_by_trusted_nodes() -> None:
    assert ask(("trunk/l00+l02",), ("n0-1", "n1-1", "n2-1")).nodes == ("n0-1", "n2-1")


def test_doubtful_uplinks_are_left_by_one_of_their_nodes() -> None:
    made = ask(("uplinks/l01",), ("n1-1", "n2-1")).nodes
    assert made == ("n1-1", "n2-1")


def test_a_repaired_node_is_proven_before_anybody_else() -> None:
    made = ask(repaired={"n1-2": 1900.0})
    assert "n1-2" in made.nodes
    assert made.why == "n1-2 was repaired"
    assert ask(repaired={"n1-2": 900.0}).why == "", "it was proven since"
