"""Shared code of job checks: ranks, compute time against peers, wording."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median, median_low

from holdfast.model.subject import Subject
from holdfast.model.window import Window
from holdfast.node.checks.check import Limits

OWN = "job_rank_own_seconds"
MANY = 8  # fewest values for a median; with fewer the lower one counts, so that two slow ones are not the reference
SPREAD, MEAN_SPREAD = 1.4826, 1.2533  # median and mean deviations to a standard one
MOST_READINGS = 12  # how far evidence goes back
FEWEST_READINGS = 3
LATELY = 4
MOST_OF_ONE_INTERVAL = 1.2
MOST_OF_ONE_INTERVAL_TOGETHER = 1.5
SEVERAL = 2
OWN_NOISES = 3.0  # in the readings of a rank itself, until a difference counts
ENOUGH_NODES = 4


@dataclass(frozen=True, slots=True)
class Excess:
    """How much longer a subject takes than its peers, and since when this is significant."""

    subject: Subject
    ratio: float  # lately, the middle
    own: float
    usual: float
    unit: float  # deviation that counts as slow among these peers
    score: float  # evidence, in such units
    shared: float  # evidence of all subjects on its node together, 0 if it is alone
    since: float | None  # found slow before, since then
    limits: Limits

    @property
    def slow(self) -> bool:
        above = self.ratio >= self.limits["well_share"] * self.unit
        if self.since is not None:
            return above
        return self.score >= self.limits["evidence"] or (above and self.shared >= self.limits["evidence"])


def middle(values: Sequence[float]) -> float:
    return median(values) if len(values) >= MANY else median_low(values)


def compared(
    window: Window, name: str, groups: dict[str, list[Subject]], limits: Limits, nodes: Mapping[Subject, str]
) -> dict[Subject, Excess]:
    """Every subject against its group, reading by reading; too small groups are left out. The ranks of one node
    confirm each other: what slows all of them is significant sooner than what slows one."""
    found: dict[Subject, Excess] = {}
    for members in groups.values():
        reported = {one: [float(run.value) for run in window.runs(one, name)][-MOST_READINGS:] for one in members}
        readings = median_low([len(values) for values in reported.values()] or [0])  # some ranks may have begun late
        rows = {one: values[-readings:] for one, values in reported.items() if len(values) >= readings}
        if readings >= FEWEST_READINGS and len(rows) >= limits["least_peers"]:
            found |= _excesses(window, rows, readings, limits, nodes)
    return found


def _excesses(
    window: Window, rows: dict[Subject, list[float]], readings: int, limits: Limits, nodes: Mapping[Subject, str]
) -> dict[Subject, Excess]:
    usual = [middle([values[at] for values in rows.values()]) for at in range(readings)]
    above = {
        one: [value / ref - 1 if ref > 0 else 0.0 for value, ref in zip(values, usual, strict=True)]
        for one, values in rows.items()
    }
    lately = {one: median(ratios[-LATELY:]) for one, ratios in above.items()}
    around = median(lately.values())
    noise = SPREAD * median(abs(ratio - around) for ratio in lately.values())
    unit = max(limits["slow_ratio"], limits["noises"] * noise, OWN_NOISES * _swing(above))
    together = _together(above, nodes, unit)
    return {
        one: Excess(
            one,
            lately[one],
            median(rows[one][-LATELY:]),
            median(usual[-LATELY:]),
            unit,
            _evidence(ratios, unit, MOST_OF_ONE_INTERVAL),
            together.get(nodes.get(one, ""), 0.0),
            window.number(one, "job_slow_since_seconds"),
            limits,
        )
        for one, ratios in above.items()
    }


def _swing(above: dict[Subject, list[float]]) -> float:
    """How far one reading of a rank lies from its others: with few steps in a reading, or batches of changing length,
    ranks are unequal by turns. Among few ranks that does not show in how they differ lately."""
    spreads = []
    for ratios in above.values():
        usual = median(ratios)
        spreads.append(MEAN_SPREAD * mean(abs(ratio - usual) for ratio in ratios))  # a median would not see rare ones
    return median(spreads)


def _together(above: dict[Subject, list[float]], nodes: Mapping[Subject, str], unit: float) -> dict[str, float]:
    """The evidence of each node: the median of its members at every reading, so that one member cannot dominate.
    Among few nodes, one whose readings were cut at other moments would look slow."""
    members: dict[str, list[list[float]]] = defaultdict(list)
    for one, ratios in above.items():
        if nodes.get(one):
            members[nodes[one]].append(ratios)
    if len(members) < ENOUGH_NODES:
        return {}
    return {
        node: _evidence([median_low(at) for at in zip(*reported, strict=True)], unit, MOST_OF_ONE_INTERVAL_TOGETHER)
        for node, reported in members.items()
        if len(reported) >= SEVERAL
    }


def _evidence(ratios: Sequence[float], unit: float, most: float) -> float:
    """A cumulative sum: a value above half a unit is evidence for slow, below it against. One reading counts for
    little, however slow it was: a stall is no slow rank."""
    score = 0.0
    for ratio in ratios:
        score = max(0.0, score + min(most, max(-most, ratio / unit - 0.5)))
    return score


def by_group(window: Window, subjects: Sequence[Subject]) -> dict[str, list[Subject]]:
    """Ranks that do the same work."""
    groups: dict[str, list[Subject]] = defaultdict(list)
    for one in subjects:
        groups[str(window.value(one, "job_rank_group") or "")].append(one)
    return groups


def slow_ranks(window: Window, limits: Limits) -> tuple[list[Excess], dict[Subject, Excess]]:
    """Those whose own computing takes longer than their peers', the slowest first; and what was compared. A rank that
    does not separate waiting from computing is not compared, because its waiting would look slow."""
    split = window.values("job_rank_split")
    ranks = [one for one in window.values(OWN) if split.get(one)]
    nodes = {one: str(window.value(one, "job_rank_node") or "") for one in ranks}
    reported = compared(window, OWN, by_group(window, ranks), limits, nodes)
    return sorted((one for one in reported.values() if one.slow), key=lambda one: -one.ratio), reported


def percent(ratio: float) -> str:
    return f"{100 * ratio:.0f} %"


def rank_number(one: Subject) -> str:
    return one.rpartition("/")[2]


def place(window: Window, one: Subject) -> str:
    """Where a rank runs, as text for operators."""
    node, gpu = window.value(one, "job_rank_node"), window.number(one, "job_rank_gpu")
    return f"node {node or '?'}" + (f" GPU {gpu:.0f}" if gpu is not None else "")
