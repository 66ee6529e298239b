"""The matrix of pairs: one cell is a link, a row a node, a block a leaf or a trunk; healthy pairs differ by two."""

import random

import pytest

from holdfast.node.probes.isolation.bands import PairExchange, judge
from holdfast.node.probes.isolation.isolation import Measured, doubts, leaf_parts, learn, suspects
from holdfast.node.probes.isolation.pairing import every_pair, next_round, pair
from holdfast.node.probes.sweep.report import finding

HOSTS = ["h1", "h2", "h3", "h4"]
LEAVES = {"h1": "east", "h2": "east", "h3": "west", "h4": "west"}


def matrix(chance, slow, factor=0.08, rounds=2):
    """Every pair of four hosts, twice; healthy ones anywhere within a factor of two."""
    return [
        Measured(one, other, 400e6 * chance.uniform(0.5, 1.0) * (factor if slow(one, other) else 1.0))
        for _ in range(rounds)
        for turn in every_pair(HOSTS)
        for one, other in turn
    ]


def named(measured, leaves=LEAVES):
    baseline = learn(measured)
    return [one.part for one in suspects(measured, leaf_parts(leaves), baseline) if one.confirmed]


@pytest.mark.parametrize("seed", range(20))
def test_a_slow_host_is_named_and_no_other(seed):
    assert named(matrix(random.Random(seed), lambda one, other: "h3" in (one, other))) == ["node/h3"]


@pytest.mark.parametrize("seed", range(20))
def test_one_slow_pair_is_the_pair_not_its_ends(seed):
    assert named(matrix(random.Random(seed), lambda one, other: {one, other} == {"h1", "h4"})) == ["pair/h1+h4"]


@pytest.mark.parametrize("seed", range(20))
def test_a_slow_trunk_is_the_trunk(seed):
    crossing = matrix(random.Random(seed), lambda one, other: LEAVES[one] != LEAVES[other])
    assert named(crossing) == ["trunk/east+west"]


@pytest.mark.parametrize("seed", range(20))
def test_no_one_is_named_where_nothing_is_slow(seed):
    assert named(matrix(random.Random(seed), lambda one, other: False)) == []


@pytest.mark.parametrize("seed", range(20))
def test_on_a_busy_machine_where_healthy_pairs_differ_by_four_no_one_is_named(seed):
    chance = random.Random(seed)
    noisy = [
        Measured(one, other, 100e6 * chance.uniform(0.25, 1.0))
        for _ in range(2)
        for turn in every_pair(HOSTS)
        for one, other in turn
    ]
    assert named(noisy) == []


def test_without_a_topology_a_slow_host_is_still_named():
    assert named(matrix(random.Random(1), lambda one, other: "h2" in (one, other)), {}) == ["node/h2"]


def test_a_pair_slow_once_is_not_blamed_yet():
    once = matrix(random.Random(3), lambda one, other: {one, other} == {"h1", "h4"}, rounds=1)
    baseline = learn(once)
    found = suspects(once, leaf_parts(LEAVES), baseline)
    assert [one.part for one in found][:1] == ["pair/h1+h4"]
    assert not found[0].confirmed


def test_two_bad_nodes_of_many_are_two_suspects():
    chance = random.Random(5)
    nodes = [f"n{i:03d}" for i in range(128)]
    measured = []
    for number in range(3):
        doubtful, good = doubts(measured, learn(measured))
        met = {pair(one.one, one.other) for one in measured}
        for one, other in next_round(nodes, number, suspects=doubtful, trusted=good, met=met):
            bad = 0.3 if {"n017", "n093"} & {one, other} else 1.0
            measured.append(Measured(one, other, bad * chance.gauss(1.0, 0.1)))
    assert sorted(named(measured, {})) == ["node/n017", "node/n093"]


def test_a_slow_leaf_is_one_suspect_not_its_nodes():
    chance = random.Random(6)
    nodes = [f"n{i:02d}" for i in range(64)]
    leaves = {name: f"l{i // 16}" for i, name in enumerate(nodes)}
    measured = [
        Measured(one, other, (0.4 if "l2" in (leaves[one], leaves[other]) else 1.0) * chance.gauss(1.0, 0.08))
        for number in range(3)
        for one, other in next_round(nodes, number, leaves=leaves)
    ]
    (found,) = named(measured, leaves)
    assert found in ("leaf/l2", "uplinks/l2")


def test_one_bad_rail_of_one_node_is_that_rail():
    chance = random.Random(7)
    measured = [
        Measured(one, other, chance.gauss(1.0, 0.1) * (0.3 if rail == "3" and "h2" in (one, other) else 1.0), rail)
        for turn in every_pair(HOSTS)
        for one, other in turn
        for rail in "0123"
    ]
    assert named(measured) == ["node/h2/rail/3"]


def test_rails_of_a_host_hang_on_their_own_leaves():
    chance = random.Random(3)
    leaves = {f"{host}#{rail}": f"l{rail}" for host in HOSTS for rail in "01"} | dict.fromkeys(HOSTS, "l0")
    measured = [
        Measured(one, other, chance.gauss(1.0, 0.05) * (0.05 if rail == "1" else 1.0), rail)
        for _ in range(2)
        for turn in every_pair(HOSTS)
        for one, other in turn
        for rail in "01"
    ]
    found = [one.part for one in suspects(measured, leaf_parts(leaves), learn(measured)) if one.confirmed]
    assert found in (["leaf/l1"], ["rail/1"])  # here one and the same


def test_the_evidence_of_a_rail_is_of_that_rail():
    exchanges = [
        PairExchange(
            one=one,
            other=other,
            rail=rail,
            bytes_per_second={1 << 20: 4e6 if rail == "1" and "h2" in (one, other) else 80e6},
        )
        for _ in range(2)
        for turn in every_pair(HOSTS)
        for one, other in turn
        for rail in "01"
    ]
    (named,), _ = judge(exchanges, [], leaf_parts({}))
    reported = finding(named, [], {})
    assert (reported.subject, reported.cause) == ("node/h2/rail/1", "bandwidth at 1 MiB")
    assert all(words.endswith("4.0 MB/s") for words in reported.evidence[1:]) and len(reported.evidence) > 2


def busy_rails(seed, hosts, rails, slow):
    """Every pair twice, all its rails at once: whatever else a host does then slows all of them alike."""
    chance = random.Random(seed)
    names = [f"h{number}" for number in range(hosts)]
    measured = []
    for _ in range(2):
        for one, other in (both for turn in every_pair(names) for both in turn):
            moment = chance.uniform(0.5, 1.0)
            for rail in map(str, range(rails)):
                rate = 100e6 * moment * chance.uniform(0.8, 1.0) * (0.1 if slow(one, other, rail) else 1.0)
                measured.append(Measured(one, other, rate, rail))
    leaves = {f"{name}#{rail}" if rail else name: f"l{rail}" for name in names for rail in range(rails)}
    return [one.part for one in suspects(measured, leaf_parts(leaves), learn(measured)) if one.confirmed]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("hosts", "rails"), [(4, 2), (4, 8), (8, 8)])
def test_rails_that_were_busy_at_the_same_moment_speak_once(seed, hosts, rails):
    assert busy_rails(seed, hosts, rails, lambda *_: False) == []
    only = busy_rails(seed, hosts, rails, lambda one, other, rail: "h1" in (one, other) and rail == "1")
    assert only == ["node/h1/rail/1"]
    assert busy_rails(seed, hosts, rails, lambda one, other, rail: "h1" in (one, other)) == ["node/h1"]
    assert busy_rails(seed, hosts, rails, lambda one, other, rail: {one, other} == {"h0", "h3"}) == ["pair/h0+h3"]


def test_between_two_hosts_a_slow_rail_is_that_rail_for_nothing_reports_more():
    assert busy_rails(1, 2, 4, lambda one, other, rail: rail == "1") == ["rail/1"]
