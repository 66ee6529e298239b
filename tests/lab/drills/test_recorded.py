"""Recorded drills: any plant's readings with a truth are scored by the code that scores ours."""

from pathlib import Path

import pytest

from holdfast.lab.drills.file import load, load_any
from holdfast.lab.drills.recorded import Recorded
from holdfast.model.refusal import Refusal

TOPOLOGY = """
[[edge]]
kind = "cools"
from = "cdu/door7"
to = "rack/r1"

[[edge]]
kind = "cools"
from = "rack/r1"
to = "node/a"

[[edge]]
kind = "runs_on"
from = "node/a"
to = "job/llama"
"""
DRILL = """
title = "a door"
[recording]
signals = "signals.csv"
topology = "topology.toml"
step = "10s"
[[truth]]
cause = "cdu/door7"
kind = "cooling.flow_low"
start = "20m"
accepts = ["rack/r1 cooling.rack_blocked"]
[[truth]]
cause = "job/llama"
kind = "job.slowdown"
tolerated = true
"""


def _folder(tmp_path: Path, rows: list[str], drill: str = DRILL) -> str:
    (tmp_path / "topology.toml").write_text(TOPOLOGY, encoding="utf-8")
    (tmp_path / "signals.csv").write_text("\n".join(["seconds,subject,signal,value", *rows]), encoding="utf-8")
    (tmp_path / "drill.toml").write_text(drill, encoding="utf-8")
    return str(tmp_path / "drill.toml")


def test_a_reading_holds_for_its_own_cadence_and_no_longer(tmp_path: Path) -> None:
    flow = [f"{at},cdu/door7,cdu_flow_litres_per_minute,100" for at in (0, 30, 60, 90)]
    name = _folder(tmp_path, [*flow, "300,node/a,node_power_watts,900"])
    drill = load_any(name)
    assert isinstance(drill, Recorded)
    row = drill.panel.row("cdu_flow_litres_per_minute", "cdu/door7")
    assert row is not None
    assert [bool(value == 100) for value in row[9:20]] == [True] * 9 + [False] * 2  # 2.5 x 30 s after 90 s
    assert [one.named for one in drill.truths] == [("cdu/door7", "cooling.flow_low")]
    assert drill.tolerated == {("job/llama", "job.slowdown")}
    assert [job.id for job in drill.panel.jobs] == ["llama"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("0,cdu/door7,cdu_flow,1", "there is no signal 'cdu_flow'; did you mean"),
        ("x,cdu/door7,cdu_supply_celsius,1", "line 2: expected a number"),
        ("-5,cdu/door7,cdu_supply_celsius,1", "expected seconds from 0 on"),
        ("0,cdu/door7,cdu_supply_celsius", "expected 4 fields, found 3"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, row: str, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        load_any(_folder(tmp_path, [row]))


def test_a_drill_with_a_plant_is_no_recording_and_the_other_way_round(tmp_path: Path) -> None:
    name = _folder(tmp_path, ["0,node/a,node_power_watts,900"])
    with pytest.raises(Refusal, match="recorded signals"):
        load(name)
    with pytest.raises(Refusal, match="fleet"):
        load_any(_folder(tmp_path, ["0,node/a,node_power_watts,900"], DRILL + "[fleet]\nnodes = 3\n"))


def test_the_text_of_an_event_carries_what_rules_read(tmp_path: Path) -> None:
    rows = ["5,xid,node/a/gpu/0,Xid 79", "4,driver_rollout,node/a,driver-1", "6,verdict,node/a,degraded"]
    (tmp_path / "events.csv").write_text("\n".join(["seconds,kind,subject,text", *rows]), encoding="utf-8")
    named = DRILL.replace('step = "10s"', 'events = "events.csv"')
    drill = load_any(_folder(tmp_path, ["0,node/a,node_power_watts,900"], named))
    assert isinstance(drill, Recorded)
    assert [(one.at, one.code, dict(one.detail)) for one in drill.panel.events] == [
        (4, None, {"version": "driver-1"}),
        (5, 79, {}),
        (6, None, {"health": "degraded"}),
    ]
