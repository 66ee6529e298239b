"""Every folder here is an incident of our own: its logs in, the cause and the next step out."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.diagnose.command import gather
from holdfast.diagnosis.evidence.document import document
from holdfast.diagnosis.rules.diagnose import diagnose

HERE = Path(__file__).parent
INCIDENTS = sorted(path.parent.name for path in HERE.glob("*/expected.json"))


def test_there_are_enough_of_them() -> None:
    assert len(INCIDENTS) >= 40


@pytest.mark.parametrize("name", INCIDENTS)
def test_incident(name: str) -> None:
    folder = HERE / name
    expected: dict[str, Any] = json.loads((folder / "expected.json").read_text())
    found, files, unread = gather([path for path in sorted(folder.iterdir()) if path.name != "expected.json"])
    reported = document(diagnose(found), files, unread, [])
    causes = [one["cause"] for one in reported["causes"]]
    assert causes[:1] == ([expected["cause"]] if expected["cause"] else [])
    assert reported["next"]["action"] == expected["action"]
    assert set(expected["also"]) <= set(causes)
    assert not set(expected["never"]) & set(causes)
    if not expected["cause"]:
        return
    assert reported["causes"][0]["subject"].endswith(expected["subject"])
    assert reported["next"]["exclude"] == expected["exclude"]
    assert expected["checkpoint"] in (reported["next"]["checkpoint"] or "")
    assert all(
        Path(one["file"]).is_relative_to(folder) and one["line"] > 0 for one in reported["causes"][0]["evidence"]
    )
