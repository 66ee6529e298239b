"""Which step goes to storage: whatever is late, lost, said twice or dead, all ranks write the same steps or none."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from holdfast.training.checkpoint.keeper.quorum import NONE, Ballot, QuorumShare

WORLD = 3


class Keepers(RuleBasedStateMachine):
    """Ranks that save in their own time, words and answers that come late, keepers that die with all they held."""

    def __init__(self) -> None:
        super().__init__()
        self.ballot = Ballot(WORLD)
        self.shares = [QuorumShare() for _ in range(WORLD)]
        self.saved = [0] * WORLD  # the last step each rank offered
        self.late: list[tuple[int, int, int]] = []
        self.written: dict[int, set[int]] = {}
        self.left: dict[int, set[int]] = {}
        self.died = False

    @rule(rank=st.integers(0, WORLD - 1))
    def save(self, rank: int) -> None:
        """No rank is more than one step ahead of another: they train together."""
        if self.saved[rank] == min(self.saved):
            self.saved[rank] += 1
            if not self.shares[rank].offer(self.saved[rank]):
                self.left.setdefault(self.saved[rank], set()).add(rank)

    @rule(rank=st.integers(0, WORLD - 1))
    def ask(self, rank: int) -> None:
        self.say(rank, self.shares[rank].newest, self.shares[rank].holds)

    @rule(rank=st.integers(0, WORLD - 1))
    def lose_on_the_way(self, rank: int) -> None:
        """The word arrives some time, the answer never."""
        self.late.append((rank, self.shares[rank].newest, self.shares[rank].holds))

    @precondition(lambda self: self.late)
    @rule(data=st.data())
    def arrive_late(self, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(self.late) - 1))
        self.ballot.vote(*self.late.pop(at))

    @rule(rank=st.integers(0, WORLD - 1))
    def finish(self, rank: int) -> None:
        if self.shares[rank].chosen:
            self.shares[rank].let_go()

    @rule(rank=st.integers(0, WORLD - 1))
    def keeper_dies(self, rank: int) -> None:
        self.shares[rank] = QuorumShare()
        self.died = True

    @rule()
    def counting_keeper_dies(self) -> None:
        self.ballot = Ballot(WORLD)
        self.shares[0] = QuorumShare()
        self.died = True

    def say(self, rank: int, newest: int, holds: int) -> None:
        share = self.shares[rank]
        held, was_open = share.holds, share.open
        if share.apply_note(self.ballot.vote(rank, newest, holds)):
            self.written.setdefault(held, set()).add(rank)
        elif was_open and not share.open:
            self.left.setdefault(held, set()).add(rank)

    @invariant()
    def no_rank_writes_what_another_left_out(self) -> None:
        if not self.died:
            assert not self.written.keys() & self.left.keys()

    @invariant()
    def what_is_chosen_was_held_by_all(self) -> None:
        chosen = self.ballot.answer.chosen
        if not self.died and chosen != NONE:
            for rank, share in enumerate(self.shares):
                assert share.holds == chosen or rank in self.written.get(chosen, ())

    @invariant()
    def it_always_goes_on(self) -> None:
        """From wherever this is: when all are heard and have written, the next step but one is written by all."""
        shares = [QuorumShare() for _ in range(WORLD)]
        ballot = Ballot(WORLD)
        ballot._words, ballot.answer = dict(self.ballot._words), self.ballot.answer
        for share, now in zip(shares, self.shares, strict=True):
            share.newest, share.holds, share.chosen = now.newest, now.holds, now.chosen
        newest = max(self.saved)
        for step in (newest + 1, newest + 2):
            for share in shares:
                if share.chosen:
                    share.let_go()
                share.offer(step)
            for _ in range(2):
                for rank, share in enumerate(shares):
                    share.apply_note(ballot.vote(rank, share.newest, share.holds))
        assert [(share.holds, share.chosen) for share in shares] == [(newest + 2, True)] * WORLD


TestKeepers = Keepers.TestCase
TestKeepers.settings = settings(stateful_step_count=40)


def test_a_step_that_one_rank_passed_by_is_left_out_and_the_reason_is_reported() -> None:
    ballot = Ballot(3)
    for rank in range(3):
        assert ballot.vote(rank, 10, 10).chosen == (10 if rank == 2 else NONE)
    assert ballot.vote(0, 20, 20).settled == 10
    answer = ballot.vote(1, 20, 10)
    assert (answer.chosen, answer.settled, answer.why) == (10, 20, "rank 1 is busy with an earlier step")
    assert ballot.vote(2, 30, 30).settled == 20, "rank 0 and 1 have not come there"
    ballot.vote(0, 30, 30)
    assert ballot.vote(1, 30, 30).chosen == 30


def test_words_that_make_no_sense_change_nothing() -> None:
    ballot = Ballot(2)
    for rank, newest, holds in ((-1, 5, 5), (2, 5, 5), (0, 5, 6), (0, 5, -2)):
        assert ballot.vote(rank, newest, holds) == Ballot(2).answer
    assert ballot.vote(0, 5, 5).settled == NONE
    assert ballot.vote(1, 5, 5).chosen == 5


def test_a_late_word_of_a_keeper_that_died_since_does_not_count() -> None:
    ballot = Ballot(2)
    ballot.vote(0, 20, 20)
    ballot.vote(0, 10, 10)  # was said before the one above, by the keeper before this one
    assert ballot.vote(1, 10, 10).chosen == NONE
