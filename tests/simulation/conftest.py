"""What the tests of the simulation share."""

import random
from collections.abc import Callable

import msgspec
import pytest

from holdfast.cli.simulate_rules import RealRules
from holdfast.lifecycle.policy import Policy
from holdfast.simulation.outcome import Outcome, simulate
from holdfast.simulation.scenario import Scenario

Simulate = Callable[..., Outcome]


@pytest.fixture
def simulated() -> Simulate:
    """One replica of a scenario with the real lifecycle."""

    def run(scenario: Scenario, seed: int = 0, **policy: object) -> Outcome:
        asked = {"breaker_nodes": 10_000, "breaker_share": 1.0, **policy}
        rules = RealRules(msgspec.convert(asked, Policy))
        return simulate(scenario, rules, lambda name: random.Random(f"{seed}/{name}"))

    return run
