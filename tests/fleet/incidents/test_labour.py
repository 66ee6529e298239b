"""Labour is what operators worked: from the acknowledgement to the resolution."""

import pytest

from holdfast.economics.costs.finding import Prices, bill
from holdfast.fleet.incidents.losses import hours_worked, item_key
from holdfast.model.inbox import ItemRecord

IDS = {"cdu/c1": "cdu/c1@5.000", "link/a": "link/a@6.000"}


@pytest.mark.parametrize(
    ("acknowledged", "resolved", "hours"),
    [(None, None, None), (None, 7200.0, None), (3600.0, None, 2.0), (3600.0, 7200.0, 1.0), (7200.0, 3600.0, 0.0)],
)
def test_hours_run_from_the_acknowledgement(acknowledged: float | None, resolved: float | None, hours: float) -> None:
    key = item_key(IDS["cdu/c1"])
    record = ItemRecord(key=key, at=0.0, acknowledged_at=acknowledged, resolved_at=resolved)
    assert hours_worked(IDS, {key: record}, 10_800.0).get("cdu/c1") == hours


def test_who_acknowledged_late_worked_less_than_it_lasted_and_who_works_on_works_more_than_assumed() -> None:
    prices = Prices(people=2, people_hours=2, wage=100)
    assumed, short, long = (bill([], prices, 6.0, worked_hours=worked).layers[3] for worked in (None, 0.5, 5.0))
    assert [one.so_far for one in (assumed, short, long)] == [400.0, 100.0, 1000.0]
    assert [one.if_it_goes_on for one in (assumed, short, long)] == [400.0, 400.0, 1000.0]
