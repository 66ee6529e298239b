"""A maintenance reservation of ours around each repair step.

`scontrol update state=resume` lifts any drain. A reservation stays: Slurm starts nothing there until it is deleted. So
the order is reserve, drain, read. The read shows every job that Slurm placed before the reservation, and no job starts
after it.
"""

from collections.abc import Iterable

from holdfast.fleet.actions.slurm.commands import SlurmCommands
from holdfast.formats.slurm import reservations
from holdfast.formats.slurm.nodes import SlurmNode
from holdfast.model.lifecycle import Action
from holdfast.runtime.errors import NoAnswer

PREFIX = "holdfast_"
MINUTES = 7 * 24 * 60  # the reservation expires if no controller deletes it; the drain stays
_SHOWN_AS = frozenset({"MAINTENANCE", "RESERVED"})
_EXISTS = "duplicate"
_GONE = ("invalid", "not found")


def name_of(action: Action) -> str:
    """A name per repair step, so that deleting an earlier step's reservation cannot open the node for a later one."""
    return f"{PREFIX}{action.node}_{action.at * 1000:.0f}"


def reserve(commands: SlurmCommands, action: Action) -> None:
    """Reserve the node, so that nothing starts there. Idempotent; raises NoAnswer if Slurm refuses."""
    try:
        commands.ask(
            *("scontrol", "create", "reservation", f"reservationname={name_of(action)}", f"nodes={action.node}"),
            *("starttime=now", f"duration={MINUTES}", "users=root", "flags=MAINT,IGNORE_JOBS"),
        )
    except NoAnswer as error:
        if _EXISTS not in str(error).lower():
            raise


def ours(commands: SlurmCommands, nodes: Iterable[SlurmNode]) -> dict[str, str]:
    """Our reservations with their nodes. Slurm is queried only if some node is reserved."""
    if not any(node.flags & _SHOWN_AS for node in nodes):
        return {}
    shown = reservations.from_scontrol(commands.ask("scontrol", "-a", "-o", "show", "reservation"))
    return {name: kept[0] for name, kept in shown.items() if name.startswith(PREFIX) and len(kept) == 1}


def end(commands: SlurmCommands, names: Iterable[str]) -> None:
    for name in names:
        try:
            commands.ask("scontrol", "delete", f"reservationname={name}")
        except NoAnswer as error:
            if error.retryable or not any(word in str(error).lower() for word in _GONE):
                raise
