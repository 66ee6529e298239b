"""Formats that people publish of their jobs: each text of seen.toml has the right first cause, healthy ones none."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from holdfast.diagnosis.rules.diagnose import diagnose
from holdfast.formats.job.log import JobLog

CASES = tomllib.loads(Path(__file__).with_name("seen.toml").read_text(encoding="utf-8"))["case"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_first_cause_is_right(case: dict[str, Any]) -> None:
    log = JobLog()
    log.feed(case["text"].encode())
    found = diagnose(log.finish())
    assert (found.causes[0].name if found.causes else "") in case["causes"]
    if "action" in case:
        assert found.next is not None
        assert found.next.action == case["action"]
