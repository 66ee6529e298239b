"""Open incidents of the seams: decides which finding opens, continues or takes over an incident, and when one ends."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from holdfast.catalog import seam_kinds
from holdfast.economics.costs.ledger import LossLedger
from holdfast.fleet.incidents.account import continued
from holdfast.fleet.incidents.attribution import attributed, restored
from holdfast.fleet.incidents.business_context import BusinessContext
from holdfast.fleet.incidents.recovery import ended, recovered
from holdfast.fleet.incidents.stops import JobStops
from holdfast.model.account import Account
from holdfast.model.panel import Panel
from holdfast.model.topology import whole_of
from holdfast.seams.persistence import SLOWDOWN
from holdfast.seams.stopped import STOPPED

EXPLAINS_SECONDS = 1800.0  # a finding that began at most this long before a stop may be its cause
TAKE_OVER_SECONDS = 180.0  # a new root must last this long before it takes the victims of an open one
AFTERMATH_SECONDS = 600.0  # a victim may suffer this long after its cause was repaired
SLOW_GPU, CLOCKS = "gpu.slow", ("gpu.clocks",)


@dataclass(slots=True)
class _Known:
    account: Account
    seen: float  # time of the last finding, in fleet time
    stored: float = 0.0  # time of the last write, in wall-clock time


class OpenIncidents:
    """One incident per root cause. All moments are fleet time, unless a parameter says otherwise."""

    def __init__(self, business_context: BusinessContext, close_seconds: float) -> None:
        self._context, self._close_seconds = business_context, close_seconds
        self.ledger = LossLedger()
        self._known: dict[str, _Known] = {}
        self._waiting: dict[str, float] = {}  # root that claims victims of an open incident -> since
        self._suffered: dict[str, float] = {}  # victim of a closed incident -> time of its end

    @property
    def accounts(self) -> dict[str, Account]:
        return {root: known.account for root, known in self._known.items()}

    def clear(self) -> None:
        self._known.clear()

    def restore(self, root: str, account: Account, now: float, clock: float) -> None:
        """Restores an incident that was open before this controller led. Like any other, it must be found again."""
        self._known[root] = _Known(account, now, clock)
        restored(self.ledger, root, account)

    def take(
        self,
        found: dict[str, Account],
        panel: Panel,
        now: float,
        *,
        stops: Mapping[str, JobStops],
        blind_kinds: Collection[str] = (),
        hours_worked: Mapping[str, float] | None = None,
    ) -> dict[str, str]:
        """Opens or updates an incident for each finding. Returns the ended incidents with the reason.

        `blind_kinds`: kinds whose rule failed. An incident of such a kind stays open, because it was not evaluated.
        """
        for root, blind in self._known.items():
            if root not in found and blind.account.kind in blind_kinds:
                blind.seen = now
        lately = panel.last(self._close_seconds)
        found = {root: one for root, one in found.items() if not self._is_aftermath(root, one, lately, now)}
        found, over = self._settled(found, now)
        for root, before in self._known.items():
            stopped = before.account.kind == STOPPED
            cause = explaining(root, before.account.since, self.accounts | found) if stopped else ""
            if cause in found:
                over[root] = f"the cause turned out to be {found[cause].kind} on {cause}"
        for root, one in found.items():
            known = self._known.get(root)
            self._known[root] = _Known(one, now, known.stored if known else 0.0)
        over |= self._gone(found, lately, now, stops)
        for root, known in self._known.items():
            if root not in found and root not in over:
                known.account = continued(known.account, panel.now, self._context)
        priced = attributed(self.ledger, self.accounts, panel, self._context, hours_worked or {}, stops)
        for root, one in priced.items():
            self._known[root].account = one
        self._suffered = {one: at for one, at in self._suffered.items() if at > float(panel.times[0])}
        for root in over:
            self._suffered |= dict.fromkeys(self._known[root].account.victims, now)
        return over

    def close(self, root: str) -> Account:
        self.ledger.close(root)
        return self._known.pop(root).account

    def due(self, before: Mapping[str, Account], over: Collection[str], clock: float, every: float) -> bool:
        """Whether to write the accounts now. All or none are written, because incidents share losses.

        `clock` and `every` (seconds between two writes of a growing bill) are wall-clock time.
        """
        changed = any(
            _differs(before.get(root), known.account) or clock - known.stored >= every
            for root, known in self._known.items()
        )
        if not changed and not over:
            return False
        for known in self._known.values():
            known.stored = clock
        return True

    def _settled(self, found: dict[str, Account], now: float) -> tuple[dict[str, Account], dict[str, str]]:
        """Whether a new root that claims the victims of an open incident has lasted: a sensor that is silent for a
        moment changes no cause. If the new root lasts, the old incident ends, because its cause was another."""
        kept: dict[str, Account] = {}
        over: dict[str, str] = {}
        for root, reported in found.items():
            hurt = {*reported.victims, root}
            rivals = [one for one in self._known if one not in found and hurt & {*self._known[one].account.victims}]
            if root not in self._known and reported.kind == SLOW_GPU and self._suffers(root):
                continue
            if root in self._known or not rivals or reported.kind == STOPPED:
                kept[root] = reported
            elif reported.kind == SLOWDOWN:
                continue  # a slowdown without a cause explains nothing: the incident with a cause stays open
            elif now - self._waiting.setdefault(root, now) >= self._timeout(root, rivals):
                kept[root] = reported
                over |= dict.fromkeys(rivals, f"the cause turned out to be {reported.kind} on {root}")
            else:
                for one in rivals:
                    self._known[one].seen = now
        self._waiting = {root: since for root, since in self._waiting.items() if root in found and root not in kept}
        return kept, over

    def _is_aftermath(self, root: str, reported: Account, lately: Panel, now: float) -> bool:
        """Whether the finding is the remaining trouble of a victim that began before its incident closed; the window
        shows it long after. A victim gets some time to recover, and has recovered when its own signals are normal."""
        over = self._suffered.get(root)
        if over is None or root in self._known or reported.kind == STOPPED or reported.since >= over:
            return False
        return now - over < AFTERMATH_SECONDS or (bool(reported.charts) and recovered(reported, lately, 0.0))

    def _suffers(self, gpu: str) -> bool:
        """Whether the GPU's node is a victim of an open incident that slows clocks, so that the GPU is not the
        cause."""
        node = whole_of(gpu)
        return any(node in one.victims and seam_kinds.absorbs(one.kind, CLOCKS) for one in self.accounts.values())

    def _timeout(self, root: str, rivals: Sequence[str]) -> float:
        victim = any(root in self._known[one].account.victims for one in rivals)
        return AFTERMATH_SECONDS if victim else TAKE_OVER_SECONDS

    def _gone(
        self, found: Mapping[str, Account], lately: Panel, now: float, stops: Mapping[str, JobStops]
    ) -> dict[str, str]:
        """Roots that are no longer found and whose own signals are normal again."""
        unseen = {
            root: known
            for root, known in self._known.items()
            if root not in found and now - known.seen >= self._close_seconds
        }
        over = {
            root: "the finding is gone"
            for root, known in unseen.items()
            if known.account.kind != STOPPED and recovered(known.account, lately, now - known.seen)
        }
        over |= {root: "the job ended" for root, known in unseen.items() if ended(root, known.account, lately)}
        for root, known in unseen.items():
            if known.account.kind == STOPPED and (job := stops.get(root)) is not None and job.since is None:
                over[root] = "the job ended" if job.ended else "it makes steps again"
        return over


def explaining(job: str, since: float, accounts: Mapping[str, Account]) -> str:
    """The root that delays the job and began about when the job stopped; '' without one."""
    for root, one in accounts.items():
        about = root != job and one.since >= since - EXPLAINS_SECONDS and not one.kind.startswith("sensor.")
        if about and any(loss.subject == job for loss in one.losses):
            return root
    return ""


def _differs(before: Account | None, now: Account) -> bool:
    return before is None or (before.kind, before.victims, before.owners) != (now.kind, now.victims, now.owners)
