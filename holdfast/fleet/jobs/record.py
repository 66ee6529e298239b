"""Record of one training job: places and step times of its ranks, and its ledger."""

from dataclasses import dataclass, field
from math import inf, nextafter

from holdfast.fleet.jobs.accounts import Accounts
from holdfast.model import subject
from holdfast.model.history import History
from holdfast.model.signal import Reading, Signal
from holdfast.model.wire.progress import RankWindow
from holdfast.node.checks.job.facts import OWN

SILENT_SECONDS = 120.0
TOGETHER_SECONDS = 30.0  # reports of ranks within this time belong together
COMPARED_SECONDS = 330.0
KEEP_SECONDS = {OWN: COMPARED_SECONDS, "job_transfer_seconds": COMPARED_SECONDS}
GOOD_FOR_SECONDS = 300.0  # a step may take minutes
OVERLAP_SECONDS = 30.0
"""If two nodes report one rank within this time, two jobs share a name."""


@dataclass(slots=True)
class Rank:
    node: str
    window: RankWindow
    last_report_at: float
    attempt: int
    tokens_per_step: float = 0.0


@dataclass(slots=True)
class JobRecord:
    name: str
    owner: str
    ranks: dict[int, Rank] = field(default_factory=dict)
    accounts: Accounts = field(default_factory=Accounts)
    attempt: int = 0
    saved_step: int = -1
    last_report_at: float = 0.0
    unevaluated: int = 0  # windows since the last evaluation
    trouble: str = ""
    _speaker: int = -1
    history: History = field(init=False)

    def __post_init__(self) -> None:
        self.history = History(self.name, KEEP_SECONDS)
        self.history.expect_freshness("progress", GOOD_FOR_SECONDS)
        self.history.expect_freshness("judge", GOOD_FOR_SECONDS)
        self.history.expect_freshness("identity", float("inf"))

    @property
    def subject(self) -> str:
        return subject.job(self.name)

    @property
    def world(self) -> int:
        return max((rank.window.world for rank in self.current), default=0)

    @property
    def current(self) -> list[Rank]:
        """The ranks of the current attempt, lowest first."""
        return [rank for _, rank in sorted(self.ranks.items()) if rank.attempt == self.attempt]

    def fresh(self, now: float) -> list[Rank]:
        return [
            rank for rank in self.current if now - rank.last_report_at <= TOGETHER_SECONDS and not rank.window.ended
        ]

    @property
    def ended(self) -> str:
        """How the job ended; '' while a rank may still report."""
        ways = {rank.window.ended for rank in self.current}
        return "" if not ways or "" in ways else "gone" if "gone" in ways else "closed"

    def take(self, node: str, window: RankWindow, now: float) -> None:
        known = self.ranks.get(window.rank)
        if known is not None and known.node != node and self._both_live(known, window, now):
            self.trouble = f"rank {window.rank} is reported by {known.node} and by {node}: two jobs with one name?"
            return
        if known is not None and _of_an_earlier_session(window, known.window):
            return
        if known is None or known.window.session != window.session:
            known = self._new_session(node, window, known, now)
        known.node, known.window, known.last_report_at = node, window, now
        self.unevaluated += 1
        if window.steps:
            known.tokens_per_step = window.tokens / window.steps
        self.last_report_at = now
        self.saved_step = max(self.saved_step, window.saved_step)
        self._remember(window, now)
        if self._speaks(window.rank, now):
            self.accounts.take(window, self.attempt)

    def _both_live(self, known: Rank, window: RankWindow, now: float) -> bool:
        if known.attempt != self.attempt:  # other ranks of the job have started again, so this one has too
            return False
        other = known.window.session != window.session and window.began < known.last_report_at - OVERLAP_SECONDS
        return other and not known.window.ended and now - known.last_report_at <= OVERLAP_SECONDS

    def _new_session(self, node: str, window: RankWindow, known: Rank | None, now: float) -> Rank:
        """A known rank of the current attempt that starts again begins the next attempt."""
        if known is not None and known.attempt == self.attempt:
            self.accounts.nodes_before = tuple(sorted({rank.node for rank in self.current}))
            self.attempt += 1
            self.saved_step = min(self.saved_step, window.saved_step) if window.saved_step >= 0 else self.saved_step
        self.trouble = ""  # the two apparent jobs were a restart; two jobs would be reported again at once
        self.ranks[window.rank] = rank = Rank(node, window, now, self.attempt)
        self._introduce(window, node, now)
        return rank

    def _speaks(self, number: int, now: float) -> bool:
        """Whether this rank represents the job: the lowest one that reports. Not all ranks need to report."""
        known = self.ranks.get(self._speaker)
        if known is None or known.attempt != self.attempt or now - known.last_report_at > TOGETHER_SECONDS:
            self._speaker = number
        self._speaker = min(self._speaker, number)
        return number == self._speaker

    def distinct(self, about: str, name: str, value: float) -> float:
        """The value, or the next float if it equals the last one: readings are counted, and equal ones would merge."""
        last = self.history.series(about, name)
        return nextafter(value, inf) if last is not None and last.value == value else value

    def remember(self, rank: Rank) -> None:
        """Adds a rank that was known before this controller started."""
        self.ranks[rank.window.rank] = rank
        self._introduce(rank.window, rank.node, rank.last_report_at)

    def _introduce(self, window: RankWindow, node: str, now: float) -> None:
        """Adds the constant values of a rank once."""
        about = f"{self.subject}/rank/{window.rank}"
        signals = [Signal(about, "job_rank_node", node), Signal(about, "job_rank_group", window.group)]
        signals += [] if window.gpu is None else [Signal(about, "job_rank_gpu", float(window.gpu))]
        self.history.add(Reading(source="identity", at=now, signals=signals))

    def _remember(self, window: RankWindow, now: float) -> None:
        if not window.steps:
            return
        about = f"{self.subject}/rank/{window.rank}"
        signals = [
            Signal(about, OWN, self.distinct(about, OWN, window.own_seconds)),
            Signal(about, "job_rank_split", float(window.split)),
        ]
        self.history.add(Reading(source="progress", at=now, signals=signals))


def _of_an_earlier_session(window: RankWindow, now: RankWindow) -> bool:
    """Ignores a late end of an attempt that arrives after the next one started on other nodes."""
    return bool(window.ended) and window.session != now.session and window.began <= now.began
