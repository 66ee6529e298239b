"""One duration, owner and cost of an incident for every view."""

from dataclasses import replace

import pytest

from holdfast.economics.costs.finding import Prices
from holdfast.fleet.inbox.incident_figures import IncidentFigures, incident_figures
from holdfast.fleet.inbox.item import Sources
from holdfast.fleet.inbox.items import items
from holdfast.fleet.incidents.past import past
from holdfast.model.account import Account, Bill, Layer
from holdfast.model.incident import Incident, IncidentState
from tests.fleet.inbox.test_items import NOW, incident

LEAF = Incident(
    id="leaf/l3@1", opened=NOW - 90, subject="leaf/l3", cause="fabric.port_down", evidence=("n1", "n2", "n3")
)
PRICES = Prices(gpu_hour=2.0, currency="EUR")


def figures(one: Incident, factor: float = 1.0, now: float = NOW) -> IncidentFigures:
    return incident_figures(one, {"n1": 8, "n2": 8}.get, PRICES, now, factor)


def test_nodes_that_fail_together_cost_their_gpus_for_as_long_as_it_lasts() -> None:
    found = figures(LEAF, 20.0)
    assert (found.began, found.lasted_seconds, found.owner) == (NOW - 90, 1800.0, "network")
    assert (found.gpu_hours, found.cost, found.currency) == (8.0, 16.0, "EUR")


def test_what_is_over_grows_no_more() -> None:
    over = replace(LEAF, state=IncidentState.CLOSED, closed=NOW - 45)
    assert figures(over, 20.0) == figures(over, 20.0, NOW + 1000)
    assert figures(over, 20.0).lasted_seconds == 900.0


def test_gpus_that_no_agent_reported_make_no_price() -> None:
    found = figures(replace(LEAF, evidence=("n7",)))
    assert (found.gpu_hours, found.cost) == (None, None)


def test_a_slow_path_has_an_owner_and_no_price() -> None:
    found = figures(incident("fabric/trunk/l1+l4", "probe.fabric"))
    assert (found.owner, found.cost) == ("network", None)


@pytest.mark.parametrize("factor", [1.0, 20.0])
def test_the_inbox_says_the_same(factor: float) -> None:
    gpus = {"n1": 8, "n2": 8}.get
    (item,) = items(Sources(incidents=[LEAF], now=NOW, gpus=gpus, prices=PRICES, time_factor=factor))
    found = figures(LEAF, factor)
    assert (item.since, item.cost_so_far, item.owner) == (found.began, found.cost, found.owner)


def test_a_price_without_a_lost_gpu_hour_is_labour() -> None:
    layers = [
        Layer(name=name, so_far=cost, if_it_goes_on=cost, formula="", inputs="")
        for name, cost in (("direct compute", 0.0), ("labour", 255.0))
    ]
    account = Account(
        kind="storage.metadata", confidence=0.9, since=1.0, lasted_seconds=9.0, bill=Bill(layers=tuple(layers))
    )
    found = figures(incident("storage/scratch", "storage.metadata", account=account))
    assert (found.gpu_hours, found.cost, found.labour) == (0.0, 255.0, 255.0)
    assert past("storage/scratch", account).endswith("no job had slowed; 255 USD of labour")
    unmeasured = replace(account, bill=Bill(layers=tuple(layers), measured=False))
    assert "labour" not in past("storage/scratch", unmeasured)
