"""Locations of a job's checkpoints, from the reports of its keepers."""

from collections import Counter
from collections.abc import Sequence

from holdfast.fleet.jobs.keepers import KeeperState
from holdfast.fleet.jobs.views import CheckpointsView, PlacesView
from holdfast.model.wire.keeper import HeldStep, Holdings

MOST_STEPS = 8
MOST_TROUBLES = 16
NO_KEEPER = "no checkpoint keeper reports it: it does not use Checkpoint, or its keepers cannot reach an agent"


def where(keepers: Sequence[KeeperState], now: float) -> CheckpointsView:
    fresh, left_out = _of_one_run([one for one in keepers if one.fresh(now)])
    if not fresh:
        return CheckpointsView(unknown=_silence(keepers))
    holds = [one.keeping.holds for one in fresh]
    world = max(one.world for one in holds)
    committed = max(one.committed_step for one in holds)
    steps = _steps(holds, committed)
    stored = [one.step for one in steps if world and one.storage == world]
    return CheckpointsView(
        kept_as=fresh[0].keeping.job,
        world=world,
        replicas=max(one.replicas for one in holds),
        keepers=len(fresh),
        committed_step=committed,
        stored_step=max(stored, default=-1),
        unsaved_step=max(one.keeping.unsaved_step for one in fresh),
        used_bytes=sum(one.used_bytes for one in holds),
        budget_bytes=sum(one.budget_bytes for one in holds),
        steps=tuple(steps[:MOST_STEPS]),
        storage_unknown=next((one.storage_unknown for one in holds if one.storage_unknown), ""),
        troubles=_troubles(fresh, left_out, world),
    )


def _of_one_run(fresh: Sequence[KeeperState]) -> tuple[list[KeeperState], list[KeeperState]]:
    """Splits keepers: those of the run with the most keepers, and the others. A node that a restart left out keeps
    its keeper for a while."""
    runs = Counter(one.keeping.holds.run for one in fresh)
    newest = max(runs, key=lambda run: (runs[run], _committed(fresh, run)), default="")
    ours = [one for one in fresh if one.keeping.holds.run == newest]
    return ours, [one for one in fresh if one.keeping.holds.run != newest]


def _committed(fresh: Sequence[KeeperState], run: str) -> int:
    return max(one.keeping.holds.committed_step for one in fresh if one.keeping.holds.run == run)


def _steps(holds: Sequence[Holdings], committed: int) -> list[PlacesView]:
    """Steps, newest first.

    A rank counts once for each kind of place, however many nodes have it. Keepers report one after the other while
    training continues, so a step that is older than the committed one and not in storage is being dropped.
    """
    own: dict[int, set[int]] = {}
    partners: dict[int, set[int]] = {}
    stored: dict[int, set[int]] = {}
    gpus: dict[int, set[int]] = {}
    for one in (step for each in holds for step in (*each.steps, *_surely(each, committed))):
        if one.step >= committed or one.stored:
            own.setdefault(one.step, set()).update(one.own)
            partners.setdefault(one.step, set()).update(one.partners)
            stored.setdefault(one.step, set()).update(one.stored)
            gpus.setdefault(one.step, set()).update(one.gpu)
    return [
        PlacesView(
            step=step,
            own_memory=len(own[step]),
            partner=len(partners[step]),
            storage=len(stored[step]),
            committed=step == committed,
            gpu_memory=len(gpus[step]),
        )
        for step in sorted(own, reverse=True)
    ]


def _surely(holds: Holdings, committed: int) -> Sequence[HeldStep]:
    """Steps that certainly exist. A step that was committed after a keeper's report exists for all ranks of that
    keeper, because keepers keep the committed step until there is a newer one."""
    if holds.committed_step < 0:
        return ()
    own = {rank for step in holds.steps for rank in step.own}
    partners = {rank for step in holds.steps for rank in step.partners}
    return (HeldStep(step=committed, own=tuple(own), partners=tuple(partners)),)


def _troubles(fresh: Sequence[KeeperState], left_out: Sequence[KeeperState], world: int) -> tuple[str, ...]:
    troubles = [f"{one.keeping.holds.node}: {text}" for one in fresh for text in one.keeping.holds.troubles]
    unreceived = world - len({rank for one in fresh for rank in one.keeping.holds.ranks})
    if unreceived > 0:
        troubles.insert(0, f"the keepers of {unreceived} of {world} ranks do not report: their copies are unknown")
    troubles += [
        f"{one.keeping.holds.node}: its keeper is not part of this run and holds an earlier one's" for one in left_out
    ]
    return tuple(troubles[:MOST_TROUBLES])


def _silence(keepers: Sequence[KeeperState]) -> str:
    if not keepers:
        return NO_KEEPER
    stored = max((step.step for one in keepers for step in one.keeping.holds.steps if step.stored), default=-1)
    last = f"the newest that they reported in storage was step {stored}" if stored >= 0 else "none was in storage then"
    return f"its keepers no longer report; {last}"
