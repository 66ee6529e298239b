"""A probe speaks only where it fails: what it cannot see blames nobody."""

import json
import sys

from holdfast.supervisor.probe import failures

FAILED = {"check": "gpu.lost", "health": "fail", "reason": "7 of 8"}
BLIND = {"check": "gpu.clocks", "health": "unknown", "reason": "no driver"}


def printing(text: str, code: int = 0) -> list[str]:
    return [sys.executable, "-c", f"import sys; print({text!r}); sys.exit({code})"]


def test_the_verdicts_of_a_suite_name_the_cause() -> None:
    (one,) = failures(printing(json.dumps({"verdicts": [FAILED, BLIND]}), 2), "n1", 60)
    assert (one.cause, one.host, one.role) == ("gpu.fell_off_bus", "n1", "strong")
    assert "gpu.lost: 7 of 8" in one.event.text


def test_what_a_suite_cannot_see_blames_no_one() -> None:
    assert failures(printing(json.dumps({"verdicts": [BLIND]}), 3), "n1", 60) == []


def test_the_sites_own_command_speaks_by_its_exit_code() -> None:
    assert failures(printing("all well"), "n1", 60) == []
    (one,) = failures(printing("begin\nno path to n2", 4), "n1", 60)
    assert (one.cause, one.event.text) == ("host.other", "n1 failed its probe: probe: exit code 4: no path to n2")


def test_a_probe_that_hangs_or_is_not_there_fails() -> None:
    assert "did not end" in failures([sys.executable, "-c", "import time; time.sleep(60)"], "n1", 0.1)[0].event.text
    assert "No such file" in failures(["/no/such/probe"], "n1", 60)[0].event.text
