"""Sanity checks of scenarios: impossible ones are refused, doubtful ones get a warning."""

from holdfast.config.tables import Document
from holdfast.economics.planning.formatting import time
from holdfast.economics.simulation import scenario as s
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.refusal import Refusal

MOST_EVENTS = 1e8


def refuse_absurd(document: Document, scenario: s.Scenario, policy: Policy) -> None:
    """Refuses a scenario that would never make progress."""
    if policy.spares < 0 or policy.spares >= scenario.cluster.nodes:
        raise document.refuse("policy", "spares", "expected 0 or more and fewer than the cluster's nodes")
    parts = {part.name for part in scenario.repair.parts}
    for number, hazard in enumerate(scenario.hazards):
        if hazard.part and hazard.part not in parts:
            raise document.refuse(f"hazard[{number}]", "part", f"no [[part]] is called {hazard.part!r}")
    for job in scenario.jobs:
        between = _between_failures(scenario, job)
        for what, seconds in (("write", job.checkpoints.write), ("interval", job.checkpoints.cycle)):
            if seconds > 20 * between:
                raise Refusal(
                    f"{document.origin}: no progress is possible: {what} is {seconds:g} s and job {job.name} fails"
                    f" every {between:.4g} s on average"
                )


def refuse_endless(document: Document, scenario: s.Scenario) -> None:
    """Refuses a scenario whose replica would take hours."""
    cluster, years = scenario.cluster, scenario.cluster.seconds / s.YEAR
    failures = sum(hazard.rate * _worst(hazard) * cluster.units(hazard.on) * years for hazard in scenario.hazards)
    planned = sum(cluster.seconds / plan.every * plan.nodes for plan in scenario.maintenance)
    for what, number in (("failures", failures), ("nodes under maintenance", planned)):
        if number > MOST_EVENTS:
            raise Refusal(
                f"{document.origin}: {number:.3g} {what} in {cluster.days:g} days are more than the"
                f" {MOST_EVENTS:.0e} that can be played: fewer days or nodes, or --aggregated"
            )


def _worst(hazard: s.Hazard) -> float:
    """Rate of the worst units relative to the others.

    All units draw failures at that rate, and most draws are rejected.
    """
    repeat_offenders = hazard.repeat_offender_times if hazard.repeat_offender_share else 1.0
    return repeat_offenders * (hazard.batch_times if hazard.batch_share else 1.0)


def doubts(scenario: s.Scenario) -> list[str]:
    """Warnings about durations that exceed the time between failures."""
    found = []
    for job in scenario.jobs:
        between, stages = _between_failures(scenario, job), job.restart
        parts = (stages.detect, stages.diagnose, stages.reschedule, stages.load, stages.warm_up)
        lengths = {
            "a checkpoint takes": job.checkpoints.write,
            "a restart takes": sum(one.mean for one in parts),
            "checkpoints come every": job.checkpoints.cycle,
        }
        found += [
            f"hardly any progress is possible: {what} {time(seconds)} and job {job.name} fails every"
            f" {time(between)} on average"
            for what, seconds in lengths.items()
            if seconds >= between
        ]
    return found


def _between_failures(scenario: s.Scenario, job: s.SimulatedJob) -> float:
    """Approximate seconds between crashes of the job."""
    cluster = scenario.cluster
    yearly = sum(
        hazard.rate * hazard.times_on_average * cluster.units(hazard.on) * job.nodes / cluster.nodes
        for hazard in scenario.hazards
        if hazard.effect is s.Effect.CRASH and hazard.shape == 1
    )
    return s.YEAR / yearly if yearly else float("inf")
