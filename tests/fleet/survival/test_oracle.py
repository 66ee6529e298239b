"""The oracle of the chaos and kill runs: it counts what is lost, and nothing that is not."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.fleet.store import Store
from holdfast.model.wire.report import Report
from tests.stores import new_store

from . import crowd as crowds
from .crowd import Crowd, Member

NOW = 1_800_000_000.0


def report(seq: int) -> Report:
    return Report(node="n1", session="s1", seq=seq, at=NOW)


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = new_store(tmp_path / "holdfast.db")
    opened = Store.open(url)
    opened.record([report(1), report(2)], NOW)
    opened.close()
    return url


def with_member(acknowledged: dict[int, str]) -> Crowd:
    made = Crowd.__new__(Crowd)
    made.members = [Member("n1", ["http://127.0.0.1:1"], "", fails=False, pause=1.0)]
    made.members[0].acknowledged = acknowledged
    return made


def test_what_was_acknowledged_and_is_not_stored_is_named(store: str) -> None:
    found = with_member({1: "10:00:00 by c1", 3: "10:00:02 by c1"}).lost(store)
    assert found == ["n1 3 10:00:02 by c1"]
    assert with_member({1: "", 2: ""}).lost(store) == []


def test_a_node_without_a_session_lost_everything(tmp_path: Path) -> None:
    assert len(with_member({1: "", 2: ""}).lost(new_store(tmp_path / "empty.db"))) == 2


def test_what_is_acknowledged_while_the_store_is_read_is_not_lost(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members go on. One earlier run took such a report for a lost one."""
    crowd = with_member({1: "", 2: ""})
    real = crowds.create_engine

    def reads_then_hears(url: str) -> Any:
        engine = real(url)
        dispose = engine.dispose

        def late() -> None:
            crowd.members[0].acknowledged[3] = "after the read"
            dispose()

        monkeypatch.setattr(engine, "dispose", late)
        return engine

    monkeypatch.setattr(crowds, "create_engine", reads_then_hears)
    assert crowd.lost(store) == []
    assert crowd.lost(store) == ["n1 3 after the read"]
