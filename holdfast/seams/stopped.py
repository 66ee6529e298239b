"""Stops that no cause explains: which job, since when, and what was ruled out. The stop itself is measured."""

from holdfast.config.quantities import lasting
from holdfast.model.finding import Finding
from holdfast.seams.scene import Scene
from holdfast.seams.slowdown import ruled_out

STOPPED = "job.stopped"
CONFIDENCE = 0.9  # in the stop itself; its cause is unknown


def stopped(scene: Scene, job: str, since: float, until: float | None, step: int, usual: float | None) -> Finding:
    """The finding of a stopped job. `until`: when it made steps again; None while it stands still."""
    each = f"; a step usually takes {usual:.3g} s" if usual else ""
    nodes = [one for one in scene.topology.up(job, ("runs_on",)) if one.startswith("node/") and "/gpu/" not in one]
    on = f", on {len(nodes)} node{'s' if len(nodes) != 1 else ''}" if nodes else ""
    if until is None:
        last = f" after step {step}" if step >= 0 else ""
        what = f"{job} has made no step for {lasting(max(0.0, scene.now - since))}{last}{each}"
    else:
        what = f"{job} made no step for {lasting(until - since)}, and makes steps again{each}"
    well = ruled_out(scene)
    return Finding(
        cause=job,
        kind=STOPPED,
        confidence=CONFIDENCE,
        raw=CONFIDENCE,
        since=since,
        path=(job,),
        evidence=(
            what,
            f"its nodes are allocated{on}: the scheduler or their agents say so",
            "ruled out, measured and normal: " + (", ".join(well) if well else "nothing, because nothing is measured"),
        ),
        owners=tuple(filter(None, (scene.topology.owner(job),))),
        runbook=STOPPED,
        unknown=("the reason of the stop: no known cause explains it",),
    )
