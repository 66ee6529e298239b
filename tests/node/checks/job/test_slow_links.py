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
    assert "no single node" in CHECK(window(lambda link: 0.15 if link in (4, 9) else 0.1)).summary()


def test_a_job_without_links_is_not_asked():
    assert CHECK(History("llama").window(0.0, 300.0)).health is Health.NOT_APPLICABLE


def test_too_few_links_of_a_kind_are_unknown():
    assert CHECK(window(lambda link: 0.1, looks=1)).health is Health.UNKNOWN


def slow_by(ratio, looks=5, kinds=lambda link: "ring", nodes=None, since=None):
    """Link 4 takes so much longer than the others."""
    history = History("llama")
    for look in range(looks):
        signals = []
        for link in range(16):
            about = f"job/llama/link/{kinds(link)}:{link}"
            signals.append(Signal(about, "job_transfer_seconds", (1 + ratio if link == 4 else 1.0) * (1 + 1e-6 * look)))
            signals.append(Signal(about, "job_link_nodes", (nodes or {}).get(link, f"n{link} and n{(link + 1) % 16}")))
            if since is not None and link == 4:
                signals.append(Signal(about, "job_slow_since_seconds", since))
        history.add(Reading(source="judge", at=10.0 * look, signals=signals))
    return CHECK(history.window(10.0 * looks, 300.0))


def test_how_much_evidence_is_needed():
    assert slow_by(0.5, looks=3).health is Health.PASS
    assert slow_by(0.5, looks=4).health is Health.DEGRADED  # 1.2 a look and 4.2 in all
    assert slow_by(0.05, looks=8).health is Health.PASS
    assert slow_by(0.05, looks=9).health is Health.DEGRADED  # half a unit a look


def test_a_link_that_was_slow_is_well_below_half_of_what_is_slow():
    assert slow_by(0.026, since=60.0).health is Health.DEGRADED
    assert slow_by(0.024, since=60.0).health is Health.PASS
    assert "kind between n4 and n5" in slow_by(0.5, since=60.0).summary()


def test_links_are_compared_with_their_kind_and_four_are_needed():
    assert slow_by(0.5, kinds=lambda link: "tree" if link < 4 else "ring").health is Health.DEGRADED
    few = slow_by(0.5, kinds=lambda link: f"pair{link // 3}")
    assert (few.health, few.summary()) == (Health.UNKNOWN, "llama: fewer than 4 links of a kind were reported")


def test_the_row_of_a_slow_link_reports_by_how_much():
    (row,) = (row for row in slow_by(0.5).rows if row.health is Health.DEGRADED)
    assert (round(row.value, 3), row.limit) == (0.5, 0.05)
    assert row.reason == "takes 50 % longer than links of its kind"


def test_a_link_without_nodes_is_reported_so():
    assert " between nodes not known" in slow_by(0.5, nodes={4: ""}).summary()


def test_many_slow_links_are_counted_from_the_fifth():
    four = CHECK(window(lambda link: 0.15 if link in (4, 6, 8, 10) else 0.1)).summary()
    assert "more" not in four
    assert " and 1 more takes" in CHECK(window(lambda link: 0.15 if link in (4, 6, 8, 10, 12) else 0.1)).summary()


def test_a_node_with_a_link_that_is_not_slow_is_not_to_blame():
    three = CHECK(window(lambda link: 0.15 if link in (4, 5, 9) else 0.1)).summary()
    assert "no single node" in three


def test_the_first_four_are_named() -> None:
    message = CHECK(window(lambda link: 0.15 if link in (4, 6, 8, 10, 12) else 0.1)).summary()
    assert "communication over ring:4, ring:6, ring:8, ring:10 and 1 more takes" in message


def test_a_node_that_has_a_good_link_too_is_not_to_blame() -> None:
    history = History("llama")
    for look in range(5):
        signals = []
        for link in range(16):
            about = f"job/llama/link/ring:{link}"
            nodes = "n5 and n10" if link == 9 else f"n{link} and n{(link + 1) % 16}"
            signals.append(Signal(about, "job_transfer_seconds", (0.15 if link in (4, 5) else 0.1) * (1 + 1e-6 * look)))
            signals.append(Signal(about, "job_link_nodes", nodes))
        history.add(Reading(source="judge", at=10.0 * look, signals=signals))
    assert "no single node" in CHECK(history.window(50.0, 300.0)).summary()
