"""What a run remembers survives a kill; what it cannot read it sets aside."""

from pathlib import Path

import pytest

from holdfast.model.ledger import Ledger
from holdfast.supervisor.run_record import STATE, Busy, RunMemory, RunRecord
from tests.supervisor.test_decide import KILLED

RUN = RunRecord(
    command=("train",), began=1.0, saved=2.0, attempts=(KILLED,), best_step=7, ledger=Ledger(productive=3.0)
)


def test_an_unfinished_run_goes_on(tmp_path: Path) -> None:
    memory = RunMemory(tmp_path)
    memory.save(RUN)
    assert memory.load(("train",)) == RUN
    assert memory.load(("other",)) is None


def test_a_finished_run_is_over(tmp_path: Path) -> None:
    memory = RunMemory(tmp_path)
    memory.save(RunRecord(command=("train",), began=1.0, finished=True))
    assert memory.load(("train",)) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"command": 3}', "\0\0"])
def test_what_cannot_be_read_is_set_aside(tmp_path: Path, text: str) -> None:
    (tmp_path / STATE).write_text(text)
    assert RunMemory(tmp_path).load(("train",)) is None
    assert (tmp_path / "run.unreadable").read_text() == text


def test_one_supervisor_per_folder(tmp_path: Path) -> None:
    first = RunMemory(tmp_path)
    with pytest.raises(Busy, match="another supervisor"):
        RunMemory(tmp_path)
    assert first.folder == tmp_path
