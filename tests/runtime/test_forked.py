"""What can be started as a fork: only what its loader and interpreter would not have seen differently."""

import os

import pytest

from tests.forked import can_fork


@pytest.mark.parametrize(
    ("changes", "forks"),
    [
        ({}, True),
        ({"PATH": "/elsewhere", "SLURM_CONF": "x"}, True),
        ({"LD_PRELOAD": "/clock.so"}, False),
        ({"PYTHONPATH": "/elsewhere"}, False),
    ],
)
def test_a_loader_that_would_do_something_else_needs_a_process_of_its_own(changes: dict[str, str], forks: bool) -> None:
    assert can_fork({**os.environ, **changes}) is forks
