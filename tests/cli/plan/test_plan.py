"""`holdfast plan`: the examples of the docs, one document with --json, one sentence for what cannot be."""

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.cli.app import run
from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.economics.planning.rate import rate

PAGE = (Path(__file__).parents[3] / "docs" / "plan.md").read_text()
EXAMPLES = [one for one in re.findall(r"\$ holdfast (plan .*)\n(.*)\n", PAGE) if "report" not in one[0]]
ANSWERED = [command for command, text in EXAMPLES if not text.startswith("holdfast:")]
REFUSED = {
    "plan risk --gpus 256 --days 30": "--rate is missing",
    "plan risk --gpus 256 --days 30 --rate 3650": "10 failures per GPU and day",
    "plan risk --gpus 256 --days 30 --rate -1": "--rate: expected",
    "plan risk --gpus 256 --days 30 --rate inf": "--rate: expected",
    "plan risk --gpus 256 --days 30 --rate 0": "above 0",
    "plan risk --gpus 0 --days 30 --rate 1": "--gpus: expected 1 to",
    "plan risk --gpus 1e300 --days 30 --rate 1": "--gpus: expected 1 to",
    "plan risk --gpus many --days 30 --rate 1": "--gpus: expected a number",
    "plan risk --gpus 8 --days 0 --rate 1": "--days: expected",
    "plan risk --gpus 8 --days 1 --events 3": "--gpu-years is missing",
    "plan risk --gpus 8 --days 1 --events 1.5 --gpu-years 2": "whole number",
    "plan checkpoint --gpus 8 --rate 1 --write 60": "--write: expected a duration such as",
    "plan checkpoint --gpus 8 --rate 1 --write 0s": "--write: expected a number above 0",
    "plan checkpoint --gpus 8 --rate 1": "--write is missing",
    "plan checkpoint --gpus 8 --rate 1 --write 60s --target 95%": "--state",
    "plan checkpoint --gpus 8 --rate 1 --write 60s --memory-restart 3s": "--memory-write is missing",
    "plan checkpoint --gpus 100000 --rate 365 --write 1s --restart 10d": "no progress is possible",
    "plan checkpoint --gpus 16384 --rate llama3 --state 5TB --bandwidth 2TB/s --target 99.9%": "no storage is fast",
    "plan spares --nodes 2048 --rate rsc1 --crews 5": "no number of spares is enough",
    "plan spares --nodes 2048 --rate rsc1 --confidence 1": "--confidence",
    "plan limit --rate epoch --network-exponent 3/0": "--network-exponent: expected 0",
    "plan limit --rate 365 --state 500PB --bandwidth 1MB/s": "no progress is possible",
    "plan spares --nodes 2048 --rate 365 --repair 10y": "no progress is possible: a node is out every",
    "plan spares --nodes 2048.5 --rate rsc1": "a whole number, found 2048.5",
    "plan cost --gpus 8 --price free": "or one of h100",
    "plan cost --gpus 8 --price 1e9": "at most 1,000,000",
    "plan cost --gpus 8 --price 2 --detect 9999y": "at most 1,000 years",
    "plan price --offer a=2@.9 --offer a=3@.9": "found one twice",
    "plan price": "--offer is missing",
    "plan price --offer cheap": "--offer: expected NAME=PRICE@GOODPUT",
    "plan price --offer a=1@0": "no progress is possible",
    "plan price --offer a=1@.9 --rate llama3": "--gpus is missing",
    "plan price --offer a=1@.9 --gpus 8 --rate llama3 --sla 99%": "--sla: expected UPTIME:CREDIT",
    "plan cost --gpus 8": "--price is missing",
    "plan cost --gpus 8 --price 2 --slow 2": "--slow: expected a share",
    "plan risk --gpus 8 --days 3 --rate 1 --plot - --json": "--plot -: expected a file",
    "plan risk --gpus 8 --days 3 --rate 1 --plot x.gif": "ends in .svg or .png",
    "plan risk --gpus 8 --days 3 --rate 1 --plot /no/such/place/x.svg": "cannot write",
}


def test_the_docs_have_an_example_of_every_plan() -> None:
    assert {command.split()[1] for command in ANSWERED} == {"risk", "checkpoint", "spares", "limit", "price", "cost"}


@pytest.mark.parametrize(("command", "expected"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_the_examples_of_the_docs_say_what_they_say(
    command: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(shlex.split(command))
    printed = capsys.readouterr()
    if expected.startswith("holdfast:"):
        assert (code, printed.err.strip(), printed.out) == (64, expected, "")
    else:
        assert (code, printed.out.splitlines()[0], printed.err) == (0, expected, "")
        assert "it rests on" in printed.out


@pytest.mark.parametrize("command", ANSWERED)
def test_json_is_one_document_and_every_input_has_its_source(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*shlex.split(command), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["plan"] == command.split()[1]
    assert document["headline"] and document["what_matters_most"]
    for given_input in document["inputs"].values():
        assert given_input["source"] and given_input["unit"]


def test_the_probability_of_the_issue(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "risk", "--gpus", "256", "--days", "30", "--rate", "0.01", "--json"]) == 0
    assert str(json.loads(capsys.readouterr().out)["probability"]).startswith("0.1906")


@pytest.mark.parametrize(("command", "because"), REFUSED.items(), ids=REFUSED)
def test_what_cannot_be_is_one_sentence(command: str, because: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shlex.split(command)) == 64
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert because in printed.err


@pytest.mark.parametrize("command", ANSWERED)
def test_the_plot_is_a_picture_with_a_curve(command: str, tmp_path: Path) -> None:
    target = tmp_path / "curve.svg"
    assert run([*shlex.split(command), "--plot", str(target)]) == 0
    root = ElementTree.fromstring(target.read_text())
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert lines and all(len(line.attrib["points"].split()) > 10 for line in lines)


@pytest.mark.parametrize("command", ANSWERED)
def test_the_terminal_shows_the_curve_too(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*shlex.split(command), "--plot", "-"]) == 0
    drawn = [line for line in capsys.readouterr().out.splitlines() if "\u2502" in line]
    assert len(drawn) == 12
    inked = [column for column in range(60) if any(row[11:][column] != "\u2800" for row in drawn)]
    assert inked == list(range(60))  # the curve goes through every column


def test_a_png_where_matplotlib_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plan]' in a clone")
    command = [*shlex.split(ANSWERED[0]), "--plot"]
    assert run([*command, str(tmp_path / "curve.png")]) == 0
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert run([*command, str(tmp_path / "no" / "curve.png")]) == 64
    assert "cannot write" in capsys.readouterr().err


def test_own_counts_give_an_interval(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "risk", "--gpus", "256", "--days", "30", "--events", "24", "--gpu-years", "100", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    low, high = document["probability_95_percent"]
    assert low < document["probability"] < high


def test_a_closed_form_outside_its_validity_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "checkpoint", "--gpus", "100000", "--rate", "rsc1", "--write", "60s"]) == 0
    assert "outside its validity" in " ".join(capsys.readouterr().out.split())


WILD = (
    "0",
    "1",
    "0.5",
    "1e-9",
    "1e9",
    "1e300",
    "95%",
    "10m",
    "1ms",
    "1e300s",
    "5TB",
    "1B",
    "2TB/s",
    "1e-9B/s",
    "llama3",
)
OPTIONS = {
    "risk": ("gpus", "days", "rate", "shape", "age-days", "events", "gpu-years"),
    "checkpoint": (
        "gpus",
        "rate",
        "write",
        "restart",
        "interval",
        "memory-write",
        "memory-survives",
        "state",
        "target",
    ),
    "spares": ("nodes", "gpus-per-node", "rate", "repair", "swap", "crews", "confidence"),
    "limit": ("rate", "state", "state-gpus", "bandwidth", "network-exponent", "restart"),
    "cost": ("gpus", "price", "detect", "rework", "slow", "slow-for", "people", "hours", "wage", "day-value"),
}


@st.composite
def wild_plans(draw: st.DrawFn) -> list[str]:
    """An example of the docs with some of its inputs replaced: the last of two options counts."""
    command = draw(st.sampled_from([one for one in ANSWERED if one.split()[1] in OPTIONS]))
    chosen = draw(st.lists(st.sampled_from(OPTIONS[command.split()[1]]), unique=True, min_size=1, max_size=3))
    return [*shlex.split(command), *(word for name in chosen for word in (f"--{name}", draw(st.sampled_from(WILD))))]


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(wild_plans())
def test_wild_numbers_are_answered_or_refused_in_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    code = run([*arguments, "--json"])
    printed = capsys.readouterr()
    assert code in (0, 64)
    if code == 0:
        assert json.loads(printed.out)["headline"]
    else:
        assert printed.out == "" and printed.err.count("\n") == 1


@given(st.text(max_size=20))
def test_any_text_is_a_quantity_or_a_refusal(text: str) -> None:
    asked = PlanInputs()
    for take in (asked.duration, asked.size, asked.bandwidth, asked.share):
        try:
            assert take("x", text) >= 0
        except BadNumber as refusal:
            assert str(refusal).startswith("--x")
    try:
        assert rate(asked, text).per_gpu_year > 0
    except BadNumber as refusal:
        assert str(refusal).startswith("--rate")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("1h30m", 5400), ("2 h", 7200), ("1,000s", 1000), ("0.5d", 43200), ("250ms", 0.25)],
)
def test_durations(text: str, seconds: float) -> None:
    assert PlanInputs().duration("x", text) == pytest.approx(seconds)
