"""Every band by itself on synthetic sessions: random base values and noise, one part at fault, and none."""

import random
from dataclasses import replace
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.node.probes.isolation import bands
from holdfast.node.probes.isolation.bands import Datagrams, PairExchange, judge
from holdfast.node.probes.isolation.isolation import Measured, leaf_parts, learn, suspects
from holdfast.node.probes.sweep.channel import no_answer
from holdfast.node.probes.sweep.pairs import Pairs
from holdfast.node.probes.sweep.report import finding, mtu_findings
from tests.counts import draws

HOSTS = [f"h{number}" for number in range(1, 7)]
LEAVES = {name: "east" if name < "h4" else "west" for name in HOSTS}
PARTS = leaf_parts(LEAVES)
STALL = 0.2  # seconds: TCP's least retransmission time


def sessions(seed, base, noise, *, stall=lambda one, other: 0.0, slow=lambda one, other: 1.0, hosts=HOSTS):
    """Every pair twice. `noise` is the standard deviation of a logarithm; one exchange in fifty is preempted."""
    chance = random.Random(seed)
    found = []
    for _ in range(2):
        for one, other in combinations(hosts, 2):
            latencies = []
            for _ in range(200):
                value = base * chance.lognormvariate(0.0, noise) * slow(one, other)
                value += chance.uniform(0.0, 0.01) if chance.random() < 0.02 else 0.0
                latencies.append(value + (STALL if chance.random() < stall(one, other) else 0.0))
            rate = 1e9 * chance.lognormvariate(0.0, 0.1)
            found.append(
                PairExchange(one=one, other=other, bytes_per_second={8 << 20: rate}, latencies=tuple(latencies))
            )
    return found


def sent(sender, receiver, *, lost_out=0.0, lost_back=0.0, full=20, mtu=1500, round=1, chance=None):
    arrived = sum((chance or random).random() >= lost_out for _ in range(500)) if lost_out else 500
    echoed = sum((chance or random).random() >= lost_back for _ in range(arrived)) if lost_back else arrived
    counts = {"sent": 500, "arrived": arrived, "echoed": echoed, "full_sent": 20, "full_arrived": full}
    return Datagrams(sender=sender, receiver=receiver, mtu=mtu, round=round, **counts)


def every_way(make):
    both = [ends for one, other in combinations(HOSTS, 2) for ends in ((one, other), (other, one))]
    return [make(sender, receiver, round) for round in (1, 2) for sender, receiver in both]


def names(found):
    return [(one.suspect.part, one.band) for one in found[0]]


@settings(max_examples=draws(10, 25), deadline=None)
@given(st.integers(0, 10_000), st.floats(2e-5, 2e-3), st.floats(0.05, 0.6))
def test_no_host_is_named_where_all_are_alike_however_slow_or_noisy(seed, base, noise):
    assert names(judge(sessions(seed, base, noise), every_way(lambda s, r, n: sent(s, r, round=n)), PARTS)) == []


@settings(max_examples=draws(10, 25), deadline=None)
@given(st.integers(0, 10_000), st.floats(2e-5, 1e-3), st.floats(0.05, 0.6), st.sampled_from([0.02, 0.04, 0.2]))
def test_a_host_whose_exchanges_stall_now_and_then_is_named_by_its_tail_alone(seed, base, noise, share):
    found = judge(
        sessions(seed, base, noise, stall=lambda one, other: share if "h3" in (one, other) else 0.0), [], PARTS
    )
    assert names(found) == [("node/h3", bands.TAIL)]


@settings(max_examples=draws(10, 25), deadline=None)
@given(st.integers(0, 10_000), st.floats(2e-5, 1e-3), st.floats(0.05, 0.4))
def test_a_host_that_takes_four_times_as_long_for_small_payloads_is_named(seed, base, noise):
    found = judge(sessions(seed, base, noise, slow=lambda one, other: 4.0 if "h3" in (one, other) else 1.0), [], PARTS)
    assert names(found)[0] == ("node/h3", bands.LATENCY)
    assert len(found[0]) == 1


@settings(max_examples=draws(15, 40), deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.05]), st.booleans(), st.booleans())
def test_a_host_that_loses_datagrams_is_named_for_packet_loss_with_its_direction(seed, share, sends, receives):
    chance = random.Random(seed)

    def make(sender, receiver, round):
        out = share * ((sender == "h3" and sends) + (receiver == "h3" and receives))
        back = share * ((sender == "h3" and receives) + (receiver == "h3" and sends))
        return sent(sender, receiver, lost_out=out, lost_back=back, round=round, chance=chance)

    datagrams = every_way(make)
    found = judge([], datagrams, PARTS)
    assert names(found) == ([("node/h3", bands.PACKET_LOSS)] if sends or receives else [])
    out, into = bands.loss_directions("h3", datagrams)
    assert out == pytest.approx(share * sends, abs=share / 2) and into == pytest.approx(share * receives, abs=share / 2)


@pytest.mark.parametrize(("lost", "named"), [(1, False), (3, True)])
def test_a_datagram_in_five_hundred_is_not_reported_from_none(lost, named):
    def make(sender, receiver, round):
        bad = "h3" in (sender, receiver)
        echoed = 500 - lost * bad
        return Datagrams(sender=sender, receiver=receiver, round=round, sent=500, arrived=500, echoed=echoed)

    assert bool(names(judge([], every_way(make), PARTS))) is named


def test_datagrams_that_a_packet_filter_refuses_say_nothing():
    def make(sender, receiver, round):
        reached = 0 if receiver == "h3" else 500
        return Datagrams(sender=sender, receiver=receiver, round=round, sent=500, arrived=reached, echoed=reached)

    assert names(judge([], every_way(make), PARTS)) == []


def test_a_host_whose_full_size_frames_never_arrive_is_an_mtu_mismatch():
    way_out = every_way(lambda s, r, n: sent(s, r, full=0 if s == "h3" else 20, round=n))
    assert names(judge([], way_out, PARTS)) == [("node/h3", bands.FRAME_SIZE)]
    one_of_many = every_way(lambda s, r, n: sent(s, r, full=1 if s == "h3" else 20, round=n))
    assert names(judge([], one_of_many, PARTS)) == [], "some arrive: they are lost, not too large"


def test_full_size_frames_mean_nothing_where_half_of_the_small_ones_are_lost():
    def make(sender, receiver, round):
        bad = sender == "h3"
        counts = {"sent": 500, "arrived": 249 if bad else 500, "echoed": 249 if bad else 500}
        return Datagrams(sender=sender, receiver=receiver, round=round, full_sent=20, full_arrived=0 if bad else 20, **counts)  # fmt: skip

    assert names(judge([], every_way(make), PARTS)) == [("node/h3", bands.PACKET_LOSS)]


def test_an_interface_with_another_mtu_than_most_is_named():
    datagrams = every_way(lambda s, r, n: sent(s, r, mtu=1400 if s == "h5" else 1500, round=n))
    (found,) = mtu_findings(datagrams)
    assert (found.subject, found.cause) == ("node/h5", "MTU mismatch")
    assert found.evidence == ("its interface has MTU 1400, the others 1500",)
    halves = every_way(lambda s, r, n: sent(s, r, mtu=1400 if s < "h4" else 1500, round=n))
    assert mtu_findings(halves) == [], "no majority"
    assert mtu_findings(every_way(lambda s, r, n: sent(s, r, mtu=0 if s == "h5" else 1500))) == [], "not known"


def test_what_the_loss_explains_is_not_named_again_and_adds_its_evidence():
    exchanges = sessions(1, 1e-4, 0.2, stall=lambda one, other: 0.05 if "h3" in (one, other) else 0.0)
    chance = random.Random(1)
    lossy = every_way(
        lambda s, r, n: sent(s, r, lost_out=0.02 * ("h3" in (s, r)), lost_back=0.02 * ("h3" in (s, r)), round=n, chance=chance)
    )  # fmt: skip
    (found,), references = judge(exchanges, lossy, PARTS)
    assert (found.suspect.part, found.band) == ("node/h3", bands.PACKET_LOSS)
    assert any(line.startswith("tail latency: ") for line in found.evidence)
    assert [one.band for one in references] == ["packet loss", "MTU mismatch", "bandwidth at 8 MiB", "latency", "tail latency"]  # fmt: skip
    assert {one.source for one in references[2:]} == {"the other pairs of this run"}


@pytest.mark.parametrize(("slower", "named"), [(5.5, False), (6.5, True)])
def test_one_pair_that_is_left_does_not_say_how_much_healthy_pairs_differ(slower, named):
    """Four hosts, one lossy: of the others, a single pair is without the fourth."""

    def exchange(one, other, tried):
        rate = 1e9 / (slower if "h4" in (one, other) else 1.0) * (1.0 + 0.01 * tried)
        return PairExchange(one=one, other=other, bytes_per_second={2 << 20: rate})

    lossy = [
        sent(one, other, lost_out=0.1 * ("h3" in (one, other)), round=tried, chance=random.Random(tried))
        for tried in (1, 2)
        for one, other in permutations(HOSTS[:4], 2)
    ]
    exchanges = [exchange(*ends, tried) for tried in (1, 2) for ends in combinations(HOSTS[:4], 2)]
    found = [part for part, _ in names(judge(exchanges, lossy, lambda one, other: ()))]
    assert found == ["node/h3", *["node/h4"] * named]


@pytest.mark.parametrize(("slower", "named"), [(3.5, []), (4.5, ["node/h4"])])
def test_three_pairs_that_are_left_hardly_say_it(slower, named):
    """Four hosts, of which the fourth may have got less of a CPU than the others."""
    exchanges = [
        PairExchange(one=one, other=other, bytes_per_second={2 << 20: 1e9 / (slower if other == "h4" else 1.0)})
        for one, other in [*combinations(HOSTS[:4], 2)] * 2
    ]
    assert [part for part, _ in names(judge(exchanges, [], lambda one, other: ()))] == named


def rarely_long(seed, hosts, share, *, rate_noise=0.1, loss=0.0):
    """Every pair twice. A `share` of all exchanges takes up to 10 ms for a reason that no end knows. `h3` loses
    packets: TCP is slow over it, and waits for a retransmission now and then."""
    chance = random.Random(seed)
    found = []
    for _ in range(2):
        for one, other in combinations(hosts, 2):
            lossy = loss * ("h3" in (one, other))
            rate = 1e9 * chance.lognormvariate(0.0, rate_noise)
            latencies = [
                5e-5
                + (chance.uniform(0.0, 0.01) if chance.random() < share else 0.0)
                + STALL * (chance.random() < lossy)
                for _ in range(200)
            ]
            rates = {2 << 20: min(rate, 2e7 / lossy * chance.lognormvariate(0.0, 0.8)) if lossy else rate}
            found.append(PairExchange(one=one, other=other, bytes_per_second=rates, latencies=tuple(latencies)))
    return found


@pytest.mark.parametrize("share", [0.002, 0.005, 0.01, 0.02])
def test_a_few_long_exchanges_in_some_sessions_name_no_host(share):
    """Whether a session has one is chance, so a host has it in all of its sessions now and then."""
    hosts = [*HOSTS, "h7", "h8"]
    found = [names(judge(rarely_long(seed, hosts, share), [], PARTS)) for seed in range(draws(4, 40))]
    assert found == [[]] * len(found)


@pytest.mark.parametrize("loss", [0.01, 0.05])
@pytest.mark.parametrize("count", [4, 6])
def test_a_lossy_host_is_named_alone_however_its_partners_differ(count, loss):
    """A second host is not named from pairs with the first, nor from what few other pairs differ by."""

    def lossy_datagrams(seed):
        chance = random.Random(seed)
        return [
            sent(*ends, lost_out=loss * bad, lost_back=loss * bad, round=tried, chance=chance)
            for tried in (1, 2)
            for ends in permutations(HOSTS[:count], 2)
            for bad in ("h3" in ends,)
        ]

    for seed in range(draws(3, 60)):
        exchanges = rarely_long(seed, HOSTS[:count], 0.01, rate_noise=0.45, loss=loss)
        assert names(judge(exchanges, lossy_datagrams(seed), PARTS)) == [("node/h3", bands.PACKET_LOSS)], seed


def test_two_faults_in_two_bands_are_two_findings():
    exchanges = sessions(3, 1e-4, 0.2, slow=lambda one, other: 5.0 if "h1" in (one, other) else 1.0)
    lossy = every_way(lambda s, r, n: sent(s, r, full=0 if "h6" in (s, r) else 20, round=n))
    assert set(names(judge(exchanges, lossy, PARTS))) == {("node/h6", bands.FRAME_SIZE), ("node/h1", bands.LATENCY)}


@pytest.mark.parametrize("gone", [("h5", "h6"), ("h5", "h6", "h1")])
def test_a_slow_node_whose_neighbours_died_is_the_node_not_its_leaf(gone):
    left = [name for name in HOSTS if name not in gone]
    measured = [Measured(*ends, 0.1 if "h4" in ends else 1.0) for _ in range(2) for ends in combinations(left, 2)]
    found = [one for one in suspects(measured, PARTS, learn(measured)) if one.confirmed]
    assert [one.part for one in found] == ["node/h4"]
    assert "leaf/west" in found[0].same_as


def test_a_leaf_of_two_hosts_that_are_both_slow_stays_the_leaf():
    left = [name for name in HOSTS if name != "h6"]
    measured = [
        Measured(*ends, 0.1 if {"h4", "h5"} & set(ends) else 1.0) for _ in range(2) for ends in combinations(left, 2)
    ]
    assert [one.part for one in suspects(measured, PARTS, learn(measured)) if one.confirmed] == ["leaf/west"]


@pytest.mark.parametrize(
    ("waits", "busy"),
    [({"h1": 0.02, "h2": 0.03, "h3": 0.4}, ["h3"]), ({"h1": 0.2, "h2": 0.3, "h3": 0.4}, []), ({"h1": 0.0, "h2": 0.0, "h3": 0.09}, [])],
)  # fmt: skip
def test_a_host_that_waits_for_its_cpu_far_more_than_the_others_is_busy(waits, busy):
    assert list(bands.busy_hosts(waits)) == busy


def test_a_busy_cpu_is_the_cause_of_slowness_and_not_of_loss():
    exchanges = sessions(1, 1e-4, 0.2, slow=lambda one, other: 5.0 if "h3" in (one, other) else 1.0)
    (named,), _ = judge(exchanges, [], PARTS)
    busy = {"h3": (0.5, 0.02)}
    assert finding(named, [], busy).cause == "busy CPU"
    assert finding(named, [], {}).cause == bands.LATENCY
    (lossy,), _ = judge([], every_way(lambda s, r, n: sent(s, r, full=0 if s == "h3" else 20, round=n)), PARTS)
    assert finding(lossy, [], busy).cause == bands.FRAME_SIZE


@pytest.mark.parametrize(
    ("seconds", "began", "text"),
    [
        (120.0, False, "set-up failed: no answer within 120 s"),
        (-0.3, False, "set-up failed: no answer in time"),
        (0.4, True, "lost during the probe: no answer in time"),
    ],
)
def test_who_is_waited_for_last_is_not_given_less_than_no_time(seconds, began, text):
    assert no_answer(seconds, began) == text


@settings(max_examples=draws(10, 25), deadline=None)
@given(st.integers(0, 10_000), st.floats(2e-5, 1e-3), st.floats(0.05, 0.4))
def test_a_host_that_only_lacks_a_cpu_is_not_the_fabric_s_fault(seed, base, noise):
    exchanges = sessions(seed, base, noise, stall=lambda one, other: 0.05 if "h3" in (one, other) else 0.0)
    explained = [
        replace(one, waits=tuple(max(0.0, took - base) if took > STALL else 0.0 for took in one.latencies))
        for one in exchanges
    ]
    assert names(judge(exchanges, [], PARTS)) == [("node/h3", bands.TAIL)]
    assert names(judge(explained, [], PARTS)) == []


def test_waits_never_make_an_exchange_faster_than_the_fastest():
    exchange = PairExchange(one="a", other="b", latencies=(1.0, 5.0, 5.0), waits=(0.0, 4.5, 1.0))
    assert exchange.without_waits == (1.0, 1.0, 4.0)
    assert PairExchange(one="a", other="b", latencies=(1.0, 5.0)).without_waits == (1.0, 5.0)


def test_the_tail_is_the_mean_of_the_slowest_hundredth_and_of_two_at_least():
    assert bands.tail([1.0] * 198 + [3.0, 5.0]) == 4.0
    assert bands.tail([1.0, 2.0, 4.0]) == 3.0
    assert bands.tail([0.0] * 296 + [4.0] * 3 + [5.0]) == pytest.approx(13 / 3)


def test_a_single_pair_is_not_named_by_small_payloads_and_is_by_large_ones():
    stalls = sessions(5, 1e-4, 0.2, stall=lambda one, other: 0.2 if (one, other) == ("h4", "h5") else 0.0)
    assert names(judge(stalls, [], PARTS)) == []
    slow = [
        replace(one, bytes_per_second={8 << 20: 1e7}) if (one.one, one.other) == ("h4", "h5") else one
        for one in sessions(5, 1e-4, 0.2)
    ]
    assert names(judge(slow, [], PARTS)) == [("pair/h4+h5", "bandwidth at 8 MiB")]


@settings(max_examples=draws(10, 25), deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([2, 3]))
def test_a_lossy_node_that_is_slow_too_does_not_make_its_leaf_slow(seed, half):
    """Under load a pair of its neighbour was slow once as well: what h3 explains must not speak for the leaf."""
    hosts = [f"h{number}" for number in range(1, 2 * half + 1)]
    sides = {name: "east" if number < half else "west" for number, name in enumerate(hosts)}
    bad, neighbour = hosts[half], hosts[half + 1]
    chance = random.Random(seed)

    def make(sender, receiver, round):
        share = 0.05 * (bad in (sender, receiver))
        return sent(sender, receiver, lost_out=share, lost_back=share, round=round, chance=chance)

    both = [ends for one, other in combinations(hosts, 2) for ends in ((one, other), (other, one))]
    lossy = [make(sender, receiver, round) for round in (1, 2) for sender, receiver in both]
    exchanges = []
    for number, one in enumerate(sessions(seed, 1e-4, 0.2, hosts=hosts)):
        slow = 0.1 if bad in (one.one, one.other) else 0.4 if neighbour in (one.one, one.other) and number % 2 else 1.0
        exchanges.append(
            replace(one, bytes_per_second={size: rate * slow for size, rate in one.bytes_per_second.items()})
        )
    found = names(judge(exchanges, lossy, leaf_parts(sides)))
    assert found[0] == (f"node/{bad}", bands.PACKET_LOSS)
    assert not any(part.startswith(("leaf/", "uplinks/", "trunk/")) for part, _ in found)


def test_where_all_cpus_are_busy_a_tail_below_their_waits_names_no_one_and_one_far_above_does():
    def busy(seed, stall):
        made = sessions(seed, 1e-4, 0.2, stall=lambda one, other: stall if "h3" in (one, other) else 0.0)
        late = [
            replace(one, latencies=tuple(took + 0.004 * (n % 40 == 0) * ("h6" in (one.one, one.other)) for n, took in enumerate(one.latencies)))
            for one in made
        ]  # fmt: skip
        return [replace(one, waits=tuple(0.012 * (n % 50 == 0) for n in range(len(one.latencies)))) for one in late]

    assert names(judge(busy(1, 0.0), [], PARTS)) == []
    assert names(judge(busy(1, 0.05), [], PARTS)) == [("node/h3", bands.TAIL)]


def small(seed, slow):
    """Every pair of six twice at 64 KiB, on a busy machine; `slow(round, one, other)` is how much longer it takes."""
    chance = random.Random(seed)
    return [
        PairExchange(
            one=one,
            other=other,
            bytes_per_second={64 << 10: 1e8 * chance.lognormvariate(0.0, 0.25) / slow(turn, one, other)},
        )
        for turn in (1, 2)
        for one, other in combinations(HOSTS, 2)
    ]


def crosses(one, other):
    return LEAVES[one] != LEAVES[other]


@pytest.mark.parametrize("seed", range(8))
def test_a_busy_moment_that_slows_the_pairs_over_a_trunk_once_is_no_fault_of_the_trunk(seed):
    assert names(judge(small(seed, lambda turn, a, b: 6.0 if turn == 1 and crosses(a, b) else 1.0), [], PARTS)) == []


@pytest.mark.parametrize("seed", range(8))
def test_a_trunk_that_slows_every_pair_every_time_is_named_also_by_small_payloads(seed):
    found = names(judge(small(seed, lambda turn, a, b: 6.0 if crosses(a, b) else 1.0), [], PARTS))
    assert found == [("trunk/east+west", "bandwidth at 64 KiB")]


@pytest.mark.parametrize("seed", range(8))
def test_a_part_over_which_some_pairs_are_as_fast_as_all_others_is_not_named(seed):
    fast = {("h1", "h4"), ("h2", "h5")}

    def slow(turn, one, other):
        return 0.5 if (one, other) in fast else 6.0 if crosses(one, other) else 1.0

    assert ("trunk/east+west", "bandwidth at 64 KiB") not in names(judge(small(seed, slow), [], PARTS))


def starved(seed, *, busy_host="", slow_host="", waited=0.3):
    """Every pair twice on machines whose CPUs decide: a busy moment slows some exchanges of a host a great deal, in one
    of the two rounds. A fault is there in both."""
    chance = random.Random(seed)
    found = []
    for number in range(2):
        for one, other in combinations(HOSTS, 2):
            rate = 2e8 * chance.lognormvariate(0.0, 0.15)
            if busy_host in (one, other) and number == 1:
                rate /= chance.uniform(2.0, 4.0)
            if slow_host in (one, other):
                rate = 5e6 * chance.lognormvariate(0.0, 0.1)
            latencies = tuple(1e-3 * chance.lognormvariate(0.0, 0.2) for _ in range(50))
            waits = tuple(waited * value for value in latencies)
            rates = {1 << 20: rate}
            found.append(PairExchange(one=one, other=other, bytes_per_second=rates, latencies=latencies, waits=waits))
    return found


@settings(max_examples=draws(10, 25), deadline=None)
@given(st.integers(0, 10_000))
def test_where_cpus_are_short_one_slow_round_blames_no_host(seed):
    assert names(judge(starved(seed, busy_host="h2"), [], PARTS)) == []


@settings(max_examples=draws(10, 25), deadline=None)
@given(st.integers(0, 10_000))
def test_and_a_host_that_is_slow_in_both_is_still_named(seed):
    found = names(judge(starved(seed, slow_host="h4"), [], PARTS))
    assert [part for part, _ in found] == ["node/h4"]


def test_with_cpus_to_spare_every_round_counts():
    assert not bands._cpus_decide(starved(1, waited=0.05))
    assert bands._cpus_decide(starved(1, waited=0.1))
    assert not bands._cpus_decide([])


@settings(max_examples=draws(10, 25), deadline=None)
@given(st.integers(0, 10_000))
def test_of_few_hosts_one_slow_round_blames_no_host_even_with_cpus_to_spare(seed):
    assert names(judge(starved(seed, busy_host="h2", waited=0.02), [], PARTS)) == []
    found = names(judge(starved(seed, slow_host="h4", waited=0.02), [], PARTS))
    assert [part for part, _ in found] == ["node/h4"]


@settings(max_examples=draws(10, 25), deadline=None)
@given(st.integers(0, 10_000))
def test_where_cpus_are_short_the_fastest_try_counts(seed):
    """The usual try of one host is slow in both rounds: its fastest one is as fast as any, unless its link is slow."""
    chance = random.Random(seed)

    def tries(one, fastest):
        usual = {1 << 20: 2e7 if "h2" in (one.one, one.other) else one.bytes_per_second[1 << 20]}
        best = {1 << 20: fastest if "h2" in (one.one, one.other) else 2.5e8 * chance.lognormvariate(0.0, 0.1)}
        return replace(one, bytes_per_second=usual, best_bytes_per_second=best)

    assert names(judge([tries(one, 2.5e8) for one in starved(seed)], [], PARTS)) == []
    assert [part for part, _ in names(judge([tries(one, 5e6) for one in starved(seed)], [], PARTS))] == ["node/h2"]
    spare = [tries(one, 2.5e8) for one in starved(seed, waited=0.02)]
    assert [part for part, _ in names(judge(spare, [], PARTS))] == ["node/h2"], (
        "with CPUs to spare the usual try counts"
    )


def test_a_try_is_over_when_it_is_over_at_both_ends():
    rows = [[0.4, 0.1, 0.2], [0.1, 0.5, 0.3]]
    answers = [{"rows": [{"bytes": 60, "seconds": seconds}]} for seconds in rows]
    found = Pairs(None, {}, 1.0, {})._exchange_of("h1", "h2", "", answers)
    assert found.bytes_per_second == {60: 60 / 0.3}
    assert found.best_bytes_per_second == {60: 60 / 0.3}, "0.4, 0.5 and 0.3 seconds"


def uneven(seed, *, between_hosts, noise, slow_host="", waited=0.3):
    """Every pair twice on a busy machine: each host gets another share of the CPUs for the whole run, and each session
    is better or worse than that. A slow host sends no faster than its limit."""
    chance = random.Random(seed)
    share = {host: chance.lognormvariate(0.0, between_hosts) for host in HOSTS}
    found = []
    for _ in range(2):
        for one, other in combinations(HOSTS, 2):
            usual = 1e9 * min(share[one], share[other]) * chance.lognormvariate(0.0, noise)
            limit = 5e7 * chance.lognormvariate(0.0, 0.05) if slow_host in (one, other) else 1e12
            latencies = tuple(2e-4 * chance.lognormvariate(0.0, noise) for _ in range(50))
            found.append(
                PairExchange(
                    one=one,
                    other=other,
                    bytes_per_second={1 << 20: min(limit, usual)},
                    best_bytes_per_second={1 << 20: min(limit, 1.3 * usual)},
                    latencies=latencies,
                    waits=tuple(waited * value for value in latencies),
                )
            )
    return found


@pytest.mark.slow
@pytest.mark.parametrize("waited", [0.02, 0.3])
def test_a_host_that_gets_less_of_a_cpu_than_the_others_is_no_slow_link(waited):
    runs = [names(judge(uneven(seed, between_hosts=0.4, noise=0.3, waited=waited), [], PARTS)) for seed in range(60)]
    assert sum(bool(found) for found in runs) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("waited", [0.02, 0.3])
def test_and_a_slow_host_beside_it_is_named_alone(waited):
    shape = {"between_hosts": 0.4, "noise": 0.3, "waited": waited}
    runs = [names(judge(uneven(seed, slow_host="h3", **shape), [], PARTS)) for seed in range(60)]
    assert sum([part for part, _ in found] == ["node/h3"] for found in runs) >= 58
    assert not any(part.startswith("leaf/") for found in runs for part, _ in found)


def test_a_node_far_slower_than_the_others_of_its_slow_leaf_is_named_first():
    rate = {("h3",): 1e7, ("h1", "h2"): 3e8, (): 1e9}
    measured = [
        Measured(one, other, next(value for hosts, value in rate.items() if not hosts or {one, other} & set(hosts)))
        for _ in range(2)
        for one, other in combinations(HOSTS, 2)
    ]
    found = suspects(measured, PARTS, learn(measured))
    assert found[0].part == "node/h3" and found[0].confirmed
