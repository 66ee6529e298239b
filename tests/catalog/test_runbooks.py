"""Every check, cause, incident and alert has a runbook, with commands to run."""

import re
from pathlib import Path

import pytest

from holdfast.catalog import causes, runbooks, seam_kinds
from holdfast.fleet.decisions.guards import SILENT
from holdfast.fleet.probe_sessions.probing import CHECK as PROBE_FABRIC
from holdfast.model.lifecycle import Verb
from holdfast.node import checks

ROOT = Path(__file__).parents[2]
NAMES = sorted(
    {check.name for check in checks.ALL}
    | set(causes.all_causes())
    | set(seam_kinds.kinds())
    | {SILENT, PROBE_FABRIC, "breaker", *(f"action.{verb.value}" for verb in Verb)}
)


@pytest.mark.parametrize("name", NAMES)
def test_what_can_go_wrong_has_a_runbook_with_steps_and_commands(name: str) -> None:
    book = runbooks.find(name)
    assert book is not None
    assert book.title and book.owner and book.shows and book.confirm and book.act and book.over
    assert book.commands, "nothing to copy and run"


def test_a_step_names_only_runbooks_that_exist() -> None:
    for book in runbooks.all_runbooks().values():
        for step in (*book.confirm, *book.act):
            for name in re.findall(r"follow `([a-z_]+\.[a-z_]+)`", step):
                assert runbooks.find(name) is not None, f"{book.name}: {step}"


def test_filling_leaves_no_name_open_and_braces_of_queries_alone() -> None:
    names = {"node": "n1", "gpu": "3", "part": "gpu/3", "check": "gpu.ecc"}
    book = runbooks.fill(runbooks.all_runbooks()["gpu.ecc"], names)
    assert any("nvidia-smi --gpu-reset -i 3" in one for one in book.commands)
    assert not [text for text in (*book.confirm, *book.act, book.over) if re.search(r"<[a-z]+>", text)]
    for check in checks.ALL:
        shown = runbooks.fill(runbooks.all_runbooks()[check.name], names)
        assert not [text for text in (*shown.confirm, *shown.act, shown.over) if re.search(r"<[a-z]+>", text)]


def test_every_alert_names_a_runbook_that_exists() -> None:
    text = (ROOT / "deploy/prometheus/holdfast.rules.yml").read_text()
    named = re.findall(r'runbook_url: "https://holdfast\.example\.com/#/runbook/([^"]+)"', text)
    assert len(named) == text.count("- alert:")
    for name in named:
        assert name == "{{ $labels.cause }}" or name in runbooks.all_runbooks()
