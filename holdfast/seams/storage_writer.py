"""Does one node hold up a checkpoint that all others have long written, while storage is well?"""

from collections.abc import Iterator

import numpy as np

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.model.topology import whole_of
from holdfast.seams import weigh
from holdfast.seams.candidate import Candidate
from holdfast.seams.effects import CARRIES, STORAGE
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

WROTE = "rank_checkpoint_seconds"
CHECKPOINT = "job_checkpoint_seconds"
FAR = 1.6  # times the median of the job's ranks
FEW = 0.25  # of a job's nodes: more are no single writer


def explain(scene: Scene) -> Iterator[Candidate]:
    table = scene.panel.of(WROTE)
    if not table.subjects or not len(scene.panel.times):
        return
    last = table.values[:, -1]
    ranks: dict[Subject, list[int]] = {}
    for row, subject in enumerate(table.subjects):
        if np.isfinite(last[row]):
            ranks.setdefault(whole_of(subject) or subject, []).append(row)
    for job, rows in ranks.items():
        if len(rows) > 2:
            yield from _writers(scene, job, np.array(rows))


def _writers(scene: Scene, job: Subject, rows: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> Iterator[Candidate]:
    table, times = scene.panel.of(WROTE), scene.panel.times
    usual = float(np.median(table.values[rows, -1]))
    slow = [int(row) for row in rows if table.values[row, -1] > FAR * usual]
    by_node: dict[Subject, list[int]] = {}
    for row in slow:
        by_node.setdefault(node_of_rank(scene, table.subjects[row]), []).append(row)
    if not by_node or len(by_node) > max(1, FEW * len(scene.jobs.get(job, ()))):
        return
    for node, mine in by_node.items():
        values = table.values[mine[0]]
        far = values > FAR * usual
        since = float(times[len(times) - int(np.argmin(far[::-1]))]) if not far.all() else float(times[0])
        sign = Symptom(table.subjects[mine[0]], WROTE, since, usual, float(values[-1]))
        yield _candidate(scene, job, node, sign, len(mine), len(rows))


def _candidate(scene: Scene, job: Subject, node: Subject, sign: Symptom, count: int, of: int) -> Candidate:
    one = Candidate(
        cause=node,
        kind="storage.one_writer",
        signs=[sign],
        reach=scene.reach(node, CARRIES) | {job},
        explains=STORAGE,
    )
    one.speaks(
        3.0, f"{count} of {of} ranks, all on {node}, took {sign.now:.0f} s to write, the others {sign.before:.0f} s"
    )
    if job in scene.rose(CHECKPOINT):
        one.signs.append(scene.moved(CHECKPOINT)[job])
        one.speaks(1.5, weigh.moved_text(scene.moved(CHECKPOINT)[job], " s"))
    return one


def node_of_rank(scene: Scene, rank: Subject) -> Subject:
    """Where a rank runs; the rank itself where nobody says."""
    places = [edge.source for edge in scene.topology.sources.get(rank, ()) if edge.kind == "runs_on"]
    return (whole_of(places[0]) or places[0]) if places else rank


SEAM = Seam(
    name="storage.writer",
    asks="Does one node hold up a checkpoint that all others have long written, while storage is well?",
    kinds=("storage.one_writer",),
    reads=(WROTE, CHECKPOINT, "storage_latency_seconds"),
    domains=("runtime", "storage"),
    explain=explain,
)
