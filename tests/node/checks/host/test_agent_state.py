"""The agent tells of its own disk, and says nothing where no agent runs."""

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.signal import Reading, Signal
from holdfast.node.checks.host.agent_state import CHECK


def verdict(*signals: Signal) -> tuple[Health, str]:
    history = History("n1")
    history.add(Reading(source="agent", at=0, signals=signals))
    found = CHECK(history.window(0, 600))
    return found.health, found.summary()


def test_a_full_disk_degrades_and_says_what_it_costs() -> None:
    health, reason = verdict(Signal("node/n1", "agent_state_trouble", "changes.jsonl: No space left on device"))
    assert health is Health.DEGRADED
    assert "memory only" in reason and "No space left" in reason


def test_a_writable_disk_passes() -> None:
    assert verdict(Signal("node/n1", "agent_state_trouble", ""))[0] is Health.PASS


def test_without_an_agent_it_is_unknown() -> None:
    assert verdict()[0] is Health.UNKNOWN


def test_a_ledger_that_cannot_be_written_degrades_a_disk_that_can() -> None:
    fine = Signal("node/n1", "agent_state_trouble", "")
    health, reason = verdict(fine, Signal("node/n1", "port_ledger_writable", 0.0))
    assert health is Health.DEGRADED
    assert "the ledger of port outages cannot be written" in reason
    assert verdict(fine, Signal("node/n1", "port_ledger_writable", 1.0))[0] is Health.PASS


def test_the_disks_own_trouble_is_reported_first() -> None:
    full = Signal("node/n1", "agent_state_trouble", "No space left on device")
    assert "No space left" in verdict(full, Signal("node/n1", "port_ledger_writable", 0.0))[1]


def test_a_ledger_alone_says_nothing_of_an_agent() -> None:
    assert verdict(Signal("node/n1", "port_ledger_writable", 0.0))[0] is Health.UNKNOWN
