"""Is storage slow for all clients, in data or in metadata, so that checkpoints grow into the time between failures?"""

from collections.abc import Iterator

import numpy as np

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import STORAGE, STORES
from holdfast.seams.rules.storage_writer import slow_writers
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

WRITE = "storage_write_bytes_per_second"
LATENCY = "storage_latency_seconds"
METADATA = "storage_metadata_seconds"
CHECKPOINT = "job_checkpoint_seconds"
FAR = 5.0
NO_BURST_SECONDS = 1200.0  # a burst of another job's reads ends within this time
SLOW = 1.8  # times its usual latency
ONE_JOB = 0.6  # confidence 0.65
LASTING = 0.8  # confidence 0.69
UNPROVEN = 0.0  # maximum score until a checkpoint takes longer


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    slow = scene.rose(METADATA)
    for place, sign in slow.items():
        yield _metadata(scene, place, sign)
    for place in sorted({*scene.rose(LATENCY), *scene.fell(WRITE)}):
        yield _writes(scene, place, place in slow)


def _metadata(scene: Scene, place: Subject, sign: Symptom) -> CauseCandidate:
    one = _candidate(scene, place, "storage.metadata", [sign])
    one.supported_by(3.0, weigh.moved_text(sign, " s"))
    if sign.now >= FAR * sign.before:
        one.proven = True
        one.supported_by(1.0, "every metadata operation takes five times as long or more")
    if not _jobs(scene, one, place) and not one.proven:
        one.most = UNPROVEN
    return one


def _writes(scene: Scene, place: Subject, metadata: bool) -> CauseCandidate:
    signs = [found[place] for found in (scene.fell(WRITE), scene.rose(LATENCY)) if place in found]
    one = _candidate(scene, place, "storage.write_slow", signs)
    for sign in signs:
        # Reads of other clients raise the latency, and other jobs write at other rates. The proof is the time of the
        # same job for the same checkpoint.
        one.supported_by(1.0, weigh.moved_text(sign))
    if metadata:
        one.doubted_by(2.0, "its metadata is slow as well")
    if not _jobs(scene, one, place):
        waits = scene.rose(LATENCY).get(place)
        lasting = waits is not None and scene.now - waits.since >= NO_BURST_SECONDS and waits.now >= SLOW * waits.before
        one.most = LASTING if lasting else UNPROVEN
        if lasting:
            one.supported_by(2.0, f"it has been so for more than {NO_BURST_SECONDS:.0f} s")
    return one


def _jobs(scene: Scene, one: CauseCandidate, place: Subject) -> bool:
    """Weighs whether the jobs that write to this storage slow down."""
    writers = {job for job in scene.down(place, STORES) if job.startswith("job/")} & scene.seen(CHECKPOINT)
    slower = [job for job in sorted(writers) if job in scene.rose(CHECKPOINT)]
    for job in slower:
        one.signs.append(scene.moved(CHECKPOINT)[job])
    few = {node for job in slower for node in slow_writers(scene, job)}
    waits = scene.rose(LATENCY).get(place)
    spared = [job for job in sorted(writers - set(slower)) if _wrote_since(scene, job, one.since)]
    if slower and spared:
        one.doubted_by(6.0, f"{spared[0]} writes to it as fast as usual: the limit is in {slower[0]} itself")
    elif slower and one.kind == "storage.write_slow" and waits is None and place in scene.seen(LATENCY):
        one.doubted_by(6.0, "it answers as fast as usual: the job's quota or its amount of data changed")
    elif slower and one.kind == "storage.write_slow" and waits is None and len(slower) == 1:
        one.most = min(one.most, ONE_JOB)
        one.unknown.append(f"{place}: its latency is not measured, and one job alone does not exclude a quota")
    if few:
        one.doubted_by(3.0, f"only the ranks on {', '.join(sorted(few))} took so long")
    elif slower:
        one.supported_by(3.0, f"checkpoints take longer in {len(slower)} of {len(writers)} jobs that write to it")
    return bool(slower)


def _wrote_since(scene: Scene, job: Subject, since: float) -> bool:
    """Was a checkpoint of the job reported after that?"""
    table = scene.panel.of(CHECKPOINT)
    late = table.values[table.index[job], scene.panel.times >= since - scene.panel.step]
    return bool(np.isfinite(late).any() and (np.diff(late[np.isfinite(late)]) != 0).any())


def _candidate(scene: Scene, place: Subject, kind: str, signs: list[Symptom]) -> CauseCandidate:
    return CauseCandidate(cause=place, kind=kind, signs=signs, reach=scene.reach(place, STORES), explains=STORAGE)


SEAM = Seam(
    name="storage.service",
    asks="Is storage slow for all clients, in data or in metadata, so that checkpoints take longer?",
    kinds=("storage.write_slow", "storage.metadata"),
    reads=(WRITE, LATENCY, METADATA, CHECKPOINT),
    domains=("storage", "runtime"),
    explain=explain,
)
