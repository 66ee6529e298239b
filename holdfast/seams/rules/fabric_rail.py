"""Is one rail bad (the same port of every node) while the other ports of these nodes are healthy?"""

from collections.abc import Iterator

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import CONNECTS, FABRIC
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

WAIT = "port_xmit_wait_ratio"
ABLE = "port_bandwidth_bytes_per_second"
MOST = 0.6
FEW = 0.3


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    bad = {**scene.rose(WAIT), **scene.fell(ABLE)}
    if not bad:
        return
    seen = scene.seen(WAIT) | scene.seen(ABLE)
    for switch, ports in _ports(scene).items():
        mine = ports & seen
        hit = [bad[port] for port in sorted(mine) if port in bad]
        if len(hit) > 1 and len(hit) >= MOST * len(mine):
            yield _switch(scene, switch, hit, len(mine), _others(bad, seen, mine))


def _switch(scene: Scene, switch: Subject, hit: list[Symptom], count: int, others: tuple[int, int]) -> CauseCandidate:
    one = CauseCandidate(
        cause=switch,
        kind="fabric.rail",
        signs=hit,
        reach=scene.reach(switch, CONNECTS),
        explains=FABRIC,
        proven=True,
    )
    one.supported_by(3.0, f"{len(hit)} of {count} ports on {switch} wait or carry less")
    bad, seen = others
    if seen and bad <= FEW * seen:
        one.supported_by(1.5, f"{seen - bad} of {seen} ports elsewhere are normal")
    elif seen:
        one.doubted_by(2.0, f"{bad} of {seen} ports elsewhere wait too")
    return one


def _ports(scene: Scene) -> dict[Subject, set[Subject]]:
    """The ports that the topology lists for a switch, as it does for switches of a rail."""
    rails: dict[Subject, set[Subject]] = {}
    for edge in scene.topology.edges:
        if edge.kind == "connects" and edge.source.startswith("switch/") and "/nic/" in edge.target:
            rails.setdefault(edge.source, set()).add(edge.target)
    return rails


def _others(bad: dict[Subject, Symptom], seen: set[Subject], mine: set[Subject]) -> tuple[int, int]:
    rest = seen - mine
    return sum(1 for port in rest if port in bad), len(rest)


SEAM = Seam(
    name="fabric.rail",
    asks="Is one rail bad: the same port of every node, while the other ports are normal?",
    kinds=("fabric.rail",),
    reads=(WAIT, ABLE, "job_collective_seconds"),
    domains=("fabric", "runtime"),
    explain=explain,
)
