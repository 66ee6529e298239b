"""Tests that a job requests of its nodes: soon after its workload, once each, and few nodes of a pool at a time."""

from holdfast.fleet.decisions.breaker import Tally, breaker_of
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.lifecycle.table import IDLE
from holdfast.model.lifecycle import NodeState, Stage

JUST_ENDED_SECONDS = 900.0


def refusal(node: NodeState, counted: Tally, policy: Policy, now: float) -> str:
    """Why a job may not request a test of this node now; '' if it may.

    A test keeps the node from other users' work, so a token that outlives its job must not be able to repeat it.
    """
    if node.stage is Stage.ALLOCATED:
        return f"{node.name} is in use; it is tested when its work ends"
    if node.stage not in IDLE:
        return f"{node.name} is {node.stage.value}"
    if node.used_until is None or now - node.used_until > JUST_ENDED_SECONDS:
        return f"no workload ended on {node.name} within the last {JUST_ENDED_SECONDS / 60:.0f} minutes"
    if node.doubted_at is not None and node.doubted_at >= node.used_until:
        return f"{node.name} was tested at the request of a job since its last workload"
    return _too_many(node.pool, counted, policy)


def _too_many(pool: str, counted: Tally, policy: Policy) -> str:
    """Whether too many nodes are in such tests. Failures never wait for these tests: otherwise a job could keep another
    job's failing node in service."""
    cap = breaker_of(counted, pool, policy).cap
    if counted.out + counted.doubted < cap:
        return ""
    return f"{counted.out} nodes of pool {pool} are out of service, {counted.doubted} are tested for jobs; {cap} may be"
