"""Whether a place can be written to."""

from pathlib import Path

from holdfast.supervisor.storage_wait import trouble, wait


def test_a_place_that_takes_writes(tmp_path: Path) -> None:
    assert trouble(str(tmp_path / "not" / "made" / "yet.pt")) == ""
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_does_not() -> None:
    message: list[str] = []
    assert "/proc" in trouble("/proc/holdfast")
    assert "/proc" in wait("/proc/holdfast", 0.0, message.append)
    assert message and message[0].startswith("waits for storage: /proc")
