"""Numbers with units as people write them; what is not one is refused with what was expected."""

import pytest

from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.planning.inputs import PlanInputs


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5ms", 0.005), ("90s", 90.0), ("10m", 600.0), ("10min", 600.0), ("2h", 7200.0), ("1h30m", 5400.0),
     ("3d", 259_200.0), ("2w", 1_209_600.0), ("1y", 31_536_000.0), ("1_000s", 1000.0), ("1,000 s", 1000.0),
     (".5h", 1800.0)],
)  # fmt: skip
def test_durations(text: str, seconds: float) -> None:
    assert PlanInputs().duration("write", text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "90", "90x", "h", "1h30", "1001y", "-5s", "1h x"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(BadNumber, match="--write"):
        PlanInputs().duration("write", text)


def test_a_thousand_years_are_the_most() -> None:
    assert PlanInputs().duration("write", "1000y") == 1000 * 31_536_000.0
    with pytest.raises(BadNumber, match="at most 1,000 years"):
        PlanInputs().duration("write", "1000.1y")


@pytest.mark.parametrize(
    ("text", "size"),
    [("7B", 7.0), ("3kB", 3e3), ("3KB", 3e3), ("4GB", 4e9), ("5TB", 5e12), ("1PB", 1e15), ("2KiB", 2048.0),
     ("80GiB", 80 * 1024.0**3), ("1TiB", 1024.0**4), ("1MiB", 1024.0**2)],
)  # fmt: skip
def test_sizes_and_bandwidths(text: str, size: float) -> None:
    assert PlanInputs().size("state", text) == size
    assert PlanInputs().bandwidth("link", f"{text}/s") == size
    with pytest.raises(BadNumber):
        PlanInputs().bandwidth("link", text)


@pytest.mark.parametrize(("text", "share"), [("0.95", 0.95), ("95%", 0.95), ("100%", 1.0), ("1", 1.0), ("0", 0.0)])
def test_shares(text: str, share: float) -> None:
    assert PlanInputs().share("target", text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["101%", "1.01", "-1", "a"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(BadNumber, match="--target"):
        PlanInputs().share("target", text)


@pytest.mark.parametrize("text", ["1", "1000000000"])
def test_machines_are_whole_and_not_too_many(text: str) -> None:
    assert PlanInputs().machines("gpus", text) == float(text)


@pytest.mark.parametrize("text", ["0", "0.5", "1.5", "1000000001", "nan"])
def test_what_no_fleet_has_is_refused(text: str) -> None:
    with pytest.raises(BadNumber, match="--gpus"):
        PlanInputs().machines("gpus", text)


def test_a_number_may_have_a_most() -> None:
    assert PlanInputs().number("wage", "10", "USD", most=10.0) == 10.0
    with pytest.raises(BadNumber, match="a number from 0 to 10"):
        PlanInputs().number("wage", "10.1", "USD", most=10.0)


def test_where_each_number_came_from_is_kept() -> None:
    asked = PlanInputs(known={"repair": ("2d", "the fleet's own history")})
    assert asked.duration("restart", None, "10m", "ten minutes") == 600.0
    assert asked.duration("write", "90s", "10m") == 90.0
    assert asked.duration("repair", None, "3d", "an assumption") == 172_800.0
    assert asked.duration("repair", "2d") == 172_800.0
    assert asked.duration("repair", "5d") == 432_000.0
    assert [given.source for given in asked.given] == [
        "default: ten minutes", "given", "the fleet's own history", "the fleet's own history", "given"
    ]  # fmt: skip
    assert (asked.given[1].name, asked.given[1].value, asked.given[1].unit, asked.given[1].shown) == (
        "write", 90.0, "seconds", "90s"
    )  # fmt: skip


def test_what_is_missing_is_named() -> None:
    with pytest.raises(BadNumber, match="--write is missing: expected a duration"):
        PlanInputs().duration("write", None)
