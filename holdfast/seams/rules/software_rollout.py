"""Do only the nodes with a new driver, firmware or image fail?"""

from collections.abc import Iterator
from math import exp, inf, lgamma, log, log1p

from holdfast.catalog.xid import find
from holdfast.model.finding import Symptom
from holdfast.model.signal import Event
from holdfast.model.subject import Subject
from holdfast.model.topology import whole_or_self
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import CARRIES, WORK
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

ROLLOUTS = ("driver_rollout", "firmware_rollout", "image_rollout")
FAILURES = ("xid", "sxid", "node_failed")
OF_AN_APPLICATION = frozenset({13, 43, 45, 94})  # Xids that a program causes itself
LEAST_FAILURES = 2
BY_CHANCE = 0.05


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    cohorts: dict[str, dict[Subject, float]] = {}
    for event in scene.panel.events_of(*ROLLOUTS):
        version = str(event.detail.get("version", "")) or event.kind
        cohorts.setdefault(version, {}).setdefault(_node(event), event.at)
    failures = [event for event in scene.panel.events_of(*FAILURES) if _counts(event)]
    hits = {version: _hits(since, failures) for version, since in cohorts.items()}
    for version, since in cohorts.items():
        for one in _judge(scene, version, since, failures):
            _compare(one, version, hits)
            yield one


def _hits(since: dict[Subject, float], failures: list[Event]) -> list[Event]:
    """Failures on nodes that had the version by then."""
    return [event for event in failures if event.at >= since.get(_node(event), inf)]


def _compare(one: CauseCandidate, version: str, hits: dict[str, list[Event]]) -> None:
    """Evidence for another cause of the failures: a single node, or another version that all failed nodes have."""
    mine = hits[version]
    if len({_node(event) for event in mine}) == 1:
        one.doubted_by(3.0, "they are all of one node, which may be faulty itself")
    for other, theirs in hits.items():
        if other != version and len(theirs) >= len(mine) and all(event in theirs for event in mine):
            one.doubted_by(3.0, f"all of them have {other} too")


def _counts(event: Event) -> bool:
    if event.kind != "xid" or not isinstance(event.code, int):
        return True
    return event.code not in OF_AN_APPLICATION and find(event.code).action != "ignore"


def _judge(scene: Scene, version: str, since: dict[Subject, float], failures: list[Event]) -> Iterator[CauseCandidate]:
    hit = _hits(since, failures)
    others = len(failures) - len(hit)
    nodes = scene.nodes_seen("gpu_temperature_celsius") | set(since)
    first = float(scene.panel.times[0])
    exposed = sum(scene.now - at for at in since.values())
    unexposed = len(nodes) * (scene.now - first) - exposed
    if len(hit) < LEAST_FAILURES or exposed <= 0:
        return
    chance = _at_least(len(hit), len(hit) + others, exposed / (exposed + max(unexposed, 1.0)))
    if chance > BY_CHANCE:
        return
    one = CauseCandidate(
        cause=f"software/{version}",
        kind="software.rollout",
        signs=[Symptom(event.subject, event.kind, event.at, 0.0, 1.0) for event in hit],
        reach=frozenset(place for node in since for place in scene.reach(node, CARRIES)),
        explains=WORK | {"job_failed", "job_down", "xid", "compute", "utilization"},
        began=min(since.values()),
        proven=True,
    )
    one.supported_by(2.0, f"{version}: {len(hit)} failures on {len(since)} nodes that have it, {others} on all others")
    one.supported_by(1.0 if chance > 0.01 else 2.0, f"by chance so uneven once in {1 / max(chance, 1e-6):.0f}")
    yield one


def _node(event: Event) -> Subject:
    return whole_or_self(event.subject)


def _at_least(hits: int, trials: int, share: float) -> float:
    """Probability that at least so many failures hit the cohort if it is no worse than the other nodes."""
    if not 0 < share < 1:
        return 1.0 if hits <= trials * share else 0.0
    every = lgamma(trials + 1)  # logarithms, because binomial coefficients of thousands exceed a float
    ways = (
        every - lgamma(k + 1) - lgamma(trials - k + 1) + k * log(share) + (trials - k) * log1p(-share)
        for k in range(hits, trials + 1)
    )
    return min(1.0, sum(map(exp, ways)))


SEAM = Seam(
    name="software.rollout",
    asks="Do nodes with a new driver, firmware or image fail, while nodes without it do not?",
    kinds=("software.rollout",),
    reads=(),
    domains=("software", "accelerators", "runtime"),
    explain=explain,
)
