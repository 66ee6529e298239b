"""What an operator gets who wrote no policy: documented numbers, and nothing done in the world."""

import pytest

from holdfast.fleet.decisions.lifecycle.policy import OnDegraded, OnDrain, OnUnknown, OnUnknownTest, Policy
from holdfast.model.lifecycle import Verb

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


@pytest.mark.parametrize(
    "name, promised",
    [
        ("dry_run", True),
        ("suite_seconds", 1 * HOUR),
        ("reset_seconds", 1 * HOUR),
        ("flush_seconds", 2 * MINUTE),
        ("drain", OnDrain.FINISH),
        ("drain_seconds", 1 * DAY),
        ("checkpoint_seconds", 10 * MINUTE),
        ("repair_steps", (Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT)),
        ("automatic_repair_steps", 2),
        ("inconclusive_tests", 3),
        ("breaker_share", 0.10),
        ("breaker_nodes", 8),
        ("shared_nodes", 4),
        ("shared_seconds", 2 * MINUTE),
        ("shared_share", 0.5),
        ("shared_first_seconds", 30.0),
        ("shared_wait_seconds", 1 * MINUTE),
        ("offence_seconds", 30 * DAY),
        ("repeat_offences", 3),
        ("repeat_offender_score", 3.0),
        ("degraded_repeats", 3),
        ("bootstrap_unknown", OnUnknownTest.RETEST),
        ("bootstrap_degraded", OnDegraded.CHOOSE_LAST),
        ("service_unknown", OnUnknown.TICKET),
        ("service_degraded", OnDegraded.CHOOSE_LAST),
        ("silent_seconds", 2 * MINUTE),
        ("unknown_seconds", 10 * MINUTE),
        ("spares", 0),
    ],
)
def test_the_defaults_are_the_documented_ones(name: str, promised: object) -> None:
    assert getattr(Policy(), name) == promised


def test_a_pool_without_a_policy_of_its_own_has_the_fleets() -> None:
    train = Policy(spares=4)
    policy = Policy(pools={"train": train})
    assert policy.of("train") is train
    assert policy.of("serve") is policy
