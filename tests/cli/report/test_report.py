"""`holdfast report`: sums that agree with each other, a page that needs nothing, wrong sheets refused."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.cli.app import run
from holdfast.economics.costs.month import StageChange, slices
from holdfast.economics.reports import build_month
from holdfast.economics.reports import month_page as report_page
from holdfast.economics.reports import price_sheet as report_sheet
from holdfast.economics.reports.month import GROUPS, summed
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import EventKind, Stage
from holdfast.model.refusal import Refusal
from holdfast.model.settings import SettingsError

DAY = 86_400.0
SHEET = """
checkpoint_interval = "2h"
[[supplier]]
name = "acme"
price_per_gpu_hour = 2.0
nodes = "n[1-2]"
sla = [{ uptime = 0.99, credit = 0.1 }]
[[supplier]]
name = "rest"
price_per_gpu_hour = 1.0
"""


ONE = "[[supplier]]\nname = 'a'\nprice_per_gpu_hour = 1\nnodes = 'n[1-3]'\n"


@pytest.fixture
def sheet(tmp_path: Path) -> str:
    path = tmp_path / "prices.toml"
    path.write_text(SHEET)
    return str(path)


def stage_changes(node: str) -> list[StageChange]:
    def at(day: float, after: Stage, kind: EventKind, cause: str = "") -> StageChange:
        return StageChange(node=node, at=day * DAY, before=Stage.READY, after=after, event=kind, cause=cause)

    return [
        at(-1, Stage.ALLOCATED, EventKind.JOB_STARTED),
        at(10, Stage.DRAINING, EventKind.FAILED, "<b>gpu_xid</b>"),
        at(12, Stage.READY, EventKind.TEST_PASSED),
    ]


@pytest.mark.parametrize("by", GROUPS)
def test_the_groups_sum_to_the_whole(by: str, sheet: str) -> None:
    prices = report_sheet.load(sheet)
    job = Job(id="7", source="slurm", account="vision", nodes=("n1", "n3"), start=-DAY, end=10 * DAY,
              state=JobState.NODE_FAILED)  # fmt: skip
    found = slices(
        ["n1", "n2", "n3"], [*stage_changes("n1"), *stage_changes("n3")], [job], 0, 30 * DAY, prices.checkpoint_interval
    )
    month = summed("2026-10", found, prices, 0, 30 * DAY, by)
    assert month.whole.paid == pytest.approx(30 * 24 * 8 * (2 + 2 + 1))
    assert sum(one.paid for one in month.groups.values()) == pytest.approx(month.whole.paid)
    assert month.whole.gpu_hours["rework"] == pytest.approx(2 * 8 * 1)
    assert month.whole.gpu_hours["waiting"] == pytest.approx(2 * 8 * 48)
    ((supplier, claim),) = month.claims
    assert (supplier, claim.node, claim.down_seconds) == ("acme", "n1", 2 * DAY)
    assert claim.credit == pytest.approx(0.1 * 2 * 8 * 30 * 24)


def test_the_page_needs_nothing_and_runs_nothing(sheet: str) -> None:
    prices = report_sheet.load(sheet)
    found = slices(["n1"], stage_changes("n1"), [], 0, 30 * DAY)
    text = report_page.written(summed("2026-10", found, prices, 0, 30 * DAY, "cause"))
    assert "<b>gpu_xid" not in text and "&lt;b&gt;gpu_xid" in text
    assert "http" not in text and "<script" not in text and "1 node earns" in text


def test_what_no_one_watched_is_no_proof_of_uptime(sheet: str) -> None:
    prices = report_sheet.load(sheet)
    blind = summed("2026-10", slices(["n2"], stage_changes("n2")[2:], [], 0, 30 * DAY), prices, 0, 30 * DAY, "cause")
    assert "in the time that was watched; the rest is unknown" in report_page.written(blind)
    assert any("whether nodes were up in the rest is unknown" in note for note in blind.notes)
    watched = summed("2026-10", slices(["n3"], stage_changes("n3"), [], 0, 30 * DAY), prices, 0, 30 * DAY, "cause")
    assert "missed by any node.</p>" in report_page.written(watched)


def test_a_month_is_its_seconds_in_utc() -> None:
    assert build_month.limits("1970-02", 1e9) == (31 * DAY, 59 * DAY)
    assert build_month.limits("1970-12", 1e9)[1] == 365 * DAY
    assert build_month.limits("1970-02", 40 * DAY)[1] == 40 * DAY, "not over: it ends now"
    for wrong in ("1970-13", "October", "0000-01", "1970-2", "9999-12"):
        with pytest.raises(Refusal, match="--month"):
            build_month.limits(wrong, 1e9)


@pytest.mark.parametrize(
    ("text", "expected_text"),
    [
        ("", "supplier: expected at least one"),
        ("supplier = 3", "expected at least one"),
        ("[[supplier]]\nname = 'a'\nprice = 1", "price_per_gpu_hour"),
        ("[[supplier]]\nname = 'a'\nprice_per_gpu_hour = 1\n" * 2, "line 5: .* is called 'a' already"),
        (ONE + "[[supplier]]\nname = 'b'\nprice_per_gpu_hour = 1\nnodes = 'n[3-4]'", "line 8: .* n3 is of 'a' already"),
        (
            ONE.replace("nodes", "#") + ONE.replace("nodes", "#").replace("'a'", "'b'"),
            "nodes: is missing: 'a' has the rest",
        ),
        ("[[supplier]]\nname = 'a'\nprice_per_gpu_hour = -1", "line 3"),
        ("[[supplier]]\nname = 'a'\nprice_per_gpu_hour = 1\nnodes = 'n[1'", "brackets do not match"),
        ("[[supplier]]\nname = 'a'\nprice_per_gpu_hour = 1\nsla = [{ uptime = 2, credit = 0 }]", "uptime = 0.999"),
        ("[[supplier]]\nname = 'a'\nprice_per_gpu_hour = 1\nsla = [{ uptime = true, credit = 0 }]", "uptime = 0.999"),
        ("[[supplier]]\nname = 'a'\nprice_per_gpu_hour = 1\ngpus_per_nod = 4", "did you mean gpus_per_node?"),
    ],
)
def test_a_wrong_sheet_is_refused(tmp_path: Path, text: str, expected_text: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises((SettingsError, Refusal), match=expected_text.replace("?", r"\?")):
        report_sheet.load(str(path))


@pytest.mark.parametrize(
    ("arguments", "expected_text"),
    [(["--by", "colour"], "--by: expected one of team"), (["--out", "x.pdf"], "ends in .html or .csv")],
)
def test_what_was_asked_wrongly_is_refused(
    arguments: list[str], expected_text: str, sheet: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", "--month", "2026-10", "--prices", sheet, *arguments]) == 64
    assert expected_text in capsys.readouterr().err


VALUES = st.sampled_from(
    ("-1", "0", "1e9", "inf", "nan", "true", "'x'", "'n[1-999999999]'", "[]", "[{}]", "{ a = 1 }", "[[1]]")
)
KEYS = st.sampled_from(
    ("name", "price_per_gpu_hour", "gpus_per_node", "nodes", "sla", "claim_days", "checkpoint_interval")
)


RIGHT = {"name": "'a'", "price_per_gpu_hour": "1"}


def written(expected: dict[str, str]) -> str:
    return "\n".join(["[[supplier]]", *(f"{key} = {value}" for key, value in (RIGHT | expected).items())])


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.text(max_size=100) | st.dictionaries(KEYS, VALUES, max_size=2).map(written))
def test_any_sheet_is_read_or_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "any.toml"
    path.write_text(text, encoding="utf-8", newline="")
    try:
        assert report_sheet.load(str(path)).suppliers
    except (SettingsError, Refusal) as refusal:
        assert "any.toml" in str(refusal)
