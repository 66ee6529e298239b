"""The calculators over HTTP say what the command line says, and refuse in its sentences."""

import json
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from holdfast.cli.app import run

if TYPE_CHECKING:
    from .conftest import Controller

ASKED = {
    "risk": [("gpus", "1024"), ("days", "30"), ("rate", "llama3"), ("shape", "0.8")],
    "checkpoint": [
        ("gpus", "16384"),
        ("rate", "0.2"),
        ("state", "5TB"),
        ("bandwidth", "2TB/s"),
        ("memory_write", "2s"),
        ("copies", "2"),
        ("rebuild", "5m"),
        ("domain", "rack=8@0.2"),
        ("domain", "row=64@0.01"),
    ],
    "spares": [("nodes", "2000"), ("events", "40"), ("gpu_years", "400"), ("repair", "2d"), ("crews", "30")],
    "limit": [("rate", "rsc1"), ("state", "3TB"), ("network_exponent", "2/3"), ("restart", "5m")],
    "price": [
        ("offer", "a=2.00@0.90"),
        ("offer", "b=1.80@70%"),
        ("gpus", "512"),
        ("rate", "epoch"),
        ("sla", "99%:10%"),
    ],
    "cost": [("gpus", "1024"), ("price", "h100"), ("slow", "5%"), ("slow_for", "3h"), ("day_value", "1000000")],
}


@pytest.mark.parametrize("plan", ASKED)
def test_the_page_gets_what_the_terminal_gets(
    controller: "Controller", plan: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ASKED[plan]
    reply = controller.ask("GET", f"/v1/plan/{plan}?{urlencode(asked)}", controller.admin)
    assert reply.status_code == 200, reply.text
    flags = [word for name, text in asked for word in (f"--{name.replace('_', '-')}", text)]
    assert run(["plan", plan, *flags, "--json"]) == 0
    assert reply.json()["document"] == json.loads(capsys.readouterr().out)
    chart = reply.json()["chart"]
    assert chart["lines"][0]["points"] and len(chart["mark"]) == 2
    assert [given["name"] for given in reply.json()["inputs"]]


@pytest.mark.parametrize(
    ("question", "expected_text"),
    [
        ("risk", "gpus is missing"),
        ("risk?gpus=none", "gpus: expected a number"),
        ("risk?gpu=1", "'gpu' is not an option of this plan"),
        ("checkpoint?gpus=8&rate=llama3&write=30s&memory_restart=2m", "memory_write is missing"),
        ("spares?nodes=10&rate=365&repair=9y", "no progress is possible"),
        ("limit?rate=1e999", "rate: expected"),
        ("price?offer=free", "offer: expected NAME=PRICE@GOODPUT"),
        ("cost?gpus=8&price=" + "9" * 201, "price"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_a_sentence(
    controller: "Controller", question: str, expected_text: str
) -> None:
    reply = controller.ask("GET", f"/v1/plan/{question}", controller.admin)
    assert reply.status_code == 400
    assert expected_text in reply.json()["error"] and "--" not in reply.json()["error"]


def test_a_plan_is_shown_to_no_one_without_a_token(controller: "Controller") -> None:
    assert controller.ask("GET", "/v1/plan/risk", "").status_code == 401
