"""`holdfast drill`: the files that come along, a run, a play, and every mistake named."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.app import run
from holdfast.lab.drills.batch import fuzz_tasks
from holdfast.lab.drills.draw import CALM, draw, drawable
from holdfast.lab.drills.draw_hard import draw_hard
from holdfast.lab.drills.file import load, shipped, understand
from holdfast.lab.twin.plant.fault import kinds
from holdfast.model.refusal import Refusal

SMALL = """
title = "A small one"
lasts = "16m"
seed = 3

[fleet]
nodes = 8
nodes_per_rack = 2
racks_per_cdu = 2
nodes_per_leaf = 4

[[job]]
name = "a"
nodes = "n[001-006]"

[[fault]]
kind = "cooling.rack_blocked"
subject = "rack/r1"
start = "11m"
magnitude = 0.7
"""


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return str(path)


def refused(text: str) -> str:
    with pytest.raises(Refusal) as result:
        understand(text, "drill.toml")
    return str(result.value)


def test_what_comes_along_is_understood_and_covers_every_kind_in_pairs() -> None:
    drills = [load(name) for name in shipped()]
    assert len(drills) >= 25
    assert {fault.kind for drill in drills for fault in drill.faults} == set(kinds())
    assert sum(not drill.faults for drill in drills) >= 3
    assert all(drill.pair in shipped() for drill in drills)


def test_every_mistake_is_named_with_its_line_and_the_nearest_name() -> None:
    text = SMALL.replace("nodes_per_rack", "nodes_per_rak").replace('"rack/r1"', '"rack/r11"').replace("kind", "kid")
    message = refused(text)
    assert "drill.toml, line 8: fleet.nodes_per_rak: unknown key; did you mean nodes_per_rack?" in message
    message = refused(SMALL.replace('"rack/r1"', '"rack/r11"').replace("lasts", "lastz").replace("0.7", "7.0"))
    assert "line 3: lastz: unknown key; did you mean lasts?" in message
    assert "there is no rack 'rack/r11'; did you mean rack/r1?" in message


@pytest.mark.parametrize(("old", "new", "expected_text"), [
    ('kind = "cooling.rack_blocked"', 'kind = "cooling.rack_bloked"', "did you mean cooling.rack_blocked?"),
    ("magnitude = 0.7", "magnitude = 7.0", "expected 0.05 to 0.95, found 7.0"),
    ('start = "11m"', 'start = "2h"', "expected a start within the drill"),
    ('start = "11m"', "start = 11", "expected a duration such as"),
    ("n[001-006]", "n[001-099]", "there is no node 'n009'"),
    ("nodes = 8", "nodes = 0", "expected 1 to 4096"),
    ('name = "a"', 'name = "a"\nmtbf = "0s"', "expected one second or more"),
    ("[[job]]", "[job]", "expected tables headed [[job]]"),
    ('title = "A small one"', "title = ", "not valid TOML"),
])  # fmt: skip
def test_a_wrong_value_is_refused_with_what_was_expected(old: str, new: str, expected_text: str) -> None:
    assert expected_text in refused(SMALL.replace(old, new))


def test_two_things_on_one_node_are_refused() -> None:
    assert "job b and job a are both on n006" in refused(SMALL + '[[job]]\nname = "b"\nnodes = "n006"\n')


def test_cadence_too_long_needs_failures_to_be_measured() -> None:
    text = SMALL.replace("cooling.rack_blocked", "schedule.cadence_long").replace("rack/r1", "job/a")
    assert "needs an mtbf" in refused(text.replace("0.7", "5.0"))


def test_a_file_that_is_not_there_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drill", "run", "/nowhere/x.toml"]) == 64
    assert "/nowhere/x.toml: No such file or directory" in capsys.readouterr().err


@given(st.text(max_size=400))
def test_no_text_crashes_the_reader(text: str) -> None:
    try:
        understand(text, "x.toml")
    except Refusal as result:
        assert str(result).startswith("x.toml")


@given(st.sampled_from(SMALL.strip().splitlines()), st.text(max_size=30))
def test_no_line_crashes_the_reader(line: str, other: str) -> None:
    try:
        understand(SMALL.replace(line, f"{line.partition('=')[0]}= {other}"), "x.toml")
    except Refusal as result:
        assert "x.toml" in str(result)


def test_a_run_prints_the_document_that_is_promised(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drill", "run", small, "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output.keys() >= {"truth", "findings", "score", "cost"}
    assert output["truth"][0]["cause"] == "rack/r1"
    assert output["score"].keys() >= {"top1", "top3", "detect_seconds", "false_findings"}
    for finding in output["findings"]:
        assert finding.keys() == {"cause", "kind", "confidence", "at_seconds", "path"}
    assert len(output["cost"]["layers"]) in (0, 5)


def test_the_table_of_several_names_each(
    small: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    assert run(["drill", "run", small, small, "--processes", "1"]) == 0
    out = capsys.readouterr().out
    assert out.count("cooling.rack_blocked rack/r1") >= 2
    assert "First cause right in" in out


def test_a_tabletop_is_played_from_start_to_end(
    small: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setattr("sys.stdin", io.StringIO("\n3\nwho\nnonsense\nguess rack/r9\nguess rack/r2\n"))
    assert run(["drill", "play", small]) == 0
    out = capsys.readouterr().out
    assert "facilities" in out
    assert "There is no rack/r9; did you mean rack/r" in out
    assert "The truth: A small one" in out
    assert "You guessed rack/r2" in out
    assert "schedule slip" in out


def test_drawn_drills_are_the_same_for_the_same_seed_and_of_every_kind() -> None:
    for kind in (*drawable(), CALM):
        assert draw(4, kind) == draw(4, kind)
        assert [fault.kind for fault in draw(4, kind).faults] == ([] if kind == CALM else [kind])
        assert draw_hard(4, kind) == draw_hard(4, kind)
        assert [fault.kind for fault in draw_hard(4, kind).faults][:1] == ([] if kind == CALM else [kind])
    drawn = [kind for _, kind, _ in fuzz_tasks(200, 1, "", 0.15)]
    assert drawn.count(CALM) == 30
    assert set(drawn) == {*drawable(), CALM}


def test_fuzzing_an_unknown_kind_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drill", "fuzz", "--kind", "cooling.fans"]) == 64
    assert "did you mean cooling.fan?" in capsys.readouterr().err


@pytest.mark.slow
def test_fuzzing_prints_a_confusion_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drill", "fuzz", "--seeds", "2", "--kind", "cooling.fan", "--processes", "1", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert sum(output["confusion"]["cooling.fan"].values()) == 2
    assert 0 <= output["top1_low"] <= output["top1_high"] <= 1
