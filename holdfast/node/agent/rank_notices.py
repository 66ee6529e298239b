"""Reports hardware errors of a GPU to the ranks that use it: their results may be wrong since then."""

from collections.abc import Iterable

from holdfast.formats.job import orders as job_orders
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Event
from holdfast.model.subject import kind
from holdfast.node.sources.jobs.socket import JobSocketSource

KINDS = ("xid", "gpu_lost", "uvm", "sxid", "mce", "edac")
HARMLESS = ("correctable", "info")
OLD_SECONDS = 600.0  # an agent that starts reads old kernel lines again


def forward(socket: JobSocketSource, events: Iterable[Event], inventory: Inventory, now: float) -> None:
    for event in events:
        at = event.at or now
        if _counts(event) and now - at < OLD_SECONDS:
            subject = event.subject or inventory.subject_of(event.device)
            socket.send(job_orders.happened(at, _words(event, subject)), _gpu(subject), at)


def _counts(event: Event) -> bool:
    return event.kind in KINDS and event.severity not in HARMLESS and event.action != "ignore"


def _gpu(subject: str) -> int | None:
    """The GPU of an event; None if it may be any GPU: then all ranks of the node are notified."""
    number = subject.rpartition("/")[2]
    return int(number) if kind(subject) == "gpu" and number.isdecimal() else None


def _words(event: Event, subject: str) -> str:
    code = f" {event.code}" if event.code is not None else ""
    return f"{event.kind}{code} on {subject or event.device or 'this node'}: {event.text}"
