"""The open incident that explains a slow job, so that one cause has one explanation everywhere."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from holdfast.fleet.incidents.register import is_parent
from holdfast.fleet.jobs.views import SlowView, TrainingDetail, TrainingView
from holdfast.model.health import Health
from holdfast.model.incident import Incident
from holdfast.model.subject import gpu as gpu_subject
from holdfast.model.subject import job as job_subject
from holdfast.model.subject import kind
from holdfast.model.subject import node as node_subject

Explaining = Callable[[str, int | None], str]  # node and GPU -> subject of the incident, '' if none affects it

View = TypeVar("View", bound=TrainingView)


def explaining(open_: Iterable[Incident]) -> Explaining:
    incidents = sorted(open_, key=lambda one: one.opened)
    return lambda node, gpu: next((one.subject for one in incidents if _reaches(one, node, gpu)), "")


def _reaches(one: Incident, node: str, gpu: int | None) -> bool:
    """Whether the incident affects a rank. On a part of a node it explains only that part's rank; on shared
    infrastructure, all ranks of the nodes."""
    if not one.subject.startswith("node/"):
        return is_parent(one.subject) and node in one.evidence
    if one.account is None:
        return False
    if kind(one.subject) == "gpu" and gpu is not None:
        return one.subject == gpu_subject(node, gpu)
    return one.subject == node_subject(node) or one.subject.startswith(node_subject(node) + "/")


def with_incidents(view: View, open_: Iterable[Incident]) -> View:
    """A slow job with the open incident that explains it, if there is one."""
    if view.health is not Health.DEGRADED:
        return view
    incidents = sorted(open_, key=lambda one: one.opened)
    reached = explaining(incidents)
    if isinstance(view, TrainingDetail):
        places = {f"{job_subject(view.job)}/rank/{rank.rank}": (rank.node, rank.gpu) for rank in view.ranks}
        slow = tuple(replace(one, incident=_of_slow(one, places, reached)) for one in view.slow)
        view = replace(view, slow=slow)
    root = next((one.subject for one in incidents if f"incident on {one.subject}" in view.reason), "") or _hurting(
        view, incidents
    )
    if not root:
        return view
    named = f"incident on {root}" in view.reason
    reason = view.reason if named else f"{view.reason}; the incident on {root} slows it"
    return replace(view, incident=root, reason=reason)


def _of_slow(one: SlowView, places: dict[str, tuple[str, int | None]], reached: Explaining) -> str:
    if one.subject in places:
        return reached(*places[one.subject])
    parts = one.subject.split("/")
    return reached(parts[1], int(parts[3])) if kind(one.subject) == "gpu" and parts[3].isdigit() else ""


def _hurting(view: TrainingView, incidents: Iterable[Incident]) -> str:
    """Whether the incident lists the job as affected, with a measured loss or with all of its nodes."""
    about = job_subject(view.job)
    for one in incidents:
        named = [loss for loss in one.account.losses if loss.subject == about] if one.account is not None else []
        if any(loss.share_now for loss in named) or (named and set(view.nodes) <= set(one.evidence)):
            return one.subject
    return ""
