"""Is one GPU, one node or one rank slow alone, without a shared cause?"""

from collections.abc import Iterator

import numpy as np

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.model.topology import whole_of, whole_or_self
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import CARRIES, DEVICE, WORK
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

CLOCK = "gpu_clock_sm_hertz"
HEAT = "gpu_temperature_celsius"
COMPUTE = "rank_compute_seconds"
DATA = "rank_data_seconds"
STEP = "job_step_seconds"
OF_A_STEP = 0.03  # share of a step; less delays no other rank
WITHOUT_INSTRUMENT = 1.2  # confidence 0.77
SPREADS = 5.0  # standard deviations of the other ranks' change
MOST = 0.6  # share of a node's ranks
GPU_SHOWS_SECONDS = 180.0  # three readings, one a minute; until then the GPU itself may be the slow part
TO_BE_SEEN = 0.0
LIMIT_CELSIUS = 70.0
NEAR_CELSIUS = 3.0
SMALL = 0.05  # share of the clock; GPUs of one model differ by as much
PAUSES_SECONDS = 600.0
AT_TIMES = 0.1  # share of the time
FEW = 0.1  # share of a job's ranks; with more, they have something in common


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    slow = scene.fell(CLOCK)
    for gpu, sign in slow.items():
        if whole_of(gpu) not in scene.slow_clocks or len(scene.slow_clocks) == 1:
            yield _gpu(scene, gpu, sign)
    late: dict[Subject, list[Symptom]] = {}
    for rank, sign in {**scene.rose(DATA), **scene.rose(COMPUTE)}.items():
        late.setdefault(whole_or_self(rank), []).append(sign)
    for job, signs in late.items():
        step = scene.usual(STEP, job)
        most = max(1, FEW * _ranks(scene, job))
        if len(signs) > most:  # slow GPUs explain their own ranks, and have a common cause
            signs = [sign for sign in signs if not _ill(scene, sign.subject, slow)]
        shared = _nodes_of(scene, job, signs)
        for node, mine in shared.items():
            yield _node(scene, job, node, mine, slow)
        signs = [sign for sign in signs if not any(sign in mine for mine in shared.values())]
        for sign in signs if len(signs) <= most else ():
            if not sign.now - sign.before < OF_A_STEP * step and not _as_others_do(scene, job, sign):
                yield _rank(scene, sign, slow)


def _gpu(scene: Scene, gpu: Subject, sign: Symptom) -> CauseCandidate:
    one = CauseCandidate(cause=gpu, kind="gpu.slow", signs=[sign], reach=scene.reach(gpu, CARRIES), explains=DEVICE)
    one.supported_by(2.0, weigh.moved_text(sign, " Hz"))
    node = whole_of(gpu)
    if weigh.fall(sign) < SMALL:
        one.most = WITHOUT_INSTRUMENT
    if node in scene.slow_clocks:
        one.doubted_by(2.0, "the other GPUs of its node are slow too")
    else:
        one.supported_by(1.0, "the other GPUs of its node are as fast as usual")
    if gpu in scene.moved(HEAT):
        one.doubted_by(1.0, "it is hotter than before")
    if _at_its_limit(scene, gpu):
        one.doubted_by(4.0, "it is at the temperature limit, so it slows down")
        one.most = TO_BE_SEEN
    ranks = [place for place in scene.down(gpu, CARRIES) if place in scene.rose(COMPUTE)]
    if ranks:
        one.supported_by(1.0, weigh.moved_text(scene.moved(COMPUTE)[ranks[0]], " s"))
    return one


def _at_its_limit(scene: Scene, gpu: Subject) -> bool:
    """Whether the GPU is among several equally hot ones. A GPU with a fault of its own draws less and is cooler."""
    table = scene.moves(HEAT)
    now, mine = table.recent[table.seen], scene.recent(HEAT, gpu)
    if len(now) < 2 or mine < LIMIT_CELSIUS:
        return False
    return mine >= float(now.max()) - NEAR_CELSIUS


def _nodes_of(scene: Scene, job: Subject, signs: list[Symptom]) -> dict[Subject, list[Symptom]]:
    """Nodes whose ranks are mostly slower, while the ranks of most other nodes are not."""
    of_node: dict[Subject, set[Subject]] = {}
    for rank in scene.seen(COMPUTE):
        if rank.startswith(job + "/"):
            for gpu in _gpus(scene, rank):
                of_node.setdefault(whole_or_self(gpu), set()).add(rank)
    slower: dict[Subject, list[Symptom]] = {}
    for sign in signs:
        if sign.signal == COMPUTE and not _as_others_do(scene, job, sign):
            for gpu in _gpus(scene, sign.subject):
                slower.setdefault(whole_or_self(gpu), []).append(sign)
    found = {node: mine for node, mine in slower.items() if len(mine) > 1 and len(mine) >= MOST * len(of_node[node])}
    return found if len(found) <= max(1.0, FEW * len(of_node)) else {}


def _node(
    scene: Scene, job: Subject, node: Subject, signs: list[Symptom], slow: dict[Subject, Symptom]
) -> CauseCandidate:
    one = CauseCandidate(
        cause=node,
        kind="node.slow",
        signs=signs,
        reach=scene.reach(node, CARRIES) | {job, *(sign.subject for sign in signs)},
        explains=WORK | {"compute", "data"},
    )
    one.supported_by(3.0, f"{len(signs)} ranks of {job} on {node} compute longer, those on other nodes do not")
    ill = [gpu for sign in signs for gpu in _ill(scene, sign.subject, slow)]
    if len(ill) >= MOST * len(signs):
        one.doubted_by(3.0, f"{ill[0]} and others of its GPUs are slow or hot")
    else:
        one.supported_by(1.0, "clocks and temperatures of its GPUs are normal")
    return one


def _rank(scene: Scene, sign: Symptom, slow: dict[Subject, Symptom]) -> CauseCandidate:
    rank = sign.subject
    one = CauseCandidate(
        cause=rank,
        kind="job.rank_slow",
        signs=[sign],
        reach=frozenset({rank, whole_or_self(rank)}) | scene.down(rank, CARRIES),
        explains=WORK | {"compute", "data"},
    )
    one.supported_by(2.5, weigh.moved_text(sign, " s"))
    ill = _ill(scene, rank, slow)
    if ill:
        one.doubted_by(3.0, f"{ill[0]}, on which it runs, is slow or hot")
    elif set(_gpus(scene, rank)) & scene.seen(CLOCK):
        one.supported_by(1.5, "clock and temperature of its GPU are normal")
        if scene.now - sign.since < GPU_SHOWS_SECONDS:
            one.most = TO_BE_SEEN
    else:
        one.most = WITHOUT_INSTRUMENT
        one.unknown.append(f"{rank}: whether its GPU is slow")
    return one


def _as_others_do(scene: Scene, job: Subject, sign: Symptom) -> bool:
    """Whether the other ranks of the job slowed down or vary as much. Then the slowdown is not this rank's own."""
    table = scene.moves(sign.signal)
    rows = [row for row, rank in enumerate(table.subjects) if table.seen[row] and rank.startswith(job + "/")]
    if len(rows) < 2:
        return False
    longer = table.recent[rows] - table.center[rows]
    middle = float(np.median(longer))
    spread = 1.4826 * float(np.median(np.abs(longer - middle)))
    mine = sign.now - sign.before
    return middle >= 0.5 * mine or mine - middle < SPREADS * spread or _at_times(scene, sign, rows) >= 0.5 * mine


def _at_times(scene: Scene, sign: Symptom, rows: list[int]) -> float:
    """Median of the occasional slowdowns of a job's ranks. Each rank is read at its own time, so a pause of all shows
    in some ranks first."""
    table, columns = scene.moves(sign.signal), round(PAUSES_SECONDS / scene.panel.step)
    late = scene.panel.of(sign.signal).values[rows, -columns:] - table.center[rows][:, None]
    often = np.sort(np.where(np.isnan(late), -np.inf, late), axis=1)[:, -max(1, round(AT_TIMES * late.shape[1]))]
    return float(np.median(often)) if late.size else 0.0


def _gpus(scene: Scene, rank: Subject) -> list[Subject]:
    return [edge.source for edge in scene.topology.sources.get(rank, ()) if edge.kind == "runs_on"]


def _ill(scene: Scene, rank: Subject, slow: dict[Subject, Symptom]) -> list[Subject]:
    """The GPUs of the rank that are slow or hot themselves."""
    return [gpu for gpu in _gpus(scene, rank) if gpu in slow or gpu in scene.moved(HEAT)]


def _ranks(scene: Scene, job: Subject) -> int:
    return sum(1 for subject in scene.panel.of(COMPUTE).subjects if subject.startswith(job + "/"))


SEAM = Seam(
    name="device.slow",
    asks="Is one GPU, one node or one rank slow by itself, so that it delays its job, with no shared cause?",
    kinds=("gpu.slow", "node.slow", "job.rank_slow"),
    reads=(CLOCK, HEAT, COMPUTE, DATA, STEP),
    domains=("accelerators", "runtime"),
    explain=explain,
)
