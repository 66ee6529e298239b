"""Pauses stay short while a controller may be replaced, and grow in a long outage."""

import random

import pytest

from holdfast.node.agent.reporting import backoff
from holdfast.node.agent.reporting.backoff import Backoff


@pytest.fixture(autouse=True)
def no_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda low, high: high)


def pauses(one: Backoff, start: float, until: float) -> list[float]:
    now, found = start, []
    while now < until:
        found.append(one.next_seconds(now))
        now += found[-1]
    return found


def test_a_takeover_is_noticed_within_seconds_and_a_long_outage_is_not_hammered() -> None:
    found = pauses(Backoff(), 1000.0, 1000.0 + backoff.TAKEOVER_SECONDS)
    assert found[:5] == [1.0, 2.0, 4.0, 8.0, 8.0]
    assert max(found) == backoff.LONGEST_AT_FIRST_SECONDS
    later = pauses(one := Backoff(), 1000.0, 2000.0)
    assert later[-1] == backoff.LONGEST_SECONDS
    one.reset()
    assert one.next_seconds(2000.0) == backoff.FIRST_SECONDS


def test_a_clock_that_is_set_back_starts_a_new_outage() -> None:
    one = Backoff()
    pauses(one, 1000.0, 2000.0)
    assert one.next_seconds(10.0) == backoff.LONGEST_AT_FIRST_SECONDS


def test_the_pause_is_drawn_between_its_half_and_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda low, high: low)
    assert Backoff().next_seconds(0.0) == backoff.FIRST_SECONDS / 2
