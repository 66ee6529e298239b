"""A pool that is only watched is only watched, beside another that is not."""

from pathlib import Path

import pytest

from .running import running, until

pytestmark = pytest.mark.slow


def test_a_pool_in_a_dry_run_is_reported_what_would_be_done_and_nothing_is(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    touched.mkdir()
    more = f'[actions]\ncordon = "command"\n[command]\ncommands = {{ cordon = ["touch", "{touched}/{{node}}"] }}\n'
    with running(tmp_path, more=more, policy="dry_run = false\n[pool.watched]\ndry_run = true\n") as controller:
        controller.enrol("n1", pool="watched")
        controller.enrol("n2", pool="worked")
        until(lambda: [one for one in controller.node_history("n1") if one["title"] == "cordon dry_run"], "it is told")
        until(lambda: (touched / "n2").exists(), "the other is cordoned")
    assert not (touched / "n1").exists()
