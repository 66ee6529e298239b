"""Where runs end: the published walls, and the far smaller sizes that still deliver."""

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.economics.costs.feasible import NoProgress
from holdfast.economics.costs.limits import ScaledRun, largest, stalled_by_restarts, wall

STORAGE = ScaledRun(gpu_seconds_between=1.8e8, state_bytes=5e12, bytes_per_second=2e12)


def test_the_storage_walls() -> None:
    assert wall(STORAGE) == pytest.approx(72.0e6, rel=1e-6)
    assert wall(replace(STORAGE, growing=True)) == pytest.approx(4.40e6, rel=2e-3)


@given(st.floats(0.0, 0.95), st.booleans())
def test_at_the_wall_a_write_takes_as_long_as_the_time_between_failures(exponent: float, growing: bool) -> None:
    run = replace(STORAGE, network_exponent=exponent, growing=growing, bytes_per_second=5e10)
    size = wall(run)
    assert run.write_seconds(size) == pytest.approx(run.between(size), rel=1e-6)


def test_a_full_bisection_has_no_wall_for_a_fixed_model() -> None:
    assert wall(replace(STORAGE, network_exponent=1.0)) == inf
    assert largest(replace(STORAGE, network_exponent=1.0), 0.9) == inf


@given(st.floats(0.3, 0.95), st.floats(1, 3600))
def test_the_size_found_delivers_just_that(goodput: float, restart: float) -> None:
    run = replace(STORAGE, restart_seconds=restart)
    size = largest(run, goodput)
    assert run.goodput(size) == pytest.approx(goodput, abs=1e-4)
    assert size < largest(replace(run, restart_seconds=0.0), goodput) < wall(run)
    assert size < stalled_by_restarts(run) * 2


def test_what_no_size_delivers_is_reported() -> None:
    with pytest.raises(NoProgress, match="even one GPU"):
        largest(replace(STORAGE, bytes_per_second=1e4, state_bytes=1e18), 0.5)
    assert stalled_by_restarts(STORAGE) == inf


@pytest.mark.parametrize("goodput", [0.0, 1.0, 1.5, -0.1])
def test_a_share_is_between_nothing_and_all(goodput: float) -> None:
    with pytest.raises(NoProgress, match="between 0 and 1"):
        largest(STORAGE, goodput)


def test_restarts_stall_a_run_when_failures_come_as_fast() -> None:
    assert stalled_by_restarts(replace(STORAGE, restart_seconds=600.0)) == pytest.approx(3e5)


def test_state_and_bandwidth_grow_as_they_are_reported_to() -> None:
    growing = replace(STORAGE, growing=True)
    assert STORAGE.state(163_840) == 5e12
    assert growing.state(16_384) == pytest.approx(5e12)
    assert growing.state(163_840) > growing.state(16_384) > growing.state(1_638.4)
    assert replace(STORAGE, network_exponent=0.5).write_seconds(100) == pytest.approx(5e12 / 2e12 / 10)
    assert STORAGE.between(1000) == pytest.approx(1.8e5)


def test_a_size_where_nothing_gets_done_delivers_nothing() -> None:
    assert 0.0 < STORAGE.goodput(2 * wall(STORAGE)) < 0.1  # beyond the wall hardly any write is ever finished
    assert STORAGE.goodput(20 * wall(STORAGE)) == 0.0


def test_what_is_left_out_of_a_run() -> None:
    assert ScaledRun(gpu_seconds_between=1.0, state_bytes=2.0, bytes_per_second=3.0) == ScaledRun(
        gpu_seconds_between=1.0, state_bytes=2.0, bytes_per_second=3.0, reference_gpus=16_384.0, growing=False,
        network_exponent=0.0, restart_seconds=0.0,
    )  # fmt: skip


def test_walls_by_hand() -> None:
    """m b / S = 1000 x 10 / 100 = 100 GPUs. Growing from 4: n^1.5 = 100 x 2. With bandwidth ~ sqrt(n): n^0.5 = 100."""
    run = ScaledRun(gpu_seconds_between=1000.0, state_bytes=100.0, bytes_per_second=10.0, reference_gpus=4.0)
    assert wall(run) == pytest.approx(100)
    assert wall(replace(run, growing=True)) == pytest.approx(200 ** (2 / 3))
    assert wall(replace(run, network_exponent=0.5)) == pytest.approx(10_000)
    assert wall(replace(run, growing=True, network_exponent=1.0)) == pytest.approx(200**2)
    assert [wall(replace(run, growing=True, network_exponent=x)) for x in (1.5, 2.0)] == [inf, inf]
    assert replace(run, growing=True).state(16) == pytest.approx(200)
    assert replace(run, growing=True).write_seconds(16) == pytest.approx(20)
    assert stalled_by_restarts(replace(run, restart_seconds=0.5)) == 2000


def test_one_gpu_is_the_smallest_run() -> None:
    run = ScaledRun(gpu_seconds_between=1000.0, state_bytes=60.0, bytes_per_second=1.0)
    assert largest(run, run.goodput(1.1)) == pytest.approx(1.1, rel=1e-6)
    assert largest(run, run.goodput(1.0)) == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(NoProgress, match="even one GPU"):
        largest(run, run.goodput(0.9))


class _FallsAtOnce(ScaledRun):
    def goodput(self, gpus: float) -> float:
        return 0.9 if gpus <= 1000.0 else 0.5


def test_a_size_that_just_delivers_a_goodput_delivers_it() -> None:
    run = _FallsAtOnce(gpu_seconds_between=1.0, state_bytes=1.0, bytes_per_second=1.0)
    assert largest(run, 0.9) == pytest.approx(1000.0)


@pytest.mark.parametrize(("size", "found"), [(0.9e30, pytest.approx(0.9e30, rel=1e-3)), (1.1e30, inf)])
def test_a_run_larger_than_any_machine_has_no_limit(size: float, found: float) -> None:
    run = ScaledRun(gpu_seconds_between=1e32, state_bytes=1.0, bytes_per_second=1.0)
    assert largest(run, run.goodput(size)) == found
