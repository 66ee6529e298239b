"""Nobody is quarantined en masse by mistake."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.lifecycle.fleet import Failure, breaker, shared_cause, spares_short
from holdfast.lifecycle.policy import Policy
from holdfast.model.life import NodeLife, Stage


def fleet(count: int, out: int = 0, per_leaf: int = 16) -> list[NodeLife]:
    return [
        NodeLife(
            name=f"n{i}",
            stage=Stage.QUARANTINED if i < out else Stage.READY,
            place={"leaf": f"leaf{i // per_leaf}", "loop": f"c{i // (2 * per_leaf)}"},
        )
        for i in range(count)
    ]


def test_the_breaker_trips_at_the_smaller_of_share_and_cap() -> None:
    policy = Policy(breaker_share=0.1, breaker_nodes=8)
    assert not breaker(fleet(64, out=5), "default", policy).open
    tripped = breaker(fleet(64, out=6), "default", policy)
    assert tripped.open
    assert "6 of 64" in tripped.reason
    assert breaker(fleet(1000, out=8), "default", policy).open


def test_one_node_may_always_leave_even_a_tiny_pool() -> None:
    assert not breaker(fleet(4), "default", Policy()).open


def test_fifty_nodes_behind_one_loop_are_one_incident_on_the_loop() -> None:
    nodes = fleet(128, per_leaf=32)
    failures = [Failure(f"n{i}", 100.0 + i * 0.5, "gpu.throttle") for i in range(50)]
    found = shared_cause(failures, nodes, 130.0, Policy())
    assert found is not None
    assert found.parent == "loop/c0"
    assert len(found.nodes) == 50


def test_a_leaf_explains_its_own_nodes_better_than_the_loop_above_it() -> None:
    failures = [Failure(f"n{i}", 100.0, "fabric.port_down") for i in range(16)]
    found = shared_cause(failures, fleet(64), 110.0, Policy())
    assert found is not None
    assert found.parent == "leaf/leaf0"


def test_scattered_or_old_failures_have_no_shared_cause() -> None:
    scattered = [Failure(f"n{i}", 100.0, "gpu.xid") for i in (0, 17, 33, 49)]
    assert shared_cause(scattered, fleet(64), 110.0, Policy()) is None
    old = [Failure(f"n{i}", 100.0, "gpu.xid") for i in range(16)]
    assert shared_cause(old, fleet(64), 5000.0, Policy()) is None


@given(st.integers(1, 300), st.floats(0, 1), st.integers(0, 50))
def test_the_cap_is_never_zero_and_never_above_either_limit(size: int, share: float, most: int) -> None:
    found = breaker(fleet(size), "default", Policy(breaker_share=share, breaker_nodes=most))
    assert 1 <= found.cap <= max(1, most)


def test_spares_are_counted_among_ready_nodes_of_the_pool() -> None:
    assert spares_short(fleet(4, out=3), "default", Policy(spares=3)) == 2
