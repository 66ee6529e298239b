"""Each text of fixes.toml has the right first cause, and the advice names what fixes it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from holdfast.diagnosis.rules.diagnose import diagnose
from holdfast.diagnosis.rules.report import lines, next_lines
from holdfast.formats.job.log import JobLog

CASES = tomllib.loads(Path(__file__).with_name("fixes.toml").read_text(encoding="utf-8"))["case"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_cause_and_its_fix_are_named(case: dict[str, Any]) -> None:
    log = JobLog()
    log.feed(case["text"].encode())
    found = diagnose(log.finish())
    assert (found.causes[0].name if found.causes else "calm") in case["causes"]
    advice = "\n".join([*next_lines(found), *found.unseen])
    assert re.search(case.get("fix", ""), advice, re.IGNORECASE)
    if "never" in case:
        assert not re.search(case["never"], lines(found)[0] + advice)


@pytest.mark.parametrize(
    "text",
    [
        "epoch 1 done\nERROR rates in eval: 0.31\n",
        "ls: cannot access '/x': No such file or directory\n",
        "v1:1:2 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]\nv1:1:2 [0] NCCL INFO a\nv1:1:2 [0] NCCL INFO b\n",
        "WARNING: could not find the metadata file, will start from random\n",
        "2024-01-01 10:00:00 ERROR could not load shard 3\n" + "".join(f"step {n} loss 2.0\n" for n in range(9)),
    ],
)  # fmt: skip
def test_last_words_that_mean_nothing(text: str) -> None:
    log = JobLog()
    log.feed(text.encode())
    assert diagnose(log.finish()).causes == ()


def test_a_traceback_without_its_end_still_names_the_frame() -> None:
    log = JobLog()
    log.feed(b'Traceback (most recent call last):\n  File "/app/train.py", line 7, in build\n    model = make()\n')
    found = diagnose(log.finish())
    assert found.causes[0].name == "job.exception"
    assert "train.py:7 in build" in lines(found)[0]


def test_an_error_that_no_row_knows_is_quoted_and_never_sure() -> None:
    log = JobLog()
    log.feed(b"loading plugins\nfrobnicator: fatal: the flux table is upside down\n")
    found = diagnose(log.finish())
    assert found.causes[0].confidence < 0.6
    assert "flux table" in lines(found)[0]
