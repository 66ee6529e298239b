"""Who is missing, who is at another collective, who only waits."""

from holdfast.diagnosis.evidence.flight_recorder import evidence
from holdfast.diagnosis.rules.collectives import CollectivePlace, collective_states
from holdfast.formats.pytorch.flight_recorder import Dump, Operation, ProcessGroup, parse
from tests.diagnosis import recorder


def job(*ranks, groups=None):
    """One list of entries per rank; None for a rank that left no dump."""
    return [
        parse(recorder.dump(len(ranks), entries, (groups or {}).get(rank)), f"dump_{rank}")
        for rank, entries in enumerate(ranks)
        if entries is not None
    ]


def done(count):
    return [recorder.collective(n) for n in range(1, count + 1)]


def waiting(count, **words):
    return [*done(count - 1), recorder.collective(count, done=False, **words)]


def test_a_job_that_goes_on_has_no_finding():
    assert collective_states(job(done(5), done(5), done(6))) == []


def test_the_rank_that_did_not_join_is_named_and_the_waiting_are_not():
    (found,) = collective_states(job(waiting(8), waiting(8), done(7), waiting(8)))
    assert (found.place, found.ranks, found.waiting) == (CollectivePlace.NOT_JOINED, (2,), (0, 1, 3))
    assert found.frame == "/job/train.py:42 train_step"


def test_a_rank_without_a_dump_is_the_one_they_wait_for():
    (found,) = collective_states(job(waiting(8), None, waiting(8), waiting(8)))
    assert (found.place, found.ranks) == (CollectivePlace.NO_DUMP, (1,))


def test_few_dumps_make_little_of_a_missing_one():
    one_of_eight = collective_states(job(waiting(8), *[None] * 7))[0].confidence
    seven_of_eight = collective_states(job(*[waiting(8)] * 7, None))[0].confidence
    assert one_of_eight < 0.2 < 0.7 < seven_of_eight


def test_the_odd_one_out_is_named_even_when_it_is_the_first_rank():
    (found,) = collective_states(job(waiting(8, size=7), waiting(8), waiting(8), waiting(8)))
    assert (found.place, found.ranks) == (CollectivePlace.MISMATCH, (0,))
    assert "[[7]]" in found.reason and "[[1024]]" in found.reason


def test_two_ranks_that_differ_cannot_be_distinguished():
    (found,) = collective_states(job(waiting(8, kind="broadcast"), waiting(8)))
    assert (found.place, found.ranks) == (CollectivePlace.MISMATCH, (0, 1))
    assert found.confidence < 0.7


def test_members_of_an_all_to_all_may_send_different_amounts():
    found = collective_states(
        job(waiting(8, kind="all_to_all", size=1), waiting(8, kind="all_to_all", size=2), done(7))
    )
    assert [(one.place, one.ranks) for one in found] == [(CollectivePlace.NOT_JOINED, (2,))]


def test_a_rank_that_waits_in_another_group_is_a_victim_not_the_cause():
    pair = {"1": {"name": "1", "desc": "tp", "ranks": "[1, 2]"}}
    blocked = [*done(4), recorder.collective(1, done=False, group=("1", "tp"))]
    found = collective_states(job(waiting(5), blocked, done(4), groups={1: pair, 2: pair}))
    assert [(one.place, one.ranks) for one in found] == [(CollectivePlace.NOT_JOINED, (2,))]


def test_a_receive_without_its_send_points_at_the_sender():
    found = collective_states(job([recorder.direct("recv 0<-1", 1)], [recorder.direct("send 1->0", 1, done=True)]))
    assert found == [] or found[0].place is CollectivePlace.INSIDE
    found = collective_states(
        job([recorder.direct("recv 0<-1", 1), recorder.direct("recv 0<-1", 2)], [recorder.direct("send 1->0", 1)])
    )
    assert [(one.place, one.ranks) for one in found] == [(CollectivePlace.NOT_JOINED, (1,))]


def test_everybody_inside_blames_no_one():
    (found,) = collective_states(job(waiting(8), waiting(8), waiting(8)))
    assert (found.place, found.ranks) == (CollectivePlace.INSIDE, ())
    assert found.confidence < 0.5


def test_one_rank_that_does_not_come_out_of_what_its_peers_finished_is_behind():
    (found,) = collective_states(job(done(8), done(8), waiting(8), done(8)))
    assert (found.place, found.ranks) == (CollectivePlace.BEHIND, (2,))


def test_how_much_silence_is_trusted():
    """Nine in ten of the share that left a dump."""
    found = collective_states(job(*[waiting(8)] * 3, None))
    assert [(one.place, one.confidence) for one in found] == [(CollectivePlace.NO_DUMP, 0.9 * 3 / 4)]


def test_a_rank_that_left_no_dump_is_reported_before_one_that_did_not_join():
    found = collective_states(job(waiting(8), done(7), None, waiting(8), waiting(8)))
    assert [(one.place, one.ranks) for one in found] == [
        (CollectivePlace.NO_DUMP, (2,)),
        (CollectivePlace.NOT_JOINED, (1,)),
    ]
    assert found[1].confidence == 0.95


def test_ranks_missing_from_the_same_operation_are_one_finding():
    (found,) = collective_states(job(waiting(8), done(7), done(7), waiting(8)))
    assert (found.ranks, found.waiting) == ((1, 2), (0, 3))
    assert found.reason == "ranks 1, 2 did not join all_reduce 8 of default_pg, in which ranks 0, 3 wait"


def test_the_first_operation_that_somebody_waits_in_is_reported():
    (found,) = collective_states(job([*done(6), later(7)], waiting(7), done(6)))
    assert (found.ranks, found.sequence, found.since) == ((2,), 7, 1_700_000_000.0)


def test_half_of_the_peers_are_not_most_of_them():
    """Behind is who has pending what more than half of its peers finished."""
    (found,) = collective_states(job(done(8), waiting(8), waiting(8)))
    assert (found.place, found.ranks) == (CollectivePlace.INSIDE, ())
    (found,) = collective_states(job(done(8), done(8), waiting(8), waiting(8)))
    assert (found.place, found.ranks, found.waiting, found.confidence) == (CollectivePlace.BEHIND, (2, 3), (0, 1), 0.8)


def later(sequence):
    return recorder.collective(sequence, done=False) | {"time_created_ns": 1_700_000_100_000_000_000}


def test_everybody_inside_is_reported_with_the_first_operation():
    both = [*done(5), later(7), recorder.collective(6, done=False)]
    (found,) = collective_states(job(both, both))
    assert (found.place, found.sequence, found.waiting, found.confidence) == (CollectivePlace.INSIDE, 6, (0, 1), 0.3)
    assert found.reason == "all ranks with a dump here joined all_reduce 6 of default_pg and none left it"


def test_the_first_mismatch_of_a_group_is_reported_once():
    odd = [*done(7), recorder.collective(8, size=7, done=False), recorder.collective(9, size=7, done=False)]
    usual = [*done(7), recorder.collective(8, done=False), recorder.collective(9, done=False)]
    (found,) = collective_states(job(odd, usual, usual))
    assert (found.place, found.ranks, found.sequence, found.waiting, found.confidence) == (CollectivePlace.MISMATCH, (0,), 8, (1, 2), 0.95)  # fmt: skip
    assert found.reason.endswith("all_reduce of [[7]] Float instead of all_reduce of [[1024]] Float")


def test_of_an_even_vote_everybody_is_suspected():
    found = collective_states(job(*[waiting(8, size=7)] * 2, *[waiting(8)] * 2))[0]
    assert (found.place, found.ranks, found.waiting, found.confidence) == (
        CollectivePlace.MISMATCH,
        (0, 1, 2, 3),
        (),
        0.6,
    )


def test_members_of_an_all_gather_hand_over_the_same():
    kinds = {kind: collective_states(job(waiting(8, kind=kind, size=7), waiting(8, kind=kind), waiting(8, kind=kind))) for kind in ("all_gather", "gather", "scatter", "alltoall_base")}  # fmt: skip
    assert {kind: found[0].place for kind, found in kinds.items()} == {
        "all_gather": CollectivePlace.MISMATCH, "gather": CollectivePlace.INSIDE, "scatter": CollectivePlace.INSIDE, "alltoall_base": CollectivePlace.INSIDE,
    }  # fmt: skip


def test_who_belongs_to_another_group_is_not_waited_for():
    pair = {"1": {"name": "1", "desc": "tp", "ranks": "[0, 1]"}}
    blocked = [*done(4), recorder.collective(1, done=False, group=("1", "tp"))]
    found = collective_states(job(blocked, done(4), done(4), groups={0: pair, 1: pair}))
    assert [(one.place, one.ranks, one.group) for one in found] == [(CollectivePlace.NOT_JOINED, (1,), "tp")]


def test_a_send_to_a_rank_without_a_dump_waits_for_it():
    found = collective_states(job([recorder.direct("send 0->1", 1)], None))
    assert [(one.place, one.ranks) for one in found] == [(CollectivePlace.NO_DUMP, (1,))]
    both = collective_states(job([recorder.direct("recv 0<-1", 1)], [recorder.direct("send 1->0", 1)]))
    assert [one.place for one in both] == [CollectivePlace.INSIDE], "they met"


def test_of_many_ranks_eight_are_named():
    (found,) = collective_states(job(*[waiting(8)] * 10, done(7)))
    assert "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more wait" in found.reason
    (found,) = collective_states(job(*[waiting(8)] * 8, done(7)))
    assert "ranks 0, 1, 2, 3, 4, 5, 6, 7 wait" in found.reason


def test_what_dumps_say_as_evidence():
    places = {
        CollectivePlace.NOT_JOINED: ("strong", "job.rank_missing"), CollectivePlace.INSIDE: ("watchdog", ""),
        CollectivePlace.MISMATCH: ("strong", "job.collective_mismatch"), CollectivePlace.BEHIND: ("strong", "job.rank_missing"),
    }  # fmt: skip
    for found in (
        collective_states(job(waiting(8), waiting(8), done(7))), collective_states(job(waiting(8), waiting(8))),
        collective_states(job(waiting(8, size=7), waiting(8), waiting(8))), collective_states(job(done(8), done(8), waiting(8))),
    ):  # fmt: skip
        (one,) = evidence(found, {0: "dump_0"})
        assert (one.role, one.cause) == places[found[0].place]
        assert one.rank == (found[0].ranks[0] if len(found[0].ranks) == 1 else None)
        assert one.number("seq") == 8
        assert one.file == ("dump_0" if 0 in (*found[0].waiting, *found[0].ranks) else "")


def test_little_trust_in_silence_is_weak_evidence():
    weak, strong = (evidence(collective_states(job(*[waiting(8)] * count, None)), {})[0] for count in (1, 3))
    assert (weak.role, strong.role, weak.file) == ("weak", "strong", "")


def bare(rank, enqueued, *operations, ranks=(), completed=None):
    """A dump whose groups nothing describes, unless `ranks` are its members."""
    groups = {"g": ProcessGroup("g", "", ranks)} if ranks else {}
    return Dump(rank, (2, 9), "", groups, {"g": enqueued}, completed or {}, operations)


def pending(sequence, **more):
    return Operation("g", sequence, sequence, "all_reduce", "scheduled", True, **more)


def placed(*dumps):
    return [(one.place, one.ranks, one.waiting) for one in collective_states(dumps)]


def test_of_a_group_that_nothing_describes_those_who_used_it_are_members():
    found = collective_states([bare(0, 5, pending(5)), bare(1, 4)])
    assert [(one.place, one.ranks, one.group) for one in found] == [(CollectivePlace.NOT_JOINED, (1,), "g")]
    other = Dump(2, (2, 9), "", {}, {}, {}, ())
    assert placed(bare(0, 5, pending(5)), bare(1, 5, pending(5)), other) == [(CollectivePlace.INSIDE, (), (0, 1))]


def described(ranks, description="tp"):
    return {"g": ProcessGroup("g", description, ranks)}


def test_a_member_that_left_no_dump_is_missing_in_a_group_whose_members_are_known():
    """Rank 3 left none either: it is no member."""
    dump = Dump(0, (2, 9), "", described((0, 1)), {"g": 5}, {}, (pending(5),))
    other = Dump(2, (2, 9), "", {"w": ProcessGroup("w", "", (0, 1, 2, 3))}, {}, {}, ())
    assert placed(dump, other) == [(CollectivePlace.NO_DUMP, (1,), (0,))]


def test_of_groups_whose_members_are_not_known_only_that_of_all_ranks_has_those_without_a_dump():
    def asked(description):
        groups = described((), description) | {"w": ProcessGroup("w", "", (0, 1))}
        return placed(Dump(0, (2, 9), "", groups, {"g": 5}, {}, (pending(5),)))

    assert asked("default_pg") == [(CollectivePlace.NO_DUMP, (1,), (0,))]
    assert asked("tp") == [(CollectivePlace.INSIDE, (), (0,))]


def test_a_rank_never_waits_for_itself():
    lagging = bare(0, 4, pending(5))
    assert placed(lagging, bare(1, 5, pending(5))) == [(CollectivePlace.NOT_JOINED, (0,), (1,))]
    to_itself = pending(1, point_to_point=True, source=0, target=0)
    assert placed(bare(0, 4, to_itself), bare(1, 5, pending(5))) == [(CollectivePlace.NOT_JOINED, (0,), (1,))]


def test_the_first_rank_is_waited_for_as_any_other():
    received = pending(1, point_to_point=True, source=0, target=1)
    waits = bare(1, 4, received, ranks=(0, 1))
    assert placed(waits) == [(CollectivePlace.NO_DUMP, (0,), (1,))]


def test_an_end_of_a_send_that_is_not_named_is_no_one():
    unnamed = pending(1, point_to_point=True)
    assert placed(bare(0, 4, unnamed, ranks=(0, -1))) == [(CollectivePlace.INSIDE, (), (0,))]


def test_a_rank_is_waited_for_from_the_first_collective_it_lacks():
    for enqueued, place in ((4, CollectivePlace.NOT_JOINED), (5, CollectivePlace.INSIDE), (6, CollectivePlace.INSIDE)):
        assert placed(bare(0, 5, pending(5)), bare(1, enqueued))[0][0] is place


def test_peers_that_finished_it_are_counted_by_their_own_word():
    stuck = bare(0, 5, pending(5))
    for completed, place in ((4, CollectivePlace.INSIDE), (5, CollectivePlace.BEHIND), (6, CollectivePlace.BEHIND)):
        assert placed(stuck, bare(1, 6, completed={"g": completed}))[0][0] is place
    first = bare(0, 5, pending(0))
    assert placed(first, bare(1, 6))[0][0] is CollectivePlace.INSIDE
    assert placed(first, bare(1, 6, completed={"g": 0}))[0][0] is CollectivePlace.BEHIND


def direct(source, target, kind="send", sequence=1, *, waits=True, group="g"):
    return Operation(group, sequence, 0, kind, "scheduled" if waits else "completed", waits, True, source, target)


def test_a_partner_of_unknown_health_is_no_partner():
    assert placed(bare(0, 4, direct(0, 7))) == [(CollectivePlace.INSIDE, (), (0,))]
    assert placed(bare(0, 4, direct(0, 7), ranks=(0, 7))) == [(CollectivePlace.NO_DUMP, (7,), (0,))]
    assert placed(bare(0, 4, direct(7, 0, "recv"), ranks=(0, 7))) == [(CollectivePlace.NO_DUMP, (7,), (0,))]


def test_sends_and_receives_meet_in_pairs_of_one_group_and_direction():
    waits = direct(0, 1)
    met, missing = (CollectivePlace.INSIDE, (), (0,)), (CollectivePlace.NOT_JOINED, (1,), (0,))
    for answer, found in (
        (direct(0, 1, "recv", waits=False), met),
        (direct(0, 1, "send", waits=False), missing),
        (direct(1, 0, "recv", waits=False), missing),
        (direct(0, 2, "recv", waits=False), missing),
        (direct(0, 1, "recv", waits=False, group="h"), missing),
    ):
        assert placed(bare(0, 4, waits), bare(1, 4, answer)) == [found]
    second = direct(0, 1, sequence=2)
    one, two = direct(0, 1, "recv", waits=False), direct(0, 1, "recv", 2, waits=False)
    assert placed(bare(0, 4, waits, second), bare(1, 4, one)) == [missing]
    assert placed(bare(0, 4, waits, second), bare(1, 4, one, two)) == [met]


def test_a_rank_stuck_in_two_groups_is_inside_the_first():
    other = Operation("h", 3, 3, "all_reduce", "scheduled", True, created=9.0)
    dumps = [
        Dump(rank, (2, 9), "", {}, {"g": 5, "h": 3}, {}, (pending(5, created=5.0), other)[: 2 - rank])
        for rank in (0, 1)
    ]
    (found,) = collective_states(dumps)
    assert (found.place, found.group, found.waiting, found.since) == (CollectivePlace.INSIDE, "g", (0, 1), 5.0)


def test_of_ranks_missing_from_two_operations_the_first_is_reported():
    later = Operation("h", 3, 3, "broadcast", "scheduled", True, created=9.0)
    waits = Dump(0, (2, 9), "", {}, {"g": 5, "h": 3}, {}, (pending(5, created=5.0), later))
    behind = [Dump(rank, (2, 9), "", {}, {group: number}, {}, ()) for rank, group, number in ((1, "g", 4), (2, "h", 2))]
    (found,) = collective_states([waits, *behind])
    assert (found.ranks, found.operation, found.since) == ((1, 2), "all_reduce", 5.0)
    assert found.reason == "ranks 1, 2 did not join all_reduce 5 of g, in which rank 0 wait"


def test_what_a_rank_waits_for_from_others_is_not_counted_for_a_pair():
    """Rank 0 waits for rank 2 first, then sends to rank 1 and receives from it: each has its partner."""
    to_two, to_one, from_one = direct(0, 2), direct(0, 1), direct(1, 0, "recv")
    answers = [direct(0, 1, "recv", waits=False), direct(1, 0, waits=False)]
    two = bare(2, 4, direct(0, 2, "recv", waits=False))
    assert placed(bare(0, 4, to_two, to_one, from_one), bare(1, 4, *answers), two) == [
        (CollectivePlace.INSIDE, (), (0,))
    ]
    assert placed(bare(0, 4, to_two, to_one, from_one), bare(1, 4, answers[0]), two) == [
        (CollectivePlace.NOT_JOINED, (1,), (0,))
    ]
