"""Is one link or a whole switch bad, so that its traffic waits?"""

from collections.abc import Iterator

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import CONNECTS, FABRIC, POOLS
from holdfast.seams.fabric_links import BANDWIDTH, CONGESTION, ERRORS, USE, Links
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

PORT_WAIT = "port_xmit_wait_ratio"
PORT_BANDWIDTH = "port_bandwidth_bytes_per_second"


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    links = Links(scene)
    switches = sorted({switch for link in links.broken for switch in links.switches_of.get(link, ())})
    whole = [switch for switch in switches if links.most_of(switch, links.broken)]
    for link, signs in links.broken.items():
        yield _link(scene, links, link, signs, whole)
    for switch in whole:
        yield _switch(scene, links, switch)


def _link(scene: Scene, links: Links, link: Subject, signs: list[Symptom], whole: list[Subject]) -> CauseCandidate:
    one = _candidate(scene, links, link, "fabric.uplink", signs)
    one.proven = True
    for sign in signs:
        one.supported_by(2.0 if sign.signal == BANDWIDTH else 1.0, weigh.moved_text(sign))
    mine = [switch for switch in links.switches_of.get(link, ()) if switch in whole]
    if mine:
        one.doubted_by(3.0, f"the other links of {mine[0]} are bad too")
    else:
        well = len(links.beside(link)) - sum(1 for other in links.beside(link) if other in links.broken)
        one.supported_by(1.0, f"{well} links of the same switches are normal")
    return one


def _switch(scene: Scene, links: Links, switch: Subject) -> CauseCandidate:
    bad = [sign for link in sorted(links.of_switch[switch]) for sign in links.broken.get(link, ())]
    kind = "fabric.leaf" if links.below(switch) else "fabric.spine"
    one = _candidate(scene, links, switch, kind, bad)
    one.proven = True
    one.supported_by(3.0, f"nearly all {len(links.of_switch[switch])} links of {switch} are bad")
    below = scene.nodes_under(switch, ("connects",))
    waiting = {**scene.nodes_where(PORT_WAIT, rising=True), **scene.nodes_where(PORT_BANDWIDTH, rising=False)}
    seen = scene.nodes_seen(PORT_WAIT) & below & scene.loaded
    if kind == "fabric.leaf" and (part := weigh.share(waiting, seen)):
        one.supported_by(part, f"ports wait in {100 * part:.0f} % of the working nodes below it")
    return one


def _candidate(scene: Scene, links: Links, cause: Subject, kind: str, signs: list[Symptom]) -> CauseCandidate:
    return CauseCandidate(
        cause=cause,
        kind=kind,
        signs=signs,
        reach=scene.reach(cause, CONNECTS) | links.beside(cause),
        explains=FABRIC | POOLS,
    )


SEAM = Seam(
    name="fabric.uplink",
    asks="Is one link or one switch bad, so that collectives and transfers across it take longer?",
    kinds=("fabric.uplink", "fabric.leaf", "fabric.spine"),
    reads=(BANDWIDTH, ERRORS, CONGESTION, USE, PORT_WAIT, PORT_BANDWIDTH, "job_collective_seconds"),
    domains=("fabric", "runtime", "serving"),
    explain=explain,
)
