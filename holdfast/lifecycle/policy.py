"""Policy: what this operator wants done. Defaults harm nobody: dry-run, small caps, a person before the third rung."""

from dataclasses import dataclass

from holdfast.model.life import Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    dry_run: bool = True
    """Actions are printed and recorded, not carried out, until an operator switches them on."""
    suite: str = "1"
    """Version of the full suite. A node tested by another version counts as untested."""
    ladder: tuple[Verb, ...] = (Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT)
    """Rungs climbed one after another while the same cause comes back."""
    automatic_rungs: int = 2
    """After this many rungs with the same cause a person decides."""
    inconclusive_tests: int = 3
    """So many unknown test results in a row, then it is a person's case, not a hardware fault."""
    breaker_share: float = 0.10
    """Share of a pool that may be out of service before quarantines stop."""
    breaker_nodes: int = 8
    """The same as an absolute number; the smaller of the two holds, but never less than one node."""
    shared_nodes: int = 4
    """So many nodes behind one parent failing together are the parent's incident."""
    shared_seconds: float = 120.0
    """How close together 'together' is."""
    shared_share: float = 0.5
    """And at least this share of the parent's nodes."""
    lemon_seconds: float = 30 * 86400.0
    """How far back offences count."""
    lemon_offences: int = 3
    """So many offences and the ladder starts one rung higher."""
    degraded_repeats: int = 3
    """A node degraded this often by the same check within the lemon window is drained."""
    shadow_checks: frozenset[str] = frozenset()
    """Checks that are recorded but change nothing."""
    silent_seconds: float = 120.0
    """An agent not heard for so long is unknown and an incident; never a quarantine by itself."""
    blind_seconds: float = 600.0
    """A verdict unknown for so long in service is an alarm; never a drain."""
    spares: int = 0
    """Ready nodes to hold back per pool."""
