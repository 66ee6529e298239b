"""Does an instrument stick, vanish or say what cannot be? Then its values are evidence for nothing."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from holdfast.catalog.seam_signals import signals
from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject, kind
from holdfast.model.topology import whole_of
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.instruments import Lie, lies, silences
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam
from holdfast.seams.silent_together import PARENTS, SHARED, merged

# Confidence 0.7, below a job that is slow: it is a matter of upkeep, and of many instruments one is always odd.
ONE_INSTRUMENT = 0.8
SEVERAL_READINGS = 2.4  # confidence 0.92: that several stop together is no chance
TOGETHER_SECONDS = 60.0
PHASE_SECONDS = 150.0  # readings of one device are not all due at the same moment
NEARLY_ALL = 0.8
MOST_REPORTED = 8
NOWHERE = frozenset({"nowhere"})  # of a job whose nodes are not known


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    found = [lie for lie in lies(dict(scene.panel.tables), scene.panel.times) if not _rests(scene, lie)]
    for lie in found:
        scene.distrust(lie.signal, lie.subject)
    lost = [lie for lie in found if lie.kind == "lost"]
    silent = dict(_silent_domains(scene, [*lost, *_silent_jobs(scene)]))
    for prefix, mine in silent.items():
        yield _clock(prefix, mine)
    left = [lie for lie in lost if lie.subject.partition("/")[0] not in silent]
    for place, mine in merged(scene, grouped(scene, left)).items():
        yield _silent(place, mine)
    broken: dict[tuple[Subject, str], list[Lie]] = defaultdict(list)
    for lie in found:
        if lie.kind != "lost":
            broken[whole_of(lie.subject) or lie.subject, lie.kind].append(lie)
    for (whole, how), mine in broken.items():
        several = len({lie.subject for lie in mine}) > 1
        yield _broken(whole if several else mine[0].subject, how, mine)


def _rests(scene: Scene, lie: Lie) -> bool:
    """What belongs to a node that has nothing to do rests with it."""
    node = whole_of(lie.subject) or lie.subject
    return lie.kind == "stuck" and kind(node) == "node" and node not in scene.loaded


def grouped(scene: Scene, lost: Sequence[Lie]) -> dict[Subject, list[Lie]]:
    """Silent instruments by what they share: one sensor, one device, one node, or all nodes behind one parent."""
    wholes: dict[Subject, list[Lie]] = defaultdict(list)
    for lie in lost:
        wholes[whole_of(lie.subject) or lie.subject].append(lie)
    alone = {whole: mine for whole, mine in wholes.items() if len({lie.subject for lie in mine}) == 1}
    groups: dict[Subject, list[Lie]] = {mine[0].subject: mine for mine in alone.values()}
    away = {whole: mine for whole, mine in wholes.items() if whole not in alone or whole == mine[0].subject}
    for parent, members in _parents(scene, away).items():
        mine = [lie for member in members for lie in away[member]]
        if len(members) > 1 and _together(mine):
            for member in members:
                groups.pop(member, None)
                away.pop(member)
            groups[parent] = mine
    for whole, mine in away.items():
        groups.setdefault(whole, mine)
    return groups


def _parents(scene: Scene, away: Mapping[Subject, Sequence[Lie]]) -> dict[Subject, list[Subject]]:
    """Parents of which nearly every member that ever spoke is silent; each member below one of them at most."""
    if not away:
        return {}
    speaking = {
        whole_of(subject) or subject
        for name, table in scene.panel.tables.items()
        if name in signals() and signals()[name].domain != "runtime"
        for subject in table.subjects
    }
    above = {up for whole in away for up in scene.topology.up(whole, SHARED) if kind(up) in PARENTS}
    groups = []
    for parent in above:
        below = scene.down(parent, SHARED)
        for of in {kind(whole) for whole in away}:
            members = [one for one in below if kind(one) == of and one in speaking]
            mine = [one for one in members if one in away]
            if len(mine) > 1 and len(mine) >= NEARLY_ALL * len(members):
                groups.append((-len(mine), PARENTS.index(kind(parent)), len(below), parent, mine))
    found: dict[Subject, list[Subject]] = {}
    taken: set[Subject] = set()
    for *_, parent, mine in sorted(groups):  # whoever explains most, and no more than that
        left = [one for one in mine if one not in taken]
        if len(left) > 1:
            found.setdefault(parent, []).extend(left)
            taken |= set(left)
    return found


def _together(mine: Sequence[Lie]) -> bool:
    since = [lie.since for lie in mine]
    return max(since) - min(since) <= TOGETHER_SECONDS + PHASE_SECONDS


def _silent(place: Subject, mine: Sequence[Lie]) -> CauseCandidate:
    if len({lie.subject for lie in mine}) == 1:
        return _broken(mine[0].subject, "lost", mine)
    one = CauseCandidate(
        cause=place,
        kind="sensor.lost",
        signs=[Symptom(lie.subject, lie.signal, lie.since, float("nan"), float("nan")) for lie in mine],
        reach=frozenset(lie.subject for lie in mine),
        explains=frozenset(),
        proven=True,
    )
    of = len({lie.subject for lie in mine})
    one.speaks(4.0, f"all {len(mine)} readings of {of} things that belong to {place} stopped together")
    one.most = ONE_INSTRUMENT if all(lie.doubtful for lie in mine) else SEVERAL_READINGS
    one.unknown.append(f"{place}: what happens there now")
    return one


def _broken(subject: Subject, kind: str, mine: Sequence[Lie]) -> CauseCandidate:
    one = CauseCandidate(
        cause=subject,
        kind=f"sensor.{kind}",
        signs=[Symptom(lie.subject, lie.signal, lie.since, float("nan"), float("nan")) for lie in mine],
        reach=frozenset({subject, *(lie.subject for lie in mine)}),
        explains=frozenset(),
        proven=True,
    )
    one.speaks(4.0, "; ".join(f"{lie.subject} {lie.signal} says {lie.says}" for lie in mine[:MOST_REPORTED]))
    one.unknown += [
        f"{lie.subject} {lie.signal}: not known while its instrument is broken" for lie in mine[:MOST_REPORTED]
    ]
    one.most = ONE_INSTRUMENT
    return one


def _clock(prefix: str, mine: Sequence[Lie]) -> CauseCandidate:
    """A whole domain falls silent at once while all others speak: its clock or its gateway, not its sensors."""
    first = min(lie.since for lie in mine)
    one = CauseCandidate(
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
    """Several jobs that report nothing any more though their GPUs work on. One that ended or waits is silent by
    right, and one alone may hang."""
    tables = {name: scene.panel.of(name) for name in scene.panel.tables if name.startswith("job_")}
    found = [lie for lie in silences(tables, scene.panel.times) if scene.jobs.get(lie.subject, NOWHERE) <= scene.loaded]
    return found if len({lie.subject for lie in found}) > 1 else []


SEAM = Seam(
    name="sensor.broken",
    asks="Is an instrument stuck, lost or impossible, alone or with its whole domain?",
    kinds=("sensor.stuck", "sensor.absurd", "sensor.lost", "sensor.clock"),
    reads=(),
    domains=("cooling", "power", "accelerators"),
    explain=explain,
    asked_first=True,
)
