"""What the tests of the simulation share."""

import random
from collections.abc import Callable

import msgspec
import pytest

from holdfast.economics.simulation.outcome import SimulationOutcome, simulate
from holdfast.economics.simulation.scenario import Scenario
from holdfast.economics.studies.rules import RealRules
from holdfast.fleet.decisions.lifecycle.policy import Policy

Simulate = Callable[..., SimulationOutcome]


@pytest.fixture
def simulated() -> Simulate:
    """One replica of a scenario with the real lifecycle."""

    def run(scenario: Scenario, seed: int = 0, **policy: object) -> SimulationOutcome:
        asked = {"breaker_nodes": 10_000, "breaker_share": 1.0, **policy}
        rules = RealRules(msgspec.convert(asked, Policy))
        return simulate(scenario, rules, lambda name: random.Random(f"{seed}/{name}"))

    return run
