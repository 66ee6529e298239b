"""job.slow_links: no pair or group of ranks communicates slower than others of its kind.

The shortest time of any member counts for a communication: the last one to arrive waited for no other.
"""

from collections import defaultdict

from holdfast.model.health import FailureClass, Health
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.job.facts import Excess, compared, percent

TRANSFER = "job_transfer_seconds"


def judge(window: Window, limits: Limits) -> Verdict:
    job = f"job/{window.inventory.node}"
    kinds: dict[str, list[Subject]] = defaultdict(list)
    for link in window.values(TRANSFER):
        kinds[link.rpartition("/")[2].partition(":")[0]].append(link)
    if not kinds:
        return Verdict(rows=(Row(job, Health.NOT_APPLICABLE, reason="the job names no links"),))
    found = compared(window, TRANSFER, kinds, limits, {})
    if not found:
        why = f"fewer than {limits['least_peers']:.0f} links of a kind were reported"
        return Verdict(rows=(Row(job, Health.UNKNOWN, reason=why),))
    slow = sorted((one for one in found.values() if one.slow), key=lambda one: -one.ratio)
    rows = tuple(_row(one) for one in found.values())
    return Verdict(rows=rows, reason=_sentence(window, slow, found) if slow else "")


def _row(one: Excess) -> Row:
    if not one.slow:
        return Row(one.subject, Health.PASS, one.ratio, one.unit)
    text = f"takes {percent(one.ratio)} longer than links of its kind"
    return Row(one.subject, Health.DEGRADED, one.ratio, one.unit, text)


def _sentence(window: Window, slow: list[Excess], found: dict[Subject, Excess]) -> str:
    names = ", ".join(one.subject.rpartition("/")[2] for one in slow[:4])
    left = f" and {len(slow) - 4} more" if len(slow) > 4 else ""
    shared = _shared(window, {one.subject for one in slow}, found)
    where = f"; all links over {shared} are slow" if shared else "; no single node explains them"
    if len(slow) == 1:
        where = f" between {window.value(slow[0].subject, 'job_link_nodes') or 'nodes not known'}"
    text = f"communication over {names}{left} takes {percent(slow[0].ratio)} longer than over links of its kind"
    return f"job {window.inventory.node}: {text}{where}"


def _shared(window: Window, slow: set[Subject], found: dict[Subject, Excess]) -> str:
    """The one node that all slow links share and no other link uses; '' otherwise."""
    over: dict[str, set[Subject]] = defaultdict(set)
    for link in found:
        for node in str(window.value(link, "job_link_nodes") or "").split(" and "):
            over[node].add(link)
    guilty = [node for node, links in over.items() if node and links == slow]
    return f"node {guilty[0]}" if len(guilty) == 1 else ""


CHECK = Check(
    name="job.slow_links",
    asks="Does a pair or group of ranks communicate slower than others of its kind?",
    about="link",
    part="job",
    scope="job",
    reads=(),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="probe the ports of these nodes and the path between them",
    owner="network",
    span=300.0,
    limits={"slow_ratio": 0.05, "noises": 3.0, "evidence": 4.2, "well_share": 0.5, "least_peers": 4.0},
)
