"""`holdfast topology`: mistakes of a file, and a network drawn from what Slurm or a subnet tells."""

import json
from pathlib import Path

import pytest

from holdfast.cli.app import run


def test_a_good_file_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.toml"
    file.write_text('[[edge]]\nkind = "cools"\nfrom = "rack/r1"\nto = "node/n[1-3]"\n')
    assert run(["topology", "check", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "things": {"node": 3, "rack": 1}, "edges": {"cools": 3}, "mistakes": [],
    }  # fmt: skip


def test_every_mistake_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        '[[edge]]\nkind = "cool"\nfrom = "rack/r1"\nto = "node/n1"\n'
        '[[edge]]\nkind = "cools"\nfrom = "loop/l1"\nto = "rack/r1"\n'
    )
    assert run(["topology", "check", str(file)]) == 64
    output = capsys.readouterr().err
    assert "did you mean cools?" in output and "loop/l1 is an orphan" in output


def test_slurms_file_is_drawn_and_can_be_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = tmp_path / "topology.conf"
    seen.write_text("SwitchName=s1 Nodes=n[1-4]\nSwitchName=top Switches=s1\n")
    assert run(["topology", "draw", str(seen)]) == 0
    drawn = tmp_path / "t.toml"
    drawn.write_text(capsys.readouterr().out)
    assert run(["topology", "check", str(drawn)]) == 0
    assert "4 connects" in capsys.readouterr().out
    assert run(["topology", "draw", str(seen), "--json"]) == 0
    edges = json.loads(capsys.readouterr().out)["edges"]
    assert len(edges) == 4 and {"kind": "connects", "from": "switch/s1", "to": "node/n1"} in edges


def test_what_is_neither_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = tmp_path / "x"
    seen.write_text("hello\n")
    assert run(["topology", "draw", str(seen)]) == 64
    assert "neither output of ibnetdiscover nor" in capsys.readouterr().err
