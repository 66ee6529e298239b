"""Is an instrument stuck, silent or reporting impossible values? Then its values are no evidence."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from holdfast.catalog.seam_signals import signals
from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject, kind
from holdfast.model.topology import whole_or_self
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.instruments import BadReading, bad_readings, silent_readings
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam
from holdfast.seams.silent_together import PARENTS, SHARED, merged

# Confidence 0.7, lower than for a slow job: it is maintenance, and of many instruments one is always odd.
ONE_INSTRUMENT = 0.8
SEVERAL_READINGS = 2.4  # confidence 0.92: several do not stop together by chance
TOGETHER_SECONDS = 60.0
PHASE_SECONDS = 150.0  # a device's sensors are not all read at the same moment
NEARLY_ALL = 0.8
MOST_REPORTED = 8
NOWHERE = frozenset({"nowhere"})  # node of a job whose nodes are unknown


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    found = [bad for bad in bad_readings(dict(scene.panel.tables), scene.panel.times) if not _rests(scene, bad)]
    for bad in found:
        scene.distrust(bad.signal, bad.subject)
    lost = [bad for bad in found if bad.kind == "lost"]
    silent = dict(_silent_domains(scene, [*lost, *_silent_jobs(scene)]))
    for prefix, mine in silent.items():
        yield _clock(prefix, mine)
    left = [bad for bad in lost if bad.subject.partition("/")[0] not in silent]
    for place, mine in merged(scene, grouped(scene, left)).items():
        yield _silent(place, mine)
    broken: dict[tuple[Subject, str], list[BadReading]] = defaultdict(list)
    for bad in found:
        if bad.kind != "lost":
            broken[whole_or_self(bad.subject), bad.kind].append(bad)
    for (whole, how), mine in broken.items():
        several = len({bad.subject for bad in mine}) > 1
        yield _broken(whole if several else mine[0].subject, how, mine)


def _rests(scene: Scene, bad: BadReading) -> bool:
    """Whether the sensor belongs to an idle node and rests for that reason."""
    node = whole_or_self(bad.subject)
    return bad.kind == "stuck" and kind(node) == "node" and node not in scene.loaded


def grouped(scene: Scene, lost: Sequence[BadReading]) -> dict[Subject, list[BadReading]]:
    """Silent instruments by their common part: one sensor, one device, one node, or all nodes behind a parent."""
    wholes: dict[Subject, list[BadReading]] = defaultdict(list)
    for bad in lost:
        wholes[whole_or_self(bad.subject)].append(bad)
    alone = {whole: mine for whole, mine in wholes.items() if len({bad.subject for bad in mine}) == 1}
    groups: dict[Subject, list[BadReading]] = {mine[0].subject: mine for mine in alone.values()}
    away = {whole: mine for whole, mine in wholes.items() if whole not in alone or whole == mine[0].subject}
    for parent, members in _parents(scene, away).items():
        mine = [bad for member in members for bad in away[member]]
        if len(members) > 1 and _together(mine):
            for member in members:
                groups.pop(member, None)
                away.pop(member)
            groups[parent] = mine
    for whole, mine in away.items():
        groups.setdefault(whole, mine)
    return groups


def _parents(scene: Scene, away: Mapping[Subject, Sequence[BadReading]]) -> dict[Subject, list[Subject]]:
    """Parents of which nearly every member that ever reported is silent; each member belongs to at most one of them."""
    if not away:
        return {}
    speaking = {
        whole_or_self(subject)
        for name, table in scene.panel.tables.items()
        if name in signals()
        for subject in table.subjects
    }
    above = {up for whole in away for up in scene.topology.up(whole, SHARED) if kind(up) in PARENTS}
    groups = []
    for parent in above:
        below = scene.down(parent, SHARED)
        for of in {kind(whole) for whole in away}:
            members = [one for one in below if kind(one) == of and one in speaking]
            mine = [one for one in members if one in away]
            if len(mine) >= NEARLY_ALL * len(members):
                groups.append((-len(mine), PARENTS.index(kind(parent)), len(below), parent, mine))
    found: dict[Subject, list[Subject]] = {}
    taken: set[Subject] = set()
    for *_, parent, mine in sorted(groups):  # the parent with the most silent members, and the smallest of those
        left = [one for one in mine if one not in taken]
        if len(left) > 1:
            found.setdefault(parent, []).extend(left)
            taken |= set(left)
    return found


def _together(mine: Sequence[BadReading]) -> bool:
    since = [bad.since for bad in mine]
    return max(since) - min(since) <= TOGETHER_SECONDS + PHASE_SECONDS


def _silent(place: Subject, mine: Sequence[BadReading]) -> CauseCandidate:
    if len({bad.subject for bad in mine}) == 1:
        return _broken(mine[0].subject, "lost", mine)
    one = CauseCandidate(
        cause=place,
        kind="sensor.lost",
        signs=[Symptom(bad.subject, bad.signal, bad.since, float("nan"), float("nan")) for bad in mine],
        reach=frozenset(bad.subject for bad in mine),
        explains=frozenset(),
        proven=True,
    )
    of = len({bad.subject for bad in mine})
    one.supported_by(4.0, f"all {len(mine)} readings of {of} things that belong to {place} stopped together")
    one.most = ONE_INSTRUMENT if all(bad.doubtful for bad in mine) else SEVERAL_READINGS
    one.unknown.append(f"{place}: what happens there now")
    return one


def _broken(subject: Subject, kind: str, mine: Sequence[BadReading]) -> CauseCandidate:
    one = CauseCandidate(
        cause=subject,
        kind=f"sensor.{kind}",
        signs=[Symptom(bad.subject, bad.signal, bad.since, float("nan"), float("nan")) for bad in mine],
        reach=frozenset({subject, *(bad.subject for bad in mine)}),
        explains=frozenset(),
        proven=True,
    )
    one.supported_by(4.0, "; ".join(f"{bad.subject} {bad.signal} says {bad.says}" for bad in mine[:MOST_REPORTED]))
    one.unknown += [
        f"{bad.subject} {bad.signal}: not known while its instrument is broken" for bad in mine[:MOST_REPORTED]
    ]
    one.most = ONE_INSTRUMENT
    return one


def _clock(prefix: str, mine: Sequence[BadReading]) -> CauseCandidate:
    """A whole domain stops reporting while the others continue: its clock or gateway failed, not its sensors."""
    first = min(bad.since for bad in mine)
    one = CauseCandidate(
        cause=prefix,
        kind="sensor.clock",
        signs=[Symptom(bad.subject, bad.signal, bad.since, float("nan"), float("nan")) for bad in mine],
        reach=frozenset(bad.subject for bad in mine),
        explains=frozenset(),
        began=first,
        proven=True,
    )
    one.supported_by(4.0, f"all {len(mine)} readings of {prefix} stopped together: late, or stamped with a wrong time")
    one.unknown.append(f"{prefix}: what it measures now, and whether it moved before or after others")
    return one


def _silent_domains(scene: Scene, lost: Sequence[BadReading]) -> Iterator[tuple[str, list[BadReading]]]:
    by_prefix: dict[str, list[BadReading]] = defaultdict(list)
    for bad in lost:
        by_prefix[bad.subject.partition("/")[0]].append(bad)
    for prefix, mine in by_prefix.items():
        all_rows = sum(
            sum(1 for subject in table.subjects if subject.startswith(prefix + "/") and subject.count("/") == 1)
            for name, table in scene.panel.tables.items()
            if name in signals() and not signals()[name].sparse
        )
        spread = max(bad.since for bad in mine) - min(bad.since for bad in mine)
        several = len({bad.signal for bad in mine}) > 1 or all_rows > 1
        if several and prefix != "node" and len(mine) >= 0.9 * all_rows and spread <= TOGETHER_SECONDS:
            yield prefix, mine


def _silent_jobs(scene: Scene) -> list[BadReading]:
    """Several jobs that stopped reporting although their GPUs still work. A job that ended or waits reports nothing,
    and a single job may hang."""
    tables = {name: scene.panel.of(name) for name in scene.panel.tables if name.startswith("job_")}
    found = [
        bad
        for bad in silent_readings(tables, scene.panel.times)
        if scene.jobs.get(bad.subject, NOWHERE) <= scene.loaded
    ]
    return found if len({bad.subject for bad in found}) > 1 else []


SEAM = Seam(
    name="sensor.broken",
    asks="Is an instrument stuck, lost or impossible, alone or with its whole domain?",
    kinds=("sensor.stuck", "sensor.absurd", "sensor.lost", "sensor.clock"),
    reads=(),
    domains=("cooling", "power", "accelerators"),
    explain=explain,
    asked_first=True,
)
