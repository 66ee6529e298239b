"""Who is missing, who is at another collective, who only waits."""

from holdfast.diagnosis.rules.collectives import Place, standings
from holdfast.formats.pytorch.flight_recorder import parse
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
    assert standings(job(done(5), done(5), done(6))) == []


def test_the_rank_that_did_not_join_is_named_and_the_waiting_are_not():
    (found,) = standings(job(waiting(8), waiting(8), done(7), waiting(8)))
    assert (found.place, found.ranks, found.waiting) == (Place.NOT_JOINED, (2,), (0, 1, 3))
    assert found.frame == "/job/train.py:42 train_step"


def test_a_rank_without_a_dump_is_the_one_they_wait_for():
    (found,) = standings(job(waiting(8), None, waiting(8), waiting(8)))
    assert (found.place, found.ranks) == (Place.NO_DUMP, (1,))


def test_few_dumps_make_little_of_a_missing_one():
    one_of_eight = standings(job(waiting(8), *[None] * 7))[0].confidence
    seven_of_eight = standings(job(*[waiting(8)] * 7, None))[0].confidence
    assert one_of_eight < 0.2 < 0.7 < seven_of_eight


def test_the_odd_one_out_is_named_even_when_it_is_the_first_rank():
    (found,) = standings(job(waiting(8, size=7), waiting(8), waiting(8), waiting(8)))
    assert (found.place, found.ranks) == (Place.MISMATCH, (0,))
    assert "[[7]]" in found.reason and "[[1024]]" in found.reason


def test_two_ranks_that_differ_cannot_be_told_apart():
    (found,) = standings(job(waiting(8, kind="broadcast"), waiting(8)))
    assert (found.place, found.ranks) == (Place.MISMATCH, (0, 1))
    assert found.confidence < 0.7


def test_members_of_an_all_to_all_may_send_different_amounts():
    found = standings(job(waiting(8, kind="all_to_all", size=1), waiting(8, kind="all_to_all", size=2), done(7)))
    assert [(one.place, one.ranks) for one in found] == [(Place.NOT_JOINED, (2,))]


def test_a_rank_that_waits_in_another_group_is_a_victim_not_the_cause():
    pair = {"1": {"name": "1", "desc": "tp", "ranks": "[1, 2]"}}
    blocked = [*done(4), recorder.collective(1, done=False, group=("1", "tp"))]
    found = standings(job(waiting(5), blocked, done(4), groups={1: pair, 2: pair}))
    assert [(one.place, one.ranks) for one in found] == [(Place.NOT_JOINED, (2,))]


def test_a_receive_without_its_send_points_at_the_sender():
    found = standings(job([recorder.direct("recv 0<-1", 1)], [recorder.direct("send 1->0", 1, done=True)]))
    assert found == [] or found[0].place is Place.INSIDE
    found = standings(
        job([recorder.direct("recv 0<-1", 1), recorder.direct("recv 0<-1", 2)], [recorder.direct("send 1->0", 1)])
    )
    assert [(one.place, one.ranks) for one in found] == [(Place.NOT_JOINED, (1,))]


def test_everybody_inside_blames_nobody():
    (found,) = standings(job(waiting(8), waiting(8), waiting(8)))
    assert (found.place, found.ranks) == (Place.INSIDE, ())
    assert found.confidence < 0.5


def test_one_rank_that_does_not_come_out_of_what_its_peers_finished_is_behind():
    (found,) = standings(job(done(8), done(8), waiting(8), done(8)))
    assert (found.place, found.ranks) == (Place.BEHIND, (2,))
