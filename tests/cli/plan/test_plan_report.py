"""`holdfast plan report`: the docs' scenario becomes one page that needs nothing else; mistakes are named by line."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.cli.app import run
from holdfast.economics.studies import plan_file as plan_scenario
from holdfast.model.refusal import Refusal
from holdfast.model.settings import SettingsError

PAGE = (Path(__file__).parents[3] / "docs" / "plan.md").read_text()
SCENARIO = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0]
HEADLINE = re.findall(r"\$ holdfast plan report cluster.toml\n(.*)\n", PAGE)[0]


def scenario(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "cluster.toml"
    file.write_text(text)
    return file


def test_the_scenario_of_the_docs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = scenario(tmp_path, SCENARIO)
    assert run(["plan", "report", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == HEADLINE
    page = file.with_suffix(".html").read_text()
    assert "Expected result" in page and "What to change first" in page and page.count("<svg") == 3
    assert not re.search(r"<(script|link|img|iframe)", page) and "url(" not in page
    assert "cluster.toml, line 4" in page


def test_its_document_adds_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "report", str(scenario(tmp_path, SCENARIO)), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert sum(document["ledger"].values()) == pytest.approx(1, abs=1e-9)
    worth = [one["worth"] for one in document["changes"]]
    assert worth == sorted(worth, reverse=True)
    spares = document["plans"][2]
    quicker = next(one["halved"] for one in spares["what_matters_most"] if one["input"] == "repair")
    for change in document["changes"]:
        gained = (change["productive"] - document["productive"]) * document["paid_gpu_hours"]
        if change["what"] == "half the repair time":
            gained = (spares["spares"] - quicker) * 8 * 54 * 24
        assert change["worth"] == pytest.approx(gained * document["price"])
    assert [plan["plan"] for plan in document["plans"]] == ["risk", "checkpoint", "spares"]


def test_what_a_quicker_repair_would_win_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "report", str(scenario(tmp_path, SCENARIO)), "--json"]) == 0
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert [one["worth"] > 0 for one in changes if one["what"] == "half the repair time"] == [True]


def test_at_the_best_interval_nothing_is_gained_by_changing_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = scenario(tmp_path, re.sub(r"interval.*\n", "", SCENARIO))
    assert run(["plan", "report", str(file), "--json"]) == 0
    changes = {change["what"] for change in json.loads(capsys.readouterr().out)["changes"]}
    assert "the best checkpoint interval" not in changes and "half the failures" in changes


@pytest.mark.parametrize(
    ("old", "new", "expected_text"),
    [
        ("restart =", "restrat =", "line 12: checkpoint.restrat: unknown key; did you mean restart?"),
        ("[spares]", "[spare]", "line 16: spare: unknown key; did you mean spares?"),
        ("title =", "titel =", "line 1: titel: unknown key; did you mean title?"),
        ("gpus = 16384", "gpus = [1]", "line 4: cluster.gpus: expected a number or a text"),
        ("gpus = 16384", "gpus = 0", "cluster.toml: gpus (line 4): expected 1 to"),
        ('"12m"', '"soon"', "restart (line 12): expected a duration"),
        ("gpus = 16384", "gpus = ", "Invalid value (at line 4"),
        ('rate = "llama3"', "", "cluster.toml: rate is missing"),
        ('price = "h100"', "price = 0", "price (line 7): expected dollars per GPU-hour, above 0"),
        ("swap = 0.4", "swap = 40", "swap (line 18): expected a share such as 0.95 or 95%, at most 1, found 40"),
        ('memory_write = "3s"', 'memory_restart = "3s"', "memory_write is missing"),
        ('interval = "30m"', 'interval = "30d"', "no progress is possible: a write takes 25 s every 30 d"),
        ("[cluster]", "cluster = 3\n[clusters]", "clusters: unknown key; did you mean cluster?"),
        ('"200GB/s"', '"1MB/s"', "no progress is possible"),
    ],
)
def test_mistakes_are_one_sentence_and_no_page(
    old: str, new: str, expected_text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in SCENARIO
    file = scenario(tmp_path, SCENARIO.replace(old, new, 1))
    assert run(["plan", "report", str(file)]) == 64
    printed = capsys.readouterr()
    assert expected_text in printed.err and printed.err.count("\n") == 1 and printed.out == ""
    assert not file.with_suffix(".html").exists()


def test_a_title_cannot_write_into_the_page(tmp_path: Path) -> None:
    file = scenario(tmp_path, SCENARIO.replace("Next year's cluster", "<script>alert(1)</script>"))
    assert run(["plan", "report", str(file), "--out", str(tmp_path / "x.html")]) == 0
    assert "<script>" not in (tmp_path / "x.html").read_text()


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "report", str(tmp_path / "none.toml")]) == 64
    assert "No such file" in capsys.readouterr().err
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00")
    assert run(["plan", "report", str(tmp_path / "b.toml")]) == 64
    assert run(["plan", "report", "/dev/zero"]) == 64
    assert "found more than" in capsys.readouterr().err


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.text(max_size=200) | st.lists(st.sampled_from(SCENARIO.splitlines()), max_size=20).map("\n".join))
def test_any_file_is_a_scenario_or_a_refusal(tmp_path: Path, text: str) -> None:
    file = tmp_path / "any.toml"
    file.write_text(text, encoding="utf-8", newline="")
    try:
        assert isinstance(plan_scenario.load(str(file)).given, dict)
    except (Refusal, SettingsError) as error:
        assert "any.toml" in str(error)


def test_a_section_must_be_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "report", str(scenario(tmp_path, "title = 'x'\ncluster = 3\n"))]) == 64
    assert "line 2: cluster: expected a table, found 3" in capsys.readouterr().err
