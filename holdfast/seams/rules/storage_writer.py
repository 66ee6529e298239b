"""Does one node delay a checkpoint that all other nodes finished long before, while storage is healthy?"""

from collections.abc import Iterator

import numpy as np

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.model.topology import whole_or_self
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import CARRIES, STORAGE
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

WROTE = "rank_checkpoint_seconds"
CHECKPOINT = "job_checkpoint_seconds"
FAR = 1.6  # times the median of the job's ranks
LEAST_RANKS = 2
FEW = 0.25  # share of a job's nodes; with more, the cause is not a single writer


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    jobs = {whole_or_self(rank) for rank in scene.panel.of(WROTE).subjects}
    for job in sorted(jobs):
        for node, sign in slow_writers(scene, job).items():
            yield _candidate(scene, job, node, sign)


def slow_writers(scene: Scene, job: Subject) -> dict[Subject, Symptom]:
    """The few nodes of a job whose ranks took far longer than the others for the last checkpoint."""
    table, times = scene.panel.of(WROTE), scene.panel.times
    rows = [row for row, rank in enumerate(table.subjects) if rank.startswith(job + "/")]
    rows = [row for row in rows if np.isfinite(table.values[row, -1])]
    if len(rows) <= LEAST_RANKS:
        return {}
    usual = float(np.median(table.values[rows, -1]))
    found: dict[Subject, Symptom] = {}
    for row in (row for row in rows if table.values[row, -1] > FAR * usual):
        far = table.values[row] > FAR * usual
        since = float(times[len(times) - int(np.argmin(far[::-1]))]) if not far.all() else float(times[0])
        node = node_of_rank(scene, table.subjects[row])
        found.setdefault(node, Symptom(table.subjects[row], WROTE, since, usual, float(table.values[row, -1])))
    return found if len(found) <= max(1, FEW * len(scene.jobs.get(job, ()))) else {}


def _candidate(scene: Scene, job: Subject, node: Subject, sign: Symptom) -> CauseCandidate:
    one = CauseCandidate(
        cause=node,
        kind="storage.one_writer",
        signs=[sign],
        reach=scene.reach(node, CARRIES) | {job},
        explains=STORAGE,
    )
    one.supported_by(3.0, f"the ranks on {node} took {sign.now:.0f} s to write, those elsewhere {sign.before:.0f} s")
    if job in scene.rose(CHECKPOINT):
        one.signs.append(scene.moved(CHECKPOINT)[job])
        one.supported_by(1.5, weigh.moved_text(scene.moved(CHECKPOINT)[job], " s"))
    return one


def node_of_rank(scene: Scene, rank: Subject) -> Subject:
    """The node of a rank; the rank itself if its node is unknown."""
    places = [edge.source for edge in scene.topology.sources.get(rank, ()) if edge.kind == "runs_on"]
    return whole_or_self(places[0]) if places else rank


SEAM = Seam(
    name="storage.writer",
    asks="Does one node delay a checkpoint that all others have written, while storage is normal?",
    kinds=("storage.one_writer",),
    reads=(WROTE, CHECKPOINT, "storage_latency_seconds"),
    domains=("runtime", "storage"),
    explain=explain,
)
