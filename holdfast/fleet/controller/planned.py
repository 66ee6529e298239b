"""Commands of the writer about announced work: stored under its name, audited."""

from collections.abc import Sequence

import msgspec

from holdfast.fleet.api.access import Caller
from holdfast.fleet.controller.transaction import Transaction
from holdfast.fleet.incidents.views import PlannedWorkView
from holdfast.model.records import AuditEntry

KIND = "planned"


def store_planned(work: PlannedWorkView, caller: Caller, transaction: Transaction, fresh: Sequence[bool]) -> None:
    body = msgspec.json.encode(work).decode()
    transaction.store.save_seam_documents(KIND, {work.name: body}, transaction.now)
    _note(transaction, caller, "announce", work.name, f"{', '.join(work.subjects)}"[:300])


def remove_planned(name: str, caller: Caller, transaction: Transaction, fresh: Sequence[bool]) -> bool:
    removed = transaction.store.remove_seam_document(KIND, name)
    if removed:
        _note(transaction, caller, "withdraw", name, "")
    return removed


def _note(transaction: Transaction, caller: Caller, verb: str, name: str, reason: str) -> None:
    transaction.audit.append(
        AuditEntry(
            at=transaction.now, who=caller.name, role=caller.role.value, verb=verb, target=name, outcome="done",
            reason=reason,
        )
    )
