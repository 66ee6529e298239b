"""Which marks a test covers, in any order of scripts, looks, tests and restarts; Slurm tells whole seconds."""

import math
from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from holdfast.fleet.actions.slurm.marks import SlurmMarks
from holdfast.formats.slurm.nodes import SlurmNode

IDLE = SlurmNode(name="n1", flags=frozenset({"IDLE"}))


def marked(why: str, at: float | None) -> SlurmNode:
    note = f"holdfast: untested: {why}"
    return SlurmNode(name="n1", flags=frozenset({"IDLE", "DRAIN"}), reason=note, reason_at=at)


def test_a_mark_counts_from_when_it_was_first_seen_whatever_time_slurm_reports() -> None:
    marks = SlurmMarks()
    marks.observe([IDLE], 100.0)
    for result in (50.0, 100.0, 5_000.0, None):
        assert marks.seen(marked(f"job of {result}", result), 103.0) == 103.0
        assert marks.seen(marked(f"job of {result}", result), 104.0) == 103.0


def test_what_stood_there_before_the_first_look_counts_from_the_end_of_its_second() -> None:
    assert SlurmMarks().seen(marked("slurmd starts", 50.0), 100.0) == 51.0
    assert SlurmMarks().seen(marked("slurmd starts", 99.5), 100.0) == 100.0
    assert SlurmMarks().seen(marked("slurmd starts", None), 100.0) == 100.0


def test_what_the_controller_itself_wrote_is_no_mark() -> None:
    node = SlurmNode(name="n1", flags=frozenset({"DRAIN"}), reason="holdfast: untested by the controller: x")
    assert SlurmMarks().seen(node, 100.0) is None


@dataclass
class Mark:
    node: SlurmNode
    made_at: float


class Life(RuleBasedStateMachine):
    """One node. `began` is the last full test that passed; a script that runs during a test makes it worthless."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.number = 1_000.0, 0
        self.marks = SlurmMarks()
        self.mark: Mark | None = None
        self.shown: SlurmNode | None = None
        self.running: float | None = None
        self.began: float | None = None

    @property
    def node(self) -> SlurmNode:
        return self.mark.node if self.mark else IDLE

    @rule(seconds=st.floats(0.001, 2.5))
    def time_goes_on(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def a_job_ends(self) -> None:
        self.number += 1
        self.mark = Mark(marked(f"job {self.number} ended here", float(math.floor(self.now))), self.now)
        self.running = None

    @rule()
    def a_look_is_answered(self) -> None:
        self.shown = self.node

    @precondition(lambda self: self.shown is not None)
    @rule()
    def the_answer_is_read(self) -> None:
        assert self.shown is not None
        self.marks.observe([self.shown], self.now)
        self.shown = None

    @rule()
    def the_controller_restarts(self) -> None:
        self.marks, self.shown = SlurmMarks(), None

    @rule()
    def a_test_begins(self) -> None:
        self.running = self.now

    @precondition(lambda self: self.running is not None)
    @rule()
    def it_passes(self) -> None:
        self.began, self.running = self.running, None

    @precondition(lambda self: self.began is not None and self.mark is not None)
    @rule()
    def our_drain_is_lifted_if_the_test_covers_it(self) -> None:
        assert self.began is not None and self.mark is not None
        since = self.marks.seen(self.node, self.now)
        assert since is not None
        if since <= self.began:
            assert self.mark.made_at <= self.began, "a mark made after the test began must stay"
            self.mark = None

    def teardown(self) -> None:
        """However it came here: a look, and a test after it, and the node returns."""
        self.now += 1.0
        self.marks.observe([self.node], self.now)
        self.now += 0.001
        if self.mark is not None:
            since = self.marks.seen(self.node, self.now)
            assert since is not None and since <= self.now


TestLife = Life.TestCase
TestLife.settings = settings(stateful_step_count=40)
