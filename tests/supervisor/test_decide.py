"""When to start again: a budget over causes."""

from dataclasses import replace

from holdfast.diagnosis.rules.diagnose import diagnose
from holdfast.formats.job.log import JobLog
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event
from holdfast.supervisor.attempt import Attempt, Decision
from holdfast.supervisor.decide import Budget, decide

KILLED = Attempt(
    number=1, began=0.0, ended=10.0, exit_code=1, cause="host.killed", says="killed", last_step=5, advanced=True
)


def evidence_of(cause: str, *, host: str = "n1", **detail: str) -> Evidence:
    event = Event(kind="test", at=1.0, text=f"about {cause}", detail=detail)
    return Evidence(event=event, file="log", host=host, role="strong", cause=cause)


def after(attempts: list[Attempt], *evidence: Evidence, spares: int | None = None) -> Decision:
    return decide(diagnose(evidence), attempts, Budget(), spares)


def test_an_attempt_that_ended_well_is_the_end() -> None:
    assert after([replace(KILLED, exit_code=0, cause="")]) == Decision(action="done", reason="ended well")


def test_a_killed_process_is_started_again_at_once_and_the_evidence_is_named() -> None:
    decision = after([KILLED], evidence_of("host.killed"))
    assert (decision.action, decision.wait_seconds) == ("restart", 0.0)
    assert decision.evidence == ("log:0: about host.killed",)


def test_a_checkpoint_that_refuses_to_load_is_not_tried_again() -> None:
    """The name of the exception is a promise of holdfast.training: a restart alone will not change it."""
    log = JobLog()
    refusal = "/c: 4 ranks saved step 3; the shards of ranks 1 are in no keeper of this run and not in storage"
    log.feed(
        b"[rank1]: Traceback (most recent call last):\n"
        b'[rank1]:   File "train.py", line 7, in main\n'
        b"[rank1]: holdfast.training.checkpoint.restore.LoadRefused: " + refusal.encode() + b"\n"
    )
    decision = decide(diagnose(log.finish()), [replace(KILLED, cause="job.exception")], Budget(), None)
    assert (decision.action, decision.exit_code) == ("stop", 93)
    assert refusal in decision.reason


def test_the_same_cause_without_coming_further_ends_after_three() -> None:
    stuck = replace(KILLED, advanced=False)
    assert after([KILLED, stuck], evidence_of("host.killed")).action == "restart"
    third = after([KILLED, stuck, stuck], evidence_of("host.killed"))
    assert (third.action, third.exit_code) == ("stop", 93)
    assert "3 times without coming further" in third.reason


def test_progress_gives_a_new_budget() -> None:
    stuck = replace(KILLED, advanced=False)
    assert after([KILLED, stuck, KILLED, stuck], evidence_of("host.killed")).action == "restart"


def test_waits_grow_without_progress_and_end_with_it() -> None:
    stuck = replace(KILLED, advanced=False)
    others = [replace(stuck, cause=f"gpu.other{i}") for i in range(3)]
    waits = [after([KILLED, *others[:i], stuck], evidence_of("host.killed")).wait_seconds for i in range(3)]
    assert waits == [5.0, 10.0, 20.0]


def test_the_same_exception_at_the_same_step_twice_is_no_accident() -> None:
    raised = replace(KILLED, cause="job.exception", says="it failed", advanced=False)
    once = after([raised], evidence_of("job.exception"))
    twice = after([raised, raised], evidence_of("job.exception"))
    elsewhere = after([raised, replace(raised, last_step=9, advanced=True)], evidence_of("job.exception"))
    assert (once.action, twice.action, twice.exit_code, elsewhere.action) == ("restart", "stop", 93, "restart")
    assert "second time at step 5" in twice.reason


def test_a_storm_ends_with_the_commands_code_so_that_the_scheduler_may_try_elsewhere() -> None:
    attempts = [replace(KILLED, ended=float(i), exit_code=-9) for i in range(10)]
    storm = after(attempts, evidence_of("host.killed"))
    assert (storm.action, storm.exit_code) == ("stop", 137)
    spread = [replace(KILLED, ended=3600.0 * i) for i in range(10)]
    assert after(spread, evidence_of("host.killed")).action == "restart"


def test_a_bad_node_is_left_out_where_a_spare_stands_by() -> None:
    lost = replace(KILLED, cause="gpu.fell_off_bus", says="GPU gone")
    with_spare = after([lost], evidence_of("gpu.fell_off_bus", host="n7"), spares=1)
    assert (with_spare.action, with_spare.exclude) == ("restart", ("n7",))
    without = after([lost], evidence_of("gpu.fell_off_bus", host="n7"), spares=0)
    assert (without.action, without.exit_code) == ("stop", 1)
    assert "no spare is left for n7" in without.reason


def test_alone_on_a_machine_a_bad_node_is_tried_once_more() -> None:
    lost = replace(KILLED, cause="gpu.fell_off_bus", says="GPU gone")
    assert after([lost], evidence_of("gpu.fell_off_bus")).action == "restart"
    assert after([lost, lost], evidence_of("gpu.fell_off_bus")).action == "stop"


def test_full_storage_is_waited_for_where_it_is() -> None:
    full = replace(KILLED, cause="storage.full", says="no space")
    decision = after([full], evidence_of("storage.full", path="/scratch/step_20.pt"))
    assert (decision.action, decision.storage) == ("wait_for_storage", "/scratch/step_20.pt")
