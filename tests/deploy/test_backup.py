"""What docs/backup.md says: a copy of SQLite made while the controller runs is one that another goes on from."""

import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("litestar", reason="needs the extra [controller]")

from ..fleet.controller.running import running  # noqa: TID252  tests are no package to name

pytestmark = pytest.mark.slow


def test_a_copy_made_online_is_gone_on_from(tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with running(tmp_path / "first") as controller:
        controller.ready_node("n01")
        with sqlite3.connect(tmp_path / "first" / "holdfast.db") as live, sqlite3.connect(copy) as kept:
            live.backup(kept)  # what `.backup` of the sqlite3 program does
        after = controller.ready_node("n02")
    (tmp_path / "second").mkdir()
    copy.rename(tmp_path / "second" / "holdfast.db")
    with running(tmp_path / "second") as controller:
        assert controller.stage("n01") == "ready"
        assert [one["name"] for one in controller.get("/v1/nodes")["nodes"]] == ["n01"]
        assert controller.report([after.next(heartbeat=True)], after.credential).status_code == 401  # enrolled since
        assert any("testing -> ready" in entry["title"] for entry in controller.node_history("n01"))
