"""Each code of codes.toml gives its cause and its fix, by the row that is meant."""

import re
import tomllib
from pathlib import Path

import pytest

from holdfast.catalog import job_problems, translations
from holdfast.diagnosis.rules.diagnose import diagnose
from holdfast.diagnosis.rules.report import next_lines
from holdfast.formats.job.line import decode
from holdfast.formats.job.log import JobLog

ROWS = tomllib.loads(Path(__file__).with_name("codes.toml").read_text(encoding="utf-8"))["row"]
FILES = ("job_problems_accelerators.toml", "job_problems_services.toml")


@pytest.mark.parametrize(("text", "causes", "fix", "problem"), ROWS, ids=[row[0][:60] for row in ROWS])
def test_a_code_names_its_cause_and_its_fix(text: str, causes: str, fix: str, problem: str) -> None:
    log = JobLog()
    log.feed(f"{text}\n".encode())
    found = diagnose(log.finish())
    assert (found.causes[0].name if found.causes else "calm") in causes.split(",")
    advice = "\n".join([*next_lines(found), *found.unseen])
    assert re.search(fix, advice, re.IGNORECASE)
    if problem:
        assert (known := job_problems.named(problem)) and known in [one.problem for one in found.causes]


def test_every_row_of_these_files_has_a_code_here() -> None:
    folder = Path(job_problems.__file__).parent
    names = {row["name"] for name in FILES for row in tomllib.loads((folder / name).read_text("utf-8"))["problem"]}
    assert names - {row[3] for row in ROWS} == {"windows_held", "kubernetes_preempted", "file_system_module"}


def test_a_translation_is_read_as_its_english_words() -> None:
    for other, english in translations.said_as().items():
        assert decode(f"cp: {other}".encode()).text == f"cp: {english}"


@pytest.mark.parametrize("text", ["loss 2.0", "naïve café: données", "数据集 1 失败样本 3 条", "Fehlerrate: 0.3"])
def test_other_words_stay(text: str) -> None:
    assert translations.english(text) == text
