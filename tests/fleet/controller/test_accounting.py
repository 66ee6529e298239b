"""sacct is asked when nobody looked for longer than Slurm remembers; where there is none, it is said and left."""

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.fleet.actions.slurm.backend import Slurm, SlurmSettings
from holdfast.fleet.controller.observer import FORGETFUL_SECONDS, Accounting

ROW = "7|7|lab|ana|FAILED|2026-01-02T03:04:05|2026-01-02T04:04:05|3:0|cpu=8,gres/gpu=8|n[1-2]"
Make = Callable[[str], tuple[Accounting, Path]]


@pytest.fixture
def site(tmp_path: Path) -> Make:
    """A stand-in for sacct; it notes how it was asked."""

    def make(script: str) -> tuple[Accounting, Path]:
        asked = tmp_path / "asked"
        (tmp_path / "sacct").write_text(f'#!/bin/sh\necho "$*" >> {asked}\n{script}\n')
        (tmp_path / "sacct").chmod(0o755)
        return Accounting(Slurm(SlurmSettings(), {"PATH": f"{tmp_path}:/usr/bin:/bin"})), asked

    return make


def test_a_gap_is_filled_and_without_one_no_one_is_asked(site: Make) -> None:
    accounting, asked = site(f"echo '{ROW}'")
    [job] = accounting.missed(1_767_400_000.0)
    assert (job.id, job.nodes, job.exit_code, job.gpus, job.user) == ("7", ("n1", "n2"), "3:0", 8, "ana")
    assert "-S 2026-01-02T00:26:40" in asked.read_text()  # a day before, at the first look
    accounting.caught_up_at = 1_767_400_000.0
    assert accounting.missed(1_767_400_000.0 + FORGETFUL_SECONDS - 1) == ()
    accounting.missed(1_767_400_000.0 + FORGETFUL_SECONDS)
    assert len(asked.read_text().splitlines()) == 2


def test_a_site_without_accounting_is_not_asked_again(site: Make) -> None:
    accounting, asked = site("echo 'Slurm accounting storage is disabled' >&2; exit 1")
    assert accounting.missed(1000.0) == ()
    assert accounting.missed(9000.0) == ()
    assert len(asked.read_text().splitlines()) == 1


def test_a_slurmdbd_that_is_away_is_asked_again(site: Make) -> None:
    accounting, asked = site("echo 'Connection refused' >&2; exit 1")
    assert accounting.missed(1000.0) == ()
    assert accounting.missed(9000.0) == ()
    assert len(asked.read_text().splitlines()) == 2
