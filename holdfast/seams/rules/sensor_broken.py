"""Does an instrument stick, vanish or say what cannot be? Then what it says moves nobody."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from holdfast.catalog.seam_signals import signals
from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.seams.candidate import Candidate
from holdfast.seams.instruments import Lie, lies, silences
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

TOGETHER_SECONDS = 60.0
NOBODY = frozenset({"nobody"})  # of a job that runs nowhere we know


def explain(scene: Scene) -> Iterator[Candidate]:
    found = list(lies(dict(scene.panel.tables), scene.panel.times))
    for lie in found:
        scene.distrust(lie.signal, lie.subject)
    lost = [lie for lie in found if lie.kind == "lost"]
    silent = dict(_silent_domains(scene, [*lost, *_silent_jobs(scene)]))
    for prefix, mine in silent.items():
        yield _clock(prefix, mine)
    gone = _gone(scene, lost)
    broken: dict[tuple[Subject, str], list[Lie]] = defaultdict(list)
    for lie in found:
        prefix = lie.subject.partition("/")[0]
        if lie.kind != "lost" or (prefix not in silent and lie.subject not in gone):
            broken[lie.subject, lie.kind].append(lie)
    for (subject, kind), mine in broken.items():
        yield _broken(subject, kind, mine)


def _broken(subject: Subject, kind: str, mine: Sequence[Lie]) -> Candidate:
    one = Candidate(
        cause=subject,
        kind=f"sensor.{kind}",
        signs=[Symptom(subject, lie.signal, lie.since, float("nan"), float("nan")) for lie in mine],
        reach=frozenset({subject}),
        explains=frozenset(),
        proven=True,
    )
    one.speaks(4.0, "; ".join(f"{subject} {lie.signal} says {lie.says}" for lie in mine))
    one.unknown += [f"{subject} {lie.signal}: not known while its instrument is broken" for lie in mine]
    return one


def _clock(prefix: str, mine: Sequence[Lie]) -> Candidate:
    """A whole domain falls silent at once while all others speak: its clock or its gateway, not its sensors."""
    first = min(lie.since for lie in mine)
    one = Candidate(
        cause=prefix,
        kind="sensor.clock",
        signs=[Symptom(lie.subject, lie.signal, lie.since, float("nan"), float("nan")) for lie in mine],
        reach=frozenset(lie.subject for lie in mine),
        explains=frozenset(),
        began=first,
        proven=True,
    )
    one.speaks(4.0, f"all {len(mine)} readings of {prefix} stopped together: late, or stamped with a wrong time")
    one.unknown.append(f"{prefix}: what it measures now, and whether it moved before or after others")
    return one


def _silent_domains(scene: Scene, lost: Sequence[Lie]) -> Iterator[tuple[str, list[Lie]]]:
    by_prefix: dict[str, list[Lie]] = defaultdict(list)
    for lie in lost:
        by_prefix[lie.subject.partition("/")[0]].append(lie)
    for prefix, mine in by_prefix.items():
        all_rows = sum(
            sum(1 for subject in table.subjects if subject.startswith(prefix + "/") and subject.count("/") == 1)
            for name, table in scene.panel.tables.items()
            if name in signals() and not signals()[name].sparse
        )
        spread = max(lie.since for lie in mine) - min(lie.since for lie in mine)
        several = len(mine) > 1 and (len({lie.signal for lie in mine}) > 1 or all_rows > 1)
        if several and prefix != "node" and len(mine) >= 0.9 * all_rows and spread <= TOGETHER_SECONDS:
            yield prefix, mine


def _silent_jobs(scene: Scene) -> list[Lie]:
    """Several jobs of which nothing is told any more though their GPUs work on. One that ended or waits is silent by
    right, and one alone may hang."""
    tables = {name: scene.panel.of(name) for name in scene.panel.tables if name.startswith("job_")}
    found = [lie for lie in silences(tables, scene.panel.times) if scene.jobs.get(lie.subject, NOBODY) <= scene.loaded]
    return found if len({lie.subject for lie in found}) > 1 else []


def _gone(scene: Scene, lost: Sequence[Lie]) -> set[Subject]:
    """Nodes of which nothing at all is seen any more: they are away, their sensors are not broken."""
    places = {lie.subject for lie in lost if lie.subject.startswith("node/")}
    if not places:
        return set()
    speaking: set[Subject] = set()
    several: set[Subject] = set()
    for name, table in scene.panel.tables.items():
        for place in places & set(table.subjects):
            row = table.values[table.index[place], -6:]
            mine = {lie.signal for lie in lost if lie.subject == place}
            if name not in mine:
                several.add(place)
                if not np.isnan(row).all():
                    speaking.add(place)
    return {place for place in places if place in several and place not in speaking}


SEAM = Seam(
    name="sensor.broken",
    asks="Does an instrument stick, vanish, or say what cannot be, alone or with its whole domain?",
    kinds=("sensor.stuck", "sensor.absurd", "sensor.lost", "sensor.clock"),
    reads=(),
    domains=("cooling", "power", "accelerators"),
    explain=explain,
    asked_first=True,
)
