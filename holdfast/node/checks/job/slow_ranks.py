"""job.slow_ranks: no rank computes longer than its peers.

Only a rank's own compute time is compared. A rank that waits is a victim.
"""

from collections import defaultdict

from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.job.facts import Excess, percent, place, rank_number, slow_ranks

LIMITS = {"slow_ratio": 0.05, "noises": 3.0, "evidence": 4.2, "well_share": 0.5, "least_peers": 3.0}
MOST_NAMED = 4


def judge(window: Window, limits: Limits) -> Verdict:
    job = f"job/{window.inventory.node}"
    reported = window.values("job_rank_split")
    if not reported:
        return Verdict(rows=(Row(job, Health.UNKNOWN, reason="no rank reports progress"),))
    if len(reported) > 1 and not any(reported.values()):
        why = "waiting is not distinguished from computing: `watch` the model, or put `waiting` around communication"
        return Verdict(rows=(Row(job, Health.UNKNOWN, reason=why),))
    slow, compared = slow_ranks(window, limits)
    if not compared:
        why = f"fewer than {limits['least_peers']:.0f} comparable ranks reported their progress often enough"
        return Verdict(rows=(Row(job, Health.UNKNOWN, reason=why),))
    rows = [_row(window, one) for one in slow]
    guilty = {one.subject for one in slow}
    rows += [Row(one, Health.PASS, found.ratio, found.unit) for one, found in compared.items() if one not in guilty]
    if not slow:
        return Verdict(rows=tuple(rows))
    if all(_incident(window, one) for one in slow):
        remedy = f"follow the runbook of the incident on {_incident(window, slow[0])}"
        return Verdict(rows=tuple(rows), reason=sentence(window, slow), remedy=remedy)
    return Verdict(rows=tuple(rows), reason=sentence(window, slow))


def _incident(window: Window, one: Excess) -> str:
    """The subject of the open incident that affects this rank's node or GPU."""
    return str(window.value(one.subject, "job_rank_incident") or "")


def _row(window: Window, one: Excess) -> Row:
    where = place(window, one.subject)
    because = _known(window, one)
    text = f"computes {percent(one.ratio)} longer than its peers, {where}" + (f", {because}" if because else "")
    return Row(one.subject, Health.DEGRADED, one.ratio, one.unit, text)


def sentence(window: Window, slow: list[Excess]) -> str:
    """What the job loses, which ranks are slow, and what an eviction would gain. A victim of an open incident is not
    evicted."""
    worst = slow[0]
    job = f"job/{window.inventory.node}"
    step = max(window.number(job, "job_step_seconds") or 0.0, worst.own)
    without = max(step - (worst.own - worst.usual), 1e-9)
    world = window.number(job, "job_world") or 0.0
    won = world * (1 - without / step)
    lost = f"job {window.inventory.node} is {percent(step / without - 1)} slow"
    reported = f"{lost}; {_who(window, slow)}"
    if any(_incident(window, one) for one in slow):
        return reported
    return f"{reported}; evicting {'it' if len(slow) == 1 else 'them'} saves {_hours(won)}"


def _who(window: Window, slow: list[Excess]) -> str:
    """Names the slow ranks; a node whose ranks are all slow is named instead of them."""
    nodes: dict[str, list[Excess]] = defaultdict(list)
    for one in slow:
        nodes[str(window.value(one.subject, "job_rank_node") or "?")].append(one)
    notes = []
    for node, found in nodes.items():
        there = sum(window.value(one, "job_rank_node") == node for one in window.values("job_rank_own_seconds"))
        if len(found) > 1 and len(found) == there:
            notes.append(f"node {node} with its {there} ranks" + _because(window, found[0]))
        else:
            notes += [
                f"rank {rank_number(one.subject)} = {place(window, one.subject)}{_because(window, one)}"
                for one in found
            ]
    left = len(notes) - MOST_NAMED
    return ", ".join(notes[:MOST_NAMED]) + (f" and {left} more" if left > 0 else "")


def _because(window: Window, one: Excess) -> str:
    return f", {_known(window, one) or 'no hardware signal gives the reason'}"


def _known(window: Window, one: Excess) -> str:
    """An open incident takes precedence over the node's own verdicts."""
    if incident := _incident(window, one):
        return f"explained by the incident on {incident}"
    return str(window.value(one.subject, "job_rank_hardware") or "")


def _hours(won: float) -> str:
    return f"{won:.0f} GPU-hours an hour" if won >= 10 else f"{won:.1f} GPU-hours an hour"


CHECK = Check(
    name="job.slow_ranks",
    asks="Does a rank of the job compute longer than its peers that do the same work?",
    about="rank",
    part="job",
    scope="job",
    reads=(),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="leave the node out at the next restart and test it; if a hardware check names the cause, fix it",
    owner="training",
    repair=Verb.RESET_GPU,
    span=300.0,
    limits=LIMITS,
)
