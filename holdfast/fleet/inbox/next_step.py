"""The next step for a verdict and for a node: remedy, owner, runbook and the commands to run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from holdfast.catalog import runbooks, seam_kinds
from holdfast.fleet.decisions.lifecycle.machine import needs_operator
from holdfast.fleet.decisions.lifecycle.memory import OPERATOR
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.verdict_state import NOT_CLOSED
from holdfast.fleet.inbox.incident_runbook import SHARED, runbook_of
from holdfast.model.command_line import argument, operand
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import OUT_OF_SERVICE, NodeState, Stage
from holdfast.model.wire.report import VerdictChange
from holdfast.node.checks import BY_NAME

BAD = ("fail", "degraded")
WAITS, BREAKER = "fleet.waits", "fleet.breaker_open"
_PLACE_OWNERS = {
    **dict.fromkeys(("leaf", "switch", "spine", "trunk", "fabric"), "network"),
    **dict.fromkeys(("rack", "loop", "cdu", "feed", "room"), "facilities"),
    "storage": "storage",
}
MOST_COMMANDS = 6
_GPU = re.compile(r"/gpu/(\d+)")
_WORST = {"fail": 0, "degraded": 1, "unknown": 2}


class WaitsFor(StrEnum):
    OPERATOR = "operator"
    HOLDFAST = "holdfast"
    """A repair step or a test runs, or comes next by itself."""
    INCIDENT = "incident"
    """An incident elsewhere explains what is wrong with the node; it stays in service."""
    NOTHING = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    text: str
    """What happens or must be done now, in one or two sentences."""
    waits_for: WaitsFor = WaitsFor.NOTHING
    check: str = ""
    """The check whose remedy this is."""
    remedy: str = ""
    owner: str = ""
    runbook: str = ""
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    text: str
    owner: str
    runbook: str
    commands: tuple[str, ...] = ()


def of_verdict(change: VerdictChange, node: str = "") -> Remedy:
    """The next step of a verdict: the agent's remedy, or the check's if the agent sent none. A good verdict has no next
    step; an unknown one has a runbook too."""
    runbook = runbooks.find(change.check)
    name = runbook.name if runbook else ""
    if change.after not in BAD:
        return Remedy(text="", owner="", runbook=name)
    check = BY_NAME.get(change.check)
    owner = change.owner or (check.owner if check else "") or (runbook.owner if runbook else "")
    return Remedy(
        text=change.remedy or (check.remedy if check else "") or _first_act(runbook, node, change.subjects, owner),
        owner=owner,
        runbook=name,
        commands=_commands(runbook, node, change.subjects),
    )


def of_cause(cause: str, node: str = "", subjects: Sequence[str] = (), owner: str = "") -> Remedy:
    """The next step of a check, or of a cause from `holdfast diagnose`. `owner`: replaces the usual owner."""
    runbook = runbooks.find(cause)
    check = BY_NAME.get(cause)
    owner = owner or (check.owner if check else "") or (runbook.owner if runbook else "")
    return Remedy(
        text=(check.remedy if check else "") or _first_act(runbook, node, subjects, owner),
        owner=owner,
        runbook=runbook.name if runbook else "",
        commands=_commands(runbook, node, subjects),
    )


def values(node: str, subjects: Sequence[str] = (), check: str = "") -> dict[str, str]:
    """Values for the names in a runbook; an unknown GPU is N."""
    gpu = next((found[1] for one in subjects if (found := _GPU.search(one))), "N")
    part = next((one.removeprefix(f"node/{node}/") for one in subjects), "PART")
    return {"node": node or "NODE", "gpu": gpu, "part": part, "check": check or "CHECK"}


def of_node(
    node: NodeState, verdicts: Sequence[VerdictChange], policy: Policy, incidents: Sequence[Incident] = ()
) -> NextStep | None:
    """The next step of a node; None for a healthy node in service. `incidents`: the open ones."""
    worst = _worst(node, verdicts)
    if node.stage is Stage.REMOVED:
        return _step(node, worst, WaitsFor.OPERATOR, "It is out of the fleet. When it is repaired, release it.")
    if node.held:
        return _of_held(node, worst, incidents)
    if (refused := _not_closed(node, incidents)) is not None:
        return refused
    if node.stage is Stage.QUARANTINED:
        return _of_quarantined(node, worst, policy)
    if node.stage is Stage.DRAINING:
        return _step(node, worst, WaitsFor.HOLDFAST, "No new work starts. When its work has ended, it is quarantined.")
    if node.stage is Stage.RESETTING:
        return _step(node, worst, WaitsFor.HOLDFAST, f"Repair step {node.repair_step} runs; the full test follows.")
    if node.stage is Stage.TESTING and (node.failed or worst is not None):
        return _step(node, worst, WaitsFor.HOLDFAST, "The full test runs. If it passes, the node returns to service.")
    if worst is None or worst.after not in BAD:
        return None
    if (root := explaining(node, worst, incidents)) is not None:
        return _of_incident(worst.check, root, f"Part of {root.subject}{_titled(root)}. Leave the node in service")
    return _step(node, worst, WaitsFor.OPERATOR, "")


def _not_closed(node: NodeState, incidents: Sequence[Incident]) -> NextStep | None:
    """The next step of a node out of service whose cordon or drain failed."""
    subject = f"node/{node.name}/scheduler"
    failed = next((one for one in incidents if one.subject == subject and one.cause in NOT_CLOSED), None)
    if failed is None or node.stage not in OUT_OF_SERVICE:
        return None
    return NextStep(
        text="Work may still start on it, so no repair step runs. Correct the cause in its incident, then drain it.",
        waits_for=WaitsFor.OPERATOR,
        check=failed.cause,
        owner="platform",
        runbook=runbook.name if (runbook := runbooks.find(failed.cause)) else "",
        commands=(f'holdfast node quarantine {argument(node.name)} --reason "drain again"',),
    )


def _of_held(node: NodeState, worst: VerdictChange | None, incidents: Sequence[Incident]) -> NextStep:
    """The next step of a held node: not the remedy of its own check, which would contradict the holder."""
    check = worst.check if worst is not None else node.cause
    kind, _, name = node.held.partition("/")
    if kind == "maintenance":
        text = f"Planned work ({name}) covers it: failures are recorded, and no step begins before the work is over."
        return NextStep(text=text, check=check, owner="fleet")
    if kind == "pool":
        return _behind_breaker(name, check)
    if node.held.endswith("?"):
        text = (
            f"It takes no new work while Holdfast waits to see whether others behind {node.held.rstrip('?')} fail too. "
            "If none does, its repair begins automatically."
        )
        return NextStep(text=text, waits_for=WaitsFor.HOLDFAST, check=check, owner="fleet")
    root = next((one for one in incidents if one.subject == node.held), None) or Incident(
        id=node.held, opened=node.held_since, subject=node.held, cause=node.cause
    )
    text = f"Its problem is part of {root.subject}{_titled(root)}. Do not repair the node alone"
    return _of_incident(check, root, text)


def _behind_breaker(pool: str, check: str) -> NextStep:
    remedy = of_cause(BREAKER)
    return NextStep(
        text=f"The breaker of pool {pool} is open: as many of its nodes are out of service as the policy allows. This "
        "one fails in service until one of them returns.",
        waits_for=WaitsFor.OPERATOR,
        check=check,
        remedy=remedy.text,
        owner=remedy.owner,
        runbook=remedy.runbook,
        commands=remedy.commands[:MOST_COMMANDS],
    )


def explains(incident: Incident, node: str, check: str) -> bool:
    """Whether the incident explains a verdict of this check on the node."""
    concerned = node in incident.evidence or f"{incident.subject}/".startswith(f"node/{node}/")
    return concerned and (incident.cause == check or seam_kinds.absorbs(incident.cause, (check,)))


def _reaches(incident: Incident, node: str) -> bool:
    """Whether the incident is on another subject and affects this node."""
    return node in incident.evidence and not f"{incident.subject}/".startswith(f"node/{node}/")


def explaining(node: NodeState, change: VerdictChange, incidents: Sequence[Incident]) -> Incident | None:
    """The open incident on another subject of which this verdict is a symptom. A failure counts as the node's own until
    the node is held."""
    for one in incidents:
        symptom = node.held == one.subject or (change.after == "degraded" and _reaches(one, node.name))
        if symptom and change.after in BAD and explains(one, node.name, change.check):
            return one
    return None


def of_symptom(incident: Incident) -> Remedy:
    """The next step of a verdict that an incident explains: the incident's, which the check's would contradict."""
    step = _of_incident("", incident, "")
    text = f"nothing on this node: it is part of {incident.subject}{_titled(incident)}"
    return Remedy(text=text, owner=step.owner, runbook=step.runbook, commands=step.commands)


def _titled(incident: Incident) -> str:
    runbook = runbooks.find(runbook_of(incident))
    return f" ({runbook.title})" if runbook and runbook.name != SHARED else ""


def _of_incident(check: str, incident: Incident, text: str) -> NextStep:
    account, runbook = incident.account, runbooks.find(runbook_of(incident))
    return NextStep(
        text=f"{text}; follow the runbook of that incident.",
        waits_for=WaitsFor.INCIDENT,
        check=check,
        owner=account.owners[0] if account is not None and account.owners else owner_of_place(incident.subject),
        runbook=runbook.name if runbook else SHARED,
        commands=(f"holdfast incident show {operand(incident.subject)}",),
    )


def owner_of_place(subject: str) -> str:
    """The owner of a shared parent."""
    return _PLACE_OWNERS.get(subject.partition("/")[0], "fleet")


def _of_quarantined(node: NodeState, worst: VerdictChange | None, policy: Policy) -> NextStep:
    if node.cause == OPERATOR:
        return _step(node, worst, WaitsFor.OPERATOR, "An operator took it out. Release it when the work on it is done.")
    if needs_operator(node, policy):
        text = "No automatic repair step is left; the node waits for an operator."
        return _step(node, worst, WaitsFor.OPERATOR, text)
    following = policy.of(node.pool).repair_steps[node.repair_step].value.replace("_", " ")
    return _step(node, worst, WaitsFor.HOLDFAST, f"Holdfast runs the next repair step automatically: {following}.")


def _step(node: NodeState, worst: VerdictChange | None, waits_for: WaitsFor, text: str) -> NextStep:
    named = worst.check if worst is not None else node.cause
    remedy = of_verdict(worst, node.name) if worst is not None and worst.after in BAD else of_cause(named, node.name)
    waiting = waits_for is WaitsFor.OPERATOR and node.stage in (Stage.QUARANTINED, Stage.REMOVED)
    runbook = remedy.runbook or (WAITS if waiting else "")
    commands = remedy.commands[:MOST_COMMANDS]
    if waiting:
        commands = (*commands, f'holdfast node release {argument(node.name)} --reason "repaired"')
    return NextStep(
        text=text or f"{remedy.text[:1].upper()}{remedy.text[1:]}.",
        waits_for=waits_for,
        check=named if named != OPERATOR else "",
        remedy=remedy.text,
        owner=remedy.owner or "fleet",
        runbook=runbook,
        commands=commands,
    )


def _worst(node: NodeState, verdicts: Sequence[VerdictChange]) -> VerdictChange | None:
    """The verdict that took the node out if it is still bad, otherwise the worst one."""
    bad = [one for one in verdicts if one.after in BAD]
    return min(bad, key=lambda one: (one.check != node.cause, _WORST[one.after], -one.at, one.check), default=None)


def _first_act(runbook: runbooks.Runbook | None, node: str, subjects: Sequence[str], owner: str) -> str:
    """The first step of the owner, or the first of all. "fleet:" is left out, because the reader operates the fleet;
    the name of another team stays."""
    if runbook is None or not runbook.act:
        return ""
    acts = [one.replace("`", "") for one in runbooks.fill(runbook, values(node, subjects, runbook.name)).act]
    own = next((one for one in acts if one.startswith(f"{owner}: ")), acts[0])
    return own.removeprefix(f"{owner}: ").removeprefix("fleet: ")


def _commands(runbook: runbooks.Runbook | None, node: str, subjects: Sequence[str]) -> tuple[str, ...]:
    return runbooks.fill(runbook, values(node, subjects, runbook.name)).commands if runbook is not None else ()
