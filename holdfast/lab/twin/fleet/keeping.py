"""Checkpoint replicas of a simulated training: nodes replicate in pairs, and every second checkpoint goes to
storage."""

from holdfast.lab.twin.fleet.node import GPUS, FleetNode
from holdfast.lab.twin.fleet.progress import OWNER
from holdfast.lab.twin.fleet.training import STEPS_BETWEEN, TrainingJob
from holdfast.model.wire.keeper import HeldStep, Holdings, KeeperReport

STORAGE_EVERY = 2 * STEPS_BETWEEN
BYTES_A_RANK = 12_000_000_000
BUDGET_BYTES = 512_000_000_000


def kept(node: FleetNode, job: TrainingJob | None) -> tuple[KeeperReport, ...]:
    """Reports of the keepers on a node; none before the first checkpoint."""
    if job is None or not job.saved or node not in job.nodes:
        return ()
    place = job.nodes.index(node)
    own, partners = _ranks(place), _ranks(place ^ 1) if place ^ 1 < job.size else ()
    committed, stored = job.saved - 1, job.saved // STORAGE_EVERY * STORAGE_EVERY - 1
    steps = [HeldStep(step=committed, own=own, partners=partners, stored=own if stored == committed else ())]
    if 0 <= stored < committed:
        steps.append(HeldStep(step=stored, stored=own))
    holds = Holdings(
        node=node.name,
        run=job.name,
        ranks=own,
        world=job.size * GPUS,
        replicas=2 if job.size > 1 else 1,
        committed_step=committed,
        used_bytes=(len(own) + len(partners)) * BYTES_A_RANK,
        budget_bytes=BUDGET_BYTES,
        steps=tuple(steps),
    )
    unsaved = committed if stored < committed else -1
    return (KeeperReport(job=job.training, owner=OWNER, unsaved_step=unsaved, holds=holds),)


def _ranks(place: int) -> tuple[int, ...]:
    return tuple(range(place * GPUS, (place + 1) * GPUS))
