"""A node that has failed far more than its peers starts one repair step later, and its history says why."""

from dataclasses import replace

from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.repeat_offenders import RepeatOffenders
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


def test_the_first_offence_of_a_node_starts_at_the_foot():
    assert first_rung(fleet(ready("bad")))[0] is Verb.RESET_GPU


def test_a_node_that_failed_again_and_again_starts_one_repair_step_up_and_says_so():
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


def offenders(*nodes):
    made = {node.name: node for node in nodes}
    return RepeatOffenders(made), made


def job(number=1, nodes=("bad",), state=JobState.NODE_FAILED, end=NOW - DAY, **more):
    return Job(id=str(number), source="slurm", nodes=nodes, start=0.0, end=end, state=state, **more)


def counted(*jobs, name="bad"):
    """How many dead jobs are held against a node."""
    made, nodes = offenders(ready("bad"), ready("other"))
    made.note(jobs)
    words = made.why(nodes[name], NOW, Policy(repeat_offender_score=0.001))
    return int(words.partition(": ")[2].split(" jobs died")[0]) if "jobs died" in words else 0


def test_which_jobs_are_held_against_the_nodes_they_died_on():
    both = ("bad", "other")
    assert counted(job()) == 1
    assert counted(job(state=JobState.FAILED)) == 0  # its user's own crash as likely as not
    assert counted(job(state=JobState.FAILED, nodes=both)) == 1
    assert counted(job(state=JobState.COMPLETED, nodes=both)) == 0
    assert counted(job(end=None)) == 0
    assert counted(job(step="0")) == 0
    assert counted(job(1), job(1), job(2)) == 2
    assert counted(job(nodes=both), name="other") == 1
    assert counted(*(job(number) for number in range(40))) == 32


def test_a_score_counts_from_the_policys_on_if_it_is_four_times_the_usual():
    """One offence a year ago is worth a half; of a hundred nodes that have none the usual is 11 * 0.5 / 101."""
    old = ready("bad", [Offence(at=NOW - 365 * DAY, cause="gpu.ecc")])
    made, nodes = offenders(old, *(ready(f"n{i}") for i in range(100)))
    score = 0.5 + 10 * 0.5 / 101
    assert made.why(nodes["bad"], NOW, Policy(repeat_offender_score=score - 1e-6)).startswith(
        "a repeat offender, score 0.5 where 0.1 is usual: "
    )
    assert made.why(nodes["bad"], NOW, Policy(repeat_offender_score=score + 1e-6)) == ""
    alone, one = offenders(ready("bad", [Offence(at=NOW - DAY, cause="gpu.ecc")]))
    assert alone.why(one["bad"], NOW, Policy(repeat_offender_score=0.1)) == ""  # it is the usual here
    assert made.why(nodes["bad"], NOW, Policy(repeat_offender_score=0.0)) == ""


def test_two_reasons_are_reported():
    many = [Offence(at=NOW - days * DAY, cause="gpu.ecc") for days in (100, 80, 60, 40)]
    made, nodes = offenders(ready("bad", many), *(ready(f"n{i}") for i in range(100)))
    made.note([job()])
    words = made.why(nodes["bad"], NOW, Policy())
    assert words.count(";") == 1
    assert "4 offences of its own" in words


def test_what_the_fleet_carries_is_reckoned_every_ten_minutes():
    many = [Offence(at=NOW - days * DAY, cause="gpu.ecc") for days in (100, 80, 60, 40)]
    made, nodes = offenders(ready("bad", many), *(ready(f"n{i}") for i in range(100)))
    assert made.why(nodes["bad"], NOW, Policy())
    for name in list(nodes):
        nodes[name] = replace(nodes[name], offences=tuple(many))
    assert made.why(nodes["bad"], NOW + 599.0, Policy())
    assert made.why(nodes["bad"], NOW + 600.0, Policy()) == ""


def test_a_bad_rack_counts_for_those_in_it():
    many = [Offence(at=NOW - days * DAY, cause="gpu.ecc") for days in (100, 80)]
    rack = [replace(ready(f"r{i}", many), place={"rack": "r1"}) for i in range(200)]
    rest = [replace(ready(f"n{i}"), place={"rack": "r2"}) for i in range(1800)]
    made, nodes = offenders(*rack, *rest)
    inside = made.why(replace(ready("new", many), place={"rack": "r1"}), NOW, Policy(repeat_offender_score=0.1))
    assert "rack/r1 has" in inside
    assert nodes


def test_a_node_of_no_fleet_is_measured_by_itself():
    made = RepeatOffenders({})
    lone = ready("bad", [Offence(at=NOW - DAY, cause="gpu.ecc")])
    assert made.why(lone, NOW, Policy(repeat_offender_score=0.9)).startswith(
        "a repeat offender, score 1.0 where 0.0 is"
    )
    assert made.why(lone, NOW, Policy(repeat_offender_score=1.1)) == ""
