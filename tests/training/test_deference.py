"""The keeper yields to training, but not to a rank that waits, and not for ever."""

import pytest

from holdfast.training.checkpoint.keeper.deference import LEVELS, ON_TIME, Deference


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "autogroup"
    path.write_text("/autogroup-8 nice 0\n")
    return path


def nice(file):
    return int(file.read_text().split()[-1])


def test_it_yields_while_training_and_not_while_a_rank_starts(file):
    deference = Deference(lambda: False, file)
    deference.training()
    assert nice(file) == 19
    deference.starting()
    assert nice(file) == 0


def test_a_rank_that_waits_or_an_overdue_copy_ends_it(file):
    awaited = []
    deference = Deference(lambda: bool(awaited), file)
    deference.training()
    awaited.append(True)
    deference.apply()
    assert nice(file) == 0
    awaited.clear()
    deference.apply()
    assert nice(file) == 19


def test_what_a_rank_changed_is_set_again(file):
    deference = Deference(lambda: False, file)
    deference.training()
    file.write_text("/autogroup-8 nice 0\n")
    deference.apply()
    assert nice(file) == 19


def test_a_keeper_that_is_behind_takes_more_and_gives_it_back_when_it_keeps_up(file):
    deference = Deference(lambda: False, file)
    deference.training()
    for level in (*LEVELS[1:], LEVELS[-1]):
        with deference.hurry(True):
            assert nice(file) == 0
        assert nice(file) == level
    for _ in range(ON_TIME):
        deference.on_time()
    assert nice(file) == LEVELS[-2]
    with deference.hurry(False):
        assert nice(file) == LEVELS[-2]


def test_a_flush_that_is_waited_for_changes_nothing_for_later(file):
    deference = Deference(lambda: False, file)
    deference.training()
    with deference.urgent():
        assert nice(file) == 0
    assert nice(file) == 19


def test_a_kernel_without_autogroups_is_no_error(tmp_path):
    deference = Deference(lambda: False, tmp_path / "none" / "autogroup")
    deference.training()
    with deference.hurry(True):
        deference.on_time()
    assert deference.niceness() == LEVELS[1]
