"""A node that has failed far more than its peers starts one repair step later, and its history says why."""

from dataclasses import replace

from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import NodeState, Offence, Stage, Verb
from holdfast.model.wire.report import Report, VerdictChange

DAY = 86_400.0
NOW = 400 * DAY
POLICY = Policy(repeat_offences=99, shared_wait_seconds=0.0)


def ready(name, offences=()):
    return NodeState(name=name, stage=Stage.READY, since=0.0, tested_at=1.0, tested_suite="1", offences=tuple(offences))


def fleet(bad, policy=POLICY):
    return Fleet(policy, [bad, *(ready(f"n{i:03d}") for i in range(100))])


def first_rung(made, name="bad"):
    """Which reset a failing, empty node is given first, and the steps that led there."""
    change = VerdictChange(check="gpu.xid", before="pass", after="fail", at=NOW, reason="Xid 79")
    steps = made.take(Report(node=name, session="s", seq=1, at=NOW, changes=(change,)), NOW)
    for second in range(1, 6):
        steps += made.tick(NOW + second)
    verbs = [action.verb for step in steps for action in step.actions]
    return next(verb for verb in verbs if verb in (Verb.RESET_GPU, Verb.REBOOT)), steps


def test_the_first_offence_of_a_node_begins_at_the_foot():
    assert first_rung(fleet(ready("bad")))[0] is Verb.RESET_GPU


def test_a_node_that_failed_again_and_again_begins_one_rung_up_and_says_so():
    past = [Offence(at=NOW - days * DAY, cause="gpu.ecc") for days in (100, 80, 60, 40)]
    verb, steps = first_rung(fleet(ready("bad", past)))
    assert verb is Verb.REBOOT
    assert any("repeat offender" in words for step in steps for words in step.transition.event.evidence)


def test_in_a_fleet_that_fails_as_often_it_is_nothing_special():
    past = [Offence(at=NOW - days * DAY, cause="gpu.ecc") for days in (100, 80, 60, 40)]
    made = Fleet(POLICY, [ready("bad", past), *(ready(f"n{i:03d}", past) for i in range(100))])
    assert first_rung(made)[0] is Verb.RESET_GPU


def test_jobs_that_died_on_it_count_by_their_size():
    def deaths(nodes, state=JobState.NODE_FAILED):
        return [
            Job(id=str(i), source="slurm", nodes=("bad", *nodes), start=0.0, end=NOW - i * DAY, state=state)
            for i in range(1, 6)
        ]

    alone = fleet(ready("bad"))
    alone.note_jobs(deaths(()))
    alone.note_jobs(deaths(()))  # told twice, counted once
    assert first_rung(alone)[0] is Verb.REBOOT
    crashed = fleet(ready("bad"))
    crashed.note_jobs(deaths((), JobState.FAILED))  # as likely its user's own crash
    assert first_rung(crashed)[0] is Verb.RESET_GPU
    among_many = fleet(ready("bad"))
    among_many.note_jobs(deaths([f"n{i:03d}" for i in range(31)]))
    assert first_rung(among_many)[0] is Verb.RESET_GPU


def test_a_policy_can_do_without_the_score():
    past = [Offence(at=NOW - days * DAY, cause="gpu.ecc") for days in (100, 80, 60, 40)]
    assert first_rung(fleet(ready("bad", past), replace(POLICY, repeat_offender_score=0.0)))[0] is Verb.RESET_GPU
