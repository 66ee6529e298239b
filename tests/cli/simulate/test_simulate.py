"""`holdfast simulate`: the examples of the docs, one document with --json, one sentence for what cannot be."""

import json
import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.app import run
from holdfast.economics.studies.scenario_file import parse
from holdfast.economics.studies.sweep import parse_sweep
from holdfast.model.refusal import Refusal
from holdfast.model.settings import SettingsError

SMALL = """
title = "small"
[cluster]
nodes = 20
days = 10
[policy]
breaker_nodes = 20
breaker_share = 1.0
[[job]]
name = "one"
nodes = 16
[[hazard]]
name = "gpu"
rate = 4.0
"""
ENDLESS = "[cluster]\nnodes = 2000000\ndays = 36500\n[[job]]\nname = 'a'\nnodes = 1\n"
PAGE = Path(__file__).parents[3] / "docs" / "simulate.md"


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return str(path)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert run(["simulate", *arguments, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_the_same_seed_gives_the_same_document(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    first = answer(capsys, small, "--replicas", "3")
    assert first == answer(capsys, small, "--replicas", "3")
    assert first != answer(capsys, small, "--replicas", "3", "--seed", "2")
    shares = [one["mean"] for one in first["ledger"].values()]  # type: ignore[attr-defined]
    assert sum(shares) == pytest.approx(1, abs=1e-9)
    assert first["ettr"]["low"] < first["ettr"]["mean"] < first["ettr"]["high"]  # type: ignore[index]


def test_many_processes_change_no_figure(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Six are done by several processes, three by this one."""
    six, three = (answer(capsys, small, "--replicas", number, "--set", "days=3") for number in ("6", "3"))
    assert six["replicas"] == 6 and six["ettr"] != three["ettr"]
    assert six == answer(capsys, small, "--replicas", "6", "--set", "cluster.days=3")


def test_it_stops_when_it_knows_enough(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, small, "--replicas", "400", "--precision", "5%")["replicas"] == 10


def test_two_policies_are_distinguished_with_the_same_rng(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "slower.toml"
    other.write_text(SMALL.replace('"small"', '"slower"') + '[restart]\ndetect = "10m"\n')
    found = answer(capsys, small, "--compare", str(other), "--replicas", "4")
    assert "slower has" in str(found["verdict"]) and "less productive time: significant, p" in str(found["verdict"])
    assert "4 pairs of replicas with the same random events" in str(found["verdict"])
    assert "(95 %: -" not in str(found["verdict"]), "less is said in words, not with a sign besides"
    same = answer(capsys, small, "--compare", small, "--replicas", "4")
    assert "no difference at all" in str(same["verdict"])


def test_a_sweep_goes_through_every_combination_and_names_the_best(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "sweep.svg"
    found = answer(
        capsys, small, "--replicas", "2", "--sweep", "spares=0:4:2,mttr=1h:3d", "--plot", str(picture)
    )  # fmt: skip
    assert len(found["points"]) == 15  # type: ignore[arg-type]
    assert str(found["verdict"]).startswith("Best: spares=")
    assert picture.read_text().startswith("<svg")


def test_sweeps_are_read_as_they_are_reported() -> None:
    assert [dict(one)["cluster.spares"] for one in parse_sweep("spares=0:64:8")] == list(range(0, 65, 8))
    times = [dict(one)["repair.time"] for one in parse_sweep("mttr=1h:3d")]
    assert times[0] == "3600s" and times[-1] == "259200s" and len(times) == 5
    assert len(parse_sweep("policy.service_degraded=fail|choose_last,spares=1:2:1")) == 4


def test_an_event_log_sets_the_rate(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.csv"
    log.write_text("device,begin,end,event\n" + "a,2025-01-01,2026-01-01,\n" * 100 + "a,,2025-06-01,Xid 79\n")
    assert run(["simulate", small, "--calibrate", str(log), "--replicas", "2", "--json"]) == 0
    printed = capsys.readouterr()
    assert "1 failures of 1 units in 100 unit-years: 0.01 per unit-year" in printed.err
    assert json.loads(printed.out)["interruptions"]["mean"] < 5


def test_a_price_buys_nothing_where_nothing_is_productive(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    idle = ["--set", "price_per_gpu_hour=2", "--set", "job.work=0s", "--replicas", "2"]
    assert answer(capsys, small, *idle)["price_per_productive_gpu_hour"] is None
    assert run(["simulate", small, *idle]) == 0
    assert "2.00 USD per paid GPU-hour buys no productive one." in capsys.readouterr().out


def test_what_takes_longer_than_the_time_between_failures_is_reported(
    small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = answer(capsys, small, "--set", "write=20h", "--replicas", "2")["notes"]
    assert "hardly any progress is possible: a checkpoint takes 20 h and job one fails every 17.1 h" in str(notes)
    assert answer(capsys, small, "--replicas", "2")["notes"] == []


def test_what_was_reported_stands_beside_the_answer(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(small).write_text('reported = ["419 interruptions"]\n' + SMALL)
    assert answer(capsys, small, "--replicas", "2")["reported"] == ["419 interruptions"]
    assert run(["simulate", small, "--replicas", "2"]) == 0
    assert "Reported: 419 interruptions" in capsys.readouterr().out


def test_ageing_parts_are_new_and_that_is_reported(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "lives.csv"
    rows = [f"{number},{4 + number / 100},true" for number in range(100)]
    log.write_text("\n".join(["device,years,died", *rows]))
    command = ["simulate", small, "--calibrate", str(log), "--replicas", "2", "--json"]
    assert run(command) == 0
    printed = capsys.readouterr()
    assert "the parts are new unless hazard[0].age_years is set" in printed.err
    assert json.loads(printed.out)["interruptions"]["mean"] == 0
    assert run([*command, "--set", "hazard[0].age_years=4.5"]) == 0
    assert json.loads(capsys.readouterr().out)["interruptions"]["mean"] > 0


def test_the_coarse_model_says_that_it_is_another(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, small, "--aggregated", "--replicas", "50")
    assert str(found["model"]).startswith("aggregated")
    assert found["ettr"]["mean"] == pytest.approx(found["closed_form_ettr"], rel=0.005)  # type: ignore[index]


@pytest.mark.parametrize(
    ("line", "expected_text"),
    [
        ("[cluster]\nnodes = 20\ndayz = 3", "line 3: cluster.dayz: unknown key; did you mean days?"),
        ("clutser = 1", "line 1: clutser: unknown key; did you mean cluster?"),
        ("[cluster]\nnodes = 0", "nodes: expected 1 or more"),
        ("[cluster]\nnodes = 20\ndays = inf", "line 3: cluster.days: expected a number"),
        ("[cluster]\nnodes = 20\n[[job]]\nname = 'a'\nnodes = 21", "line 5: job[0].nodes: 21 are more than the 20"),
        ("[cluster]\nnodes = 20", "no [[job]]"),
        (f"{ENDLESS}[[hazard]]\nname = 'a'\nrate = 4", "6.4e+09 failures in 36500 days are more than the 1e+08"),
        (f"{ENDLESS}[[maintenance]]\nevery = '1m'\nnodes = 400\nlasts = '1s'", "2.1e+10 nodes under maintenance"),
        (f"{ENDLESS}[[maintenance]]\nevery = '0s'\nnodes = 4\nlasts = '1s'", "every: expected a minute or more"),
        (
            "[cluster]\nnodes = 20\n[policy]\nbreaker_node = 3\n[[job]]\nname = 'a'\nnodes = 1",
            "line 4: policy.breaker_node: unknown key; did you mean breaker_nodes?",
        ),
        (
            "[cluster]\nnodes = 2\n[[job]]\nname = 'a'\nnodes = 1\n[[hazard]]\nname = 'a'\nrate = 4\n"
            "repeat_offender_share = 0.1\nrepeat_offender_times = 1e6",
            "line 10: hazard[0].repeat_offender_times: the worst units would fail 4e+06 times a year",
        ),
        (
            "[cluster]\nnodes = 200000\ndays = 3650\n[[job]]\nname = 'a'\nnodes = 1\n[[hazard]]\nname = 'a'\nrate = 1\n"
            "repeat_offender_share = 0.1\nrepeat_offender_times = 100",
            "1.6e+09 failures in 3650 days are more than",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(line: str, expected_text: str) -> None:
    with pytest.raises((Refusal, SettingsError)) as caught:
        parse(line, "x.toml")
    assert expected_text in str(caught.value)


@pytest.mark.parametrize(
    ("change", "expected_text"),
    [
        ("hazard.rate=99999", "hazard[0].rate: expected 0 to 3650"),
        ("hazard.rate=-1", "hazard[0].rate: expected 0 to 3650"),
        ("hazard.rate=llama4", "expected one of llama3"),
        ("hazard.lasts=soon", "hazard[0].lasts: expected a duration"),
        ("checkpoint.write=90d", "no progress is possible: write is"),
        ("checkpoint.interval=0s", "interval: expected a duration above 0"),
        ("policy.spares=20", "policy.spares: expected 0 or more"),
        ("policy.service_degraded=ignore", "policy.service_degraded"),
        ("hazard.part=fan", "no [[part]] is called 'fan'"),
        ("repair.crews=0", "repair.crews: expected 1 to"),
        ("repair.test=0s", "a test that takes no time proves nothing"),
        ("nonsense", "--set: expected KEY=VALUE"),
        ("hazard[3].rate=1", "expected a number below 1, the number of [[hazard]] in the file"),
        ("title.x=1", "--set: title.x: expected a key of the file's tables"),
        ("cluster[0].spares=1", "--set: cluster[0].spares: expected a key of the file's tables"),
    ],
)
def test_what_cannot_be_is_refused(
    small: str, change: str, expected_text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", small, "--set", change, "--json"]) == 64
    printed = capsys.readouterr()
    assert expected_text in printed.err and printed.out == "" and printed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "expected_text"),
    [
        (["no-such-file.toml"], "no-such-file.toml: No such file"),
        (["llama3", "--sweep", "spares=8:0"], "expected FROM below TO"),
        (["llama3", "--sweep", "spares=0:1e9:1"], "expected at most 10,000"),
        (["llama3", "--sweep", "colour=1:2"], "colour: unknown key"),
        (["llama3", "--sweep", "spares=0:inf:1"], "--sweep: cluster.spares: expected numbers with an end"),
        (["llama3", "--sweep", "policy.service_degraded=fail|choose_last", "--plot", "x.svg"], "has text values"),
        (["llama3", "--compare", "llama3", "--plot", "x.svg"], "--plot: --compare has no chart"),
        (["llama3", "--aggregated", "--precision", "1%"], "--aggregated: expected neither --precision nor --on"),
        (["llama3", "--on", "mars", "--replicas", "1"], "--on: expected processes or ray"),
        (["llama3", "--calibrate", "/dev/null"], "expected columns such as device,begin,end,event"),
        (["llama3", "--precision", "often"], "--precision: expected a share"),
        (["llama3", "--replicas", "0"], "replicas"),
        (["llama3", "--compare", "llama3", "--sweep", "spares=0:1"], "--compare and --sweep are two different studies"),
    ],
)
def test_what_was_asked_wrongly_is_refused(
    arguments: list[str], expected_text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", *arguments]) == 64
    assert expected_text in capsys.readouterr().err


@given(
    st.text(max_size=200) | st.sampled_from(SMALL.splitlines()).map(lambda line: SMALL.replace(line, line + "\n9 = 1"))
)
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        parse(text, "x.toml")
    except (Refusal, SettingsError) as error:
        assert str(error).startswith("x.toml")


def test_the_examples_of_the_docs_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text()
    scenario = page.split("```toml\n")[1].split("```")[0].replace("days = 90", "days = 9")
    Path("next-year.toml").write_text(scenario)
    Path("tolerant.toml").write_text(scenario.replace('"fail"', '"choose_last"'))
    for command, message in re.findall(r"\$ holdfast (simulate next-year.*)\n(.*)\n", page):
        assert run(shlex.split(command)) == 0
        assert capsys.readouterr().out.startswith(message.strip("`"))


@pytest.mark.slow
def test_llama_3_is_what_the_docs_say(capsys: pytest.CaptureFixture[str]) -> None:
    ((command, message),) = re.findall(r"\$ holdfast (simulate llama3.*)\n(.*)\n", PAGE.read_text())
    assert run(shlex.split(command)) == 0
    assert capsys.readouterr().out.splitlines()[0] == message
