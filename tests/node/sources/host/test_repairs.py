"""A repair that was reported clears what happened before it, and only that."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Event, Reading
from holdfast.node.sources.host.repairs import FILE, RepairsSource, record_repair

GPU3, GPU5 = "node/n1/gpu/3", "node/n1/gpu/5"


def history() -> History:
    kept = History("n1")
    kept.inventory = Inventory(node="n1", by_device={"0000:9b:00": GPU3})
    events = [
        Event(kind="xid", at=10, text="Xid 79", device="0000:9b:00"),
        Event(kind="xid", at=10, text="Xid 48", subject=GPU5),
        Event(kind="xid", at=30, text="Xid 79 again", device="0000:9b:00"),
    ]
    kept.add(Reading(source="kmsg", at=30, events=events))
    return kept


def texts(kept: History) -> list[str]:
    return [event.text for event in kept.window(100, 200).events("xid")]


def test_a_repair_clears_the_earlier_events_of_its_gpu_only(tmp_path: Path) -> None:
    kept = history()
    record_repair(str(tmp_path), GPU3, 20.0, "GPU reset")
    kept.add(RepairsSource(str(tmp_path)).read(50.0))
    assert texts(kept) == ["Xid 48", "Xid 79 again"]


def test_a_repair_of_the_node_clears_everything_before_it(tmp_path: Path) -> None:
    kept = history()
    record_repair(str(tmp_path), "node/n1", 40.0, "board replaced")
    kept.add(RepairsSource(str(tmp_path)).read(50.0))
    assert texts(kept) == []


def test_a_mark_from_the_future_or_a_missing_file_clears_nothing(tmp_path: Path) -> None:
    source = RepairsSource(str(tmp_path))
    assert source.read(50.0).events == []
    record_repair(str(tmp_path), "node/n1", 1e9, "a wrong clock")
    assert source.read(50.0).events == []


@given(st.binary(max_size=300))
def test_garbage_is_passed_over(junk: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, FILE).write_bytes(junk + b'\n{"at": 5, "subject": "node/n1", "reason": "ok"}\n')
        assert [event.at for event in RepairsSource(folder).read(50.0).events] == [5.0]
