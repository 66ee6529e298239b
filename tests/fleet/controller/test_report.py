"""`holdfast report` against a real controller that remembers a month: terminal, page, table and document agree."""

import calendar
import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.cli.app import run
from holdfast.client import history
from holdfast.client.client import Client
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import EventKind as H
from holdfast.model.lifecycle import NodeEvent
from holdfast.model.refusal import Refusal

from .month import NodeEvents, remember
from .running import Controller, running

pytestmark = pytest.mark.slow
OCTOBER = float(calendar.timegm((2026, 10, 1, 0, 0, 0)))
HOUR, DAY = 3600.0, 86_400.0
PRICES = """
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
JOBS = [
    Job(id="7", source="slurm", account="=vision", nodes=("n1", "n2", "n3"), start=OCTOBER, end=OCTOBER + 10 * DAY,
        state=JobState.NODE_FAILED),
    Job(id="8", source="slurm", account="speech", nodes=("n2",), start=OCTOBER + 11 * DAY, end=OCTOBER + 21 * DAY,
        state=JobState.COMPLETED),
    Job(id="9", source="slurm", account="speech", nodes=("n3",), start=OCTOBER - 9 * DAY, end=OCTOBER - 8 * DAY,
        state=JobState.COMPLETED),
]  # fmt: skip


def node_history(*later: tuple[float, NodeEvent]) -> NodeEvents:
    first = [(-5 * DAY, NodeEvent(kind=H.ENROLLED)), (-4 * DAY, NodeEvent(kind=H.TEST_PASSED))]
    return [(OCTOBER + at, event) for at, event in (*first, *later)]


RUN_7 = [(0.0, NodeEvent(kind=H.JOB_STARTED, job="7")), (10 * DAY, NodeEvent(kind=H.JOB_ENDED, job="7"))]
TESTED = [(10 * DAY + HOUR, NodeEvent(kind=H.CLEANED)), (10 * DAY + 2 * HOUR, NodeEvent(kind=H.TEST_PASSED))]
LOST = NodeEvent(kind=H.FAILED, cause="gpu.lost", reason="GPU 3 fell off the bus")
HISTORIES = {
    "n1": node_history(
        RUN_7[0],
        (10 * DAY, LOST),
        RUN_7[1],
        (10 * DAY, NodeEvent(kind=H.EMPTIED)),
        (10 * DAY, NodeEvent(kind=H.REMOVE, by="somebody")),
        (12 * DAY - HOUR, NodeEvent(kind=H.RELEASE)),
        (12 * DAY, NodeEvent(kind=H.TEST_PASSED)),
    ),
    "n2": node_history(
        *RUN_7,
        *TESTED,
        (11 * DAY, NodeEvent(kind=H.JOB_STARTED, job="8")),
        (21 * DAY, NodeEvent(kind=H.JOB_ENDED, job="8")),
        (21 * DAY, NodeEvent(kind=H.CLEANED)),
        (21 * DAY, NodeEvent(kind=H.TEST_PASSED)),
    ),
    "n3": node_history(*RUN_7, *TESTED),
}


@pytest.fixture(scope="module")
def october(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    directory = tmp_path_factory.mktemp("october")
    (directory / "prices.toml").write_text(PRICES)
    remember(directory, HISTORIES, JOBS)
    with running(directory) as controller:
        yield controller


def report(october: Controller, *more: str) -> int:
    prices = str(october.config.parent / "prices.toml")
    whose = ("--url", october.url, "--token", october.admin)
    return run(["report", "--month", "2026-10", "--prices", prices, *whose, *more])


def test_the_document_and_the_table_say_the_same(
    october: Controller, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "october.csv"
    assert report(october, "--by", "team", "--out", str(table), "--json") == 0
    document = json.loads(capsys.readouterr().out)
    total = document["total"]
    assert total["gpu_hours"] == pytest.approx(3 * 31 * 24 * 8)
    assert total["rework_gpu_hours"] == pytest.approx(3 * 8 * 1), "half of two hours, on each of three nodes"
    assert total["waiting_gpu_hours"] == pytest.approx(2 * 24 * 8)
    assert total["productive_gpu_hours"] == pytest.approx((40 * 24 - 3) * 8)
    assert total["paid"] == pytest.approx(31 * 24 * 8 * (2 + 2 + 1))
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["team"].removeprefix("'") for row in rows] == [row["team"] for row in document["rows"]]
    assert {row["team"] for row in rows} == {"'=vision", "speech", "no job"}, "no name is a spreadsheet's formula"
    for column in ("gpu_hours", "paid", "lost", "rework_gpu_hours"):
        assert sum(float(row[column]) for row in rows) == pytest.approx(total[column])


def test_what_took_the_node_out_is_the_evidence(october: Controller, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(october, "--by", "cause", "--json") == 0
    (claim,) = json.loads(capsys.readouterr().out)["claims"]
    assert (claim["supplier"], claim["node"], claim["down_seconds"]) == ("acme", "n1", 2 * DAY)
    assert claim["credit"] == pytest.approx(0.1 * 2 * 8 * 31 * 24)
    (outage,) = claim["evidence"]
    assert outage["what"] == "gpu.lost" and "fell off the bus" in outage["seen"]
    assert (outage["begin"], outage["end"]) == (OCTOBER + 10 * DAY, OCTOBER + 12 * DAY)


def test_a_month_that_no_one_watched_is_reported(october: Controller, capsys: pytest.CaptureFixture[str]) -> None:
    prices = str(october.config.parent / "prices.toml")
    whose = ("--url", october.url, "--token", october.admin)
    assert run(["report", "--month", "1999-10", "--prices", prices, *whose]) == 1
    assert "watched none of the priced nodes in 1999-10" in capsys.readouterr().err


@pytest.mark.parametrize("by", ["team", "job", "cause", "supplier"])
def test_the_page_stands_alone_and_the_terminal_says_where_it_is(
    october: Controller, by: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "october.html"
    assert report(october, "--by", by, "--out", str(page)) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("2026-10: 29,760 USD paid for 17,856 GPU-hours;") and f"{page} written" in printed
    text = page.read_text()
    assert "Evidence for claims" in text and "GPU 3 fell off the bus" in text
    assert "http" not in text and "<script" not in text and "url(" not in text


def test_all_pages_of_a_long_history_are_read(october: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(october.url, october.admin)
    whole = history.transitions(client), history.jobs(client, OCTOBER, OCTOBER + 31 * DAY)
    assert [job["id"] for job in whole[1]] == ["8", "7"]
    monkeypatch.setattr(history, "PAGE", 8)
    assert history.transitions(client) == whole[0]
    monkeypatch.setattr(history, "PAGE", 2)
    everything = history.jobs(client, 0, OCTOBER + 31 * DAY)
    assert [job["id"] for job in everything] == ["8", "7", "9"]


def test_a_moment_with_too_much_in_it_is_reported(october: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "PAGE", 3)
    with pytest.raises(Refusal, match="share one moment"):
        history.transitions(Client(october.url, october.admin))
