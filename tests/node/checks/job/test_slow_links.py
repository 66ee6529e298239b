"""A slow link is found by those that share it."""

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.signal import Reading, Signal
from holdfast.node.checks.job.slow_links import CHECK


def window(seconds, looks=5):
    """A ring of 16 nodes, each link between two neighbours."""
    history = History("llama")
    for look in range(looks):
        signals = []
        for link in range(16):
            about = f"job/llama/link/ring:{link}"
            signals.append(Signal(about, "job_transfer_seconds", seconds(link) * (1 + 1e-6 * look)))
            signals.append(Signal(about, "job_link_nodes", f"n{link} and n{(link + 1) % 16}"))
        history.add(Reading(source="judge", at=10.0 * look, signals=signals))
    return history.window(10.0 * looks, 300.0)


def test_links_alike_pass():
    assert CHECK(window(lambda link: 0.1 + 0.0001 * (link % 3))).health is Health.PASS


def test_one_slow_link_is_named_with_its_nodes():
    verdict = CHECK(window(lambda link: 0.15 if link == 4 else 0.1))
    assert verdict.health is Health.DEGRADED
    assert "over ring:4 takes 50 % longer" in verdict.summary() and "between n4 and n5" in verdict.summary()


def test_two_slow_links_of_one_node_are_that_nodes():
    verdict = CHECK(window(lambda link: 0.15 if link in (4, 5) else 0.1))
    assert "all links over node n5 are slow" in verdict.summary()


def test_slow_links_with_nothing_in_common_are_not_put_on_anybody():
    assert "no node is common" in CHECK(window(lambda link: 0.15 if link in (4, 9) else 0.1)).summary()


def test_a_job_without_links_is_not_asked():
    assert CHECK(History("llama").window(0.0, 300.0)).health is Health.NOT_APPLICABLE


def test_too_few_links_of_a_kind_are_unknown():
    assert CHECK(window(lambda link: 0.1, looks=1)).health is Health.UNKNOWN
