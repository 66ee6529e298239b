"""A metric file beside the logs of a job: what its numbers show."""

import json
from pathlib import Path

from holdfast.diagnosis.evidence import files
from holdfast.diagnosis.rules.diagnose import diagnose


def history(path: Path, losses: list[float | str], seconds: float = 2.0) -> Path:
    rows = [{"_step": n, "_timestamp": n * seconds, "train/loss": loss} for n, loss in enumerate(losses, 1)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def causes(path: Path) -> list[str]:
    found, trouble = files.read(path)
    assert trouble == ""
    return [one.name for one in diagnose(found).causes]


def test_a_loss_that_is_no_number_any_more(tmp_path: Path) -> None:
    assert causes(history(tmp_path / "wandb-history.jsonl", [3.0] * 30 + ["NaN"] * 5)) == ["job.nan"]


def test_a_loss_that_jumps(tmp_path: Path) -> None:
    assert causes(history(tmp_path / "wandb-history.jsonl", [3.0] * 30 + [9.0] * 8)) == ["job.loss_spike"]


def test_a_run_that_is_well(tmp_path: Path) -> None:
    assert causes(history(tmp_path / "wandb-history.jsonl", [3.0 - n / 100 for n in range(60)])) == []
