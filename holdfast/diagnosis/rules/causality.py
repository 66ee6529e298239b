"""Causality between candidates. A consequence never ranks above its cause."""

from collections.abc import Sequence

from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.diagnosis.rules.weighing import CLOCK_SKEW_SECONDS

MOST = 300  # candidates to compare; of more, the most confident
_CONNECTION_LOST = frozenset({"daemon_lost", "mpi_host_lost"})
LEAST = 0.3  # a candidate below this explains nothing and is reported only if there is no better one


def roots(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that follow from no other, each with what it explains, most likely first."""
    surest = sorted(candidates, key=_likeliest)[:MOST]
    ordered = sorted(surest, key=_first)
    kept: list[Candidate] = []
    for one in ordered:
        root = next((other for other in ordered if other is not one and _explains(other, one)), None)
        if root is None:
            kept.append(one)
        else:
            _explain(root, one)
    return _once_each(sorted(kept, key=_likeliest))


def _once_each(ordered: list[Candidate]) -> list[Candidate]:
    """Merges candidates with the same cause and subject, including their evidence."""
    kept: dict[tuple[object, ...], Candidate] = {}
    for one in ordered:
        subject = one.ranks if one.cause.subject == "rank" else (one.host, one.device)
        first = kept.setdefault((one.name, subject), one)
        if first is not one:
            first.evidence += [item for item in one.evidence if item not in first.evidence]
    return [*kept.values()]


def _first(one: Candidate) -> tuple[int, float]:
    return one.cause.level, one.began or float("inf")


def _likeliest(one: Candidate) -> tuple[bool, int, float]:
    """Sort key: certain ones first, then by distance from the symptom."""
    return one.confidence < 0.4, one.cause.level // 4, -one.confidence


def _explains(root: Candidate, effect: Candidate) -> bool:
    if root.confidence < LEAST or effect.name == root.name:
        return effect.name == root.name and _same_cause_twice(root, effect)
    if _lost_its_end(effect) and root.name == "host.killed":
        return _sooner(root, effect)
    if _lost_its_end(root) and effect.name == "host.killed" and _sooner(effect, root):
        return False
    if not root.cause.can_explain(effect.name):
        return False
    if effect.cause.can_explain(root.name) and not _goes_before(root, effect):
        return False
    if root.confidence < 0.5 and effect.confidence > root.confidence:
        return False
    return not _clearly_sooner(effect, root)


def _lost_its_end(one: Candidate) -> bool:
    """A launcher that only lost the connection to its daemon: the daemon may have been killed before."""
    return one.name == "host.other" and all(item.event.code in _CONNECTION_LOST for item in one.evidence)


def _same_cause_twice(root: Candidate, effect: Candidate) -> bool:
    """Whether both are the same cause, once with and once without its place."""
    return not effect.host and not effect.ranks and bool(root.host or root.ranks)


def _clearly_sooner(one: Candidate, other: Candidate) -> bool:
    return bool(one.began and other.began) and one.began < other.began - CLOCK_SKEW_SECONDS


def _goes_before(root: Candidate, effect: Candidate) -> bool:
    """Of two candidates that may each follow from the other, whether this one comes first: by time, or by distance
    from the symptom."""
    if _sooner(root, effect) or _sooner(effect, root):
        return _sooner(root, effect)
    return (_first(root), root.place) < (_first(effect), effect.place)


def _sooner(one: Candidate, other: Candidate) -> bool:
    if one.began and other.began and one.began != other.began:
        return one.began < other.began
    (file, line), (other_file, other_line) = one.place, other.place
    return file == other_file and line < other_line


def _explain(root: Candidate, effect: Candidate) -> None:
    first = effect.evidence[0]
    place = f" ({first.file.rsplit('/', 1)[-1]}:{first.event.line})" if first.file else ""
    reported = f"{effect.name}{place}"
    if reported not in root.explains:
        root.explains.append(reported)
