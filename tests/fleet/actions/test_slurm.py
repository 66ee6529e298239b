"""The Slurm back end against commands that fail, hang, lie, or are of another version."""

import json
import textwrap
from pathlib import Path

import pytest

from holdfast.fleet.actions.backend import ActionOutcome, ActionResult
from holdfast.fleet.actions.slurm.backend import Slurm, SlurmSettings
from holdfast.fleet.actions.slurm.commands import SlurmCommands
from holdfast.model.lifecycle import Action, Verb
from holdfast.runtime.errors import NoAnswer

from .conftest import TimeIsUp

IDLE = "NodeName=g1 Arch=x\n   State=IDLE ThreadsPerCore=1 Weight=1\n"
OURS = (
    "NodeName=g1 Arch=x\n   State=IDLE+DRAIN Weight=1\n   Reason=holdfast: gpu.xid: gone [root@2026-01-01T00:00:00]\n"
)
THEIRS = "NodeName=g1 Arch=x\n   State=IDLE+DRAIN Weight=1\n   Reason=ana: fan [ana@2026-01-01T00:00:00]\n"


class Commands:
    """Stand-ins for Slurm's commands; `shows` are scontrol's answers, one after the other, the last one again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.update = "exit 0"

    def shows(self, *answers: str) -> None:
        for number, answer in enumerate(answers, 1):
            (self.root / f"show.{number}").write_text(answer)
        self.write(
            "scontrol",
            f"""
            echo "$*" >> {self.root}/calls
            case "$1" in
            show)
                n=$(grep -c '^show' {self.root}/calls); test $n -gt {len(answers)} && n={len(answers)}
                cat {self.root}/show.$n;;
            update) {self.update};;
            esac
            """,
        )

    def write(self, name: str, script: str) -> None:
        (self.root / name).write_text("#!/bin/sh\n" + textwrap.dedent(script))
        (self.root / name).chmod(0o755)

    def calls(self, kind: str) -> list[str]:
        log = self.root / "calls"
        return [line for line in (log.read_text() if log.exists() else "").splitlines() if line.startswith(kind)]

    def backend(self, timeout: float = 20.0, **environ: str) -> Slurm:
        return Slurm(SlurmSettings(timeout=timeout), {"PATH": f"{self.root}:/usr/bin:/bin", **environ})

    def slurm(self, **environ: str) -> SlurmCommands:
        return SlurmCommands(20.0, {"PATH": f"{self.root}:/usr/bin:/bin", **environ})

    def do(self, verb: Verb, timeout: float = 20.0) -> ActionOutcome:
        action = Action(node="g1", verb=verb, reason="gone", cause="gpu.xid", at=1.0)
        return self.backend(timeout).perform(action, dry_run=False)


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    return Commands(tmp_path)


def test_an_update_that_is_taken_but_not_done_is_a_failure_worth_another_try(commands: Commands) -> None:
    commands.shows(IDLE, IDLE)
    outcome = commands.do(Verb.DRAIN)
    assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, True)
    commands.shows(OURS)
    assert commands.do(Verb.UNCORDON).retryable


def test_an_update_that_hangs_is_given_up_on_and_finds_itself_done_the_next_time(
    commands: Commands, time_is_up: TimeIsUp
) -> None:
    commands.update = "sleep 600"
    time_is_up(lambda: len(commands.calls("update")) == 1)
    commands.shows(IDLE, OURS)
    outcome = commands.do(Verb.DRAIN, timeout=1.0)
    assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, True)
    time_is_up(lambda: False)
    assert commands.do(Verb.DRAIN).result is ActionResult.NOTHING_TO_DO
    assert len(commands.calls("update")) == 1


@pytest.mark.parametrize(
    ("note", "result"),
    [
        ("Not responding", ActionResult.DONE),
        ("Node unexpectedly rebooted", ActionResult.DONE),
        ("ana: dimm", ActionResult.NOTHING_TO_DO),
    ],
)
def test_a_node_that_slurm_lost_gets_our_drain_lest_it_come_back_untested(
    commands: Commands, note: str, result: ActionResult
) -> None:
    down = OURS.replace("IDLE+DRAIN", "DOWN+NOT_RESPONDING").replace("holdfast: gpu.xid: gone", note)
    commands.shows(down, OURS)
    assert commands.do(Verb.DRAIN).result is result


def test_a_node_that_is_down_under_our_drain_keeps_both(commands: Commands) -> None:
    commands.shows(OURS.replace("IDLE", "DOWN"))
    assert commands.do(Verb.UNCORDON).result is ActionResult.REFUSED
    assert commands.calls("update") == []


def test_an_operator_who_drains_at_the_same_moment_keeps_the_node(commands: Commands) -> None:
    commands.shows(IDLE, THEIRS)
    outcome = commands.do(Verb.DRAIN)
    assert outcome.result is ActionResult.NOTHING_TO_DO and "ana: fan" in outcome.message


def test_an_operator_who_drains_while_we_lift_ours_keeps_the_node(commands: Commands) -> None:
    commands.shows(OURS, THEIRS)
    outcome = commands.do(Verb.UNCORDON)
    assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, False)
    assert commands.calls("update") == ["update nodename=g1 state=undrain"], "resume would also lift a DOWN"


@pytest.mark.parametrize(
    ("expected", "retryable"),
    [
        ("slurm_update error: Unable to contact slurm controller (connect failure)", True),
        ("slurm_update error: Access/permission denied", False),
        ("slurm_update error: Invalid node state specified", False),
        ("", True),
    ],
)
def test_what_scontrol_complains_of_decides_whether_to_try_again(
    commands: Commands, expected: str, retryable: bool
) -> None:
    commands.update = f'echo "{expected}" >&2; exit 1'
    commands.shows(IDLE)
    outcome = commands.do(Verb.DRAIN)
    assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, retryable)
    assert expected in outcome.message


@pytest.mark.parametrize("shown", ["", "garbage", "NodeName=other State=IDLE\n"])
def test_a_node_whose_state_is_not_reported_is_not_touched(commands: Commands, shown: str) -> None:
    commands.shows(shown)
    assert commands.do(Verb.UNCORDON).result is ActionResult.FAILED
    assert commands.calls("update") == []


NODES = {"nodes": [{"name": "g1", "state": ["MIXED", "DRAIN"], "reason": "holdfast: x", "reason_set_by_user": "root"}]}
SQUEUE = "7|6_1|ml|ana|RUNNING|None|2026-01-01T00:00:00|NONE|0|cpu=4,gres/gpu=8|g1|\n"


def test_a_newer_slurm_reports_in_json_and_is_asked_the_same_way_again(commands: Commands) -> None:
    commands.write("scontrol", f"echo scontrol >> {commands.root}/calls; echo '{json.dumps(NODES)}'")
    commands.write("sinfo", f"echo sinfo >> {commands.root}/calls; exit 1")
    commands.write("squeue", f"echo '{SQUEUE.strip()}'")
    backend = commands.backend()
    for _ in range(2):
        [status] = backend.observe()
        assert (status.node, status.cordoned, status.ours, status.busy) == ("g1", True, True, True)
        assert status.jobs == {"7"}
    assert commands.calls("s") == ["scontrol", "scontrol"]
    [job] = backend.snapshot().jobs
    assert (job.id, job.shown_as, job.gpus, job.user) == ("7", "6_1", 8, "ana")


def test_an_older_slurm_reports_in_text(commands: Commands) -> None:
    commands.write("scontrol", f"case \"$*\" in *json*) echo unrecognized option >&2; exit 1;; esac; echo '{OURS}'")
    commands.write("sinfo", "echo 'unrecognized option' >&2; exit 1")
    commands.write("squeue", "")
    [status] = commands.backend().observe()
    assert (status.note, status.note_by, status.busy) == ("holdfast: gpu.xid: gone", "root", False)


def test_a_queue_that_cannot_be_reported_as_a_table_is_read_as_json(commands: Commands) -> None:
    entry = {"job_id": 7, "nodes": "g[1-2]", "job_state": "RUNNING"}
    jobs = json.dumps(
        {"jobs": [entry, {**entry, "job_id": 8, "nodes": "g3"}, {**entry, "job_id": 9, "job_state": "PENDING"}]}
    )
    commands.write("squeue", f"case \"$*\" in *json*) echo '{jobs}';; *) echo 'Invalid job format' >&2; exit 1;; esac")
    assert [job.id for job in commands.slurm().jobs("g1")] == ["7"]


def test_a_queue_that_cannot_be_read_at_all_is_not_an_empty_one(commands: Commands) -> None:
    commands.write("squeue", "echo 'something else'")
    with pytest.raises(NoAnswer):
        commands.slurm().jobs("g1")


def test_a_slurm_without_nodes_is_not_an_empty_fleet(commands: Commands) -> None:
    commands.write("scontrol", "")
    commands.write("sinfo", "")
    with pytest.raises(NoAnswer):
        commands.backend().observe()


def test_a_site_s_own_formats_and_time_zone_do_not_reach_slurm(commands: Commands) -> None:
    commands.write("squeue", f"env > {commands.root}/env")
    environ = {"SQUEUE_FORMAT": "%i", "SLURM_TIME_FORMAT": "relative", "TZ": "Asia/Tokyo", "SLURM_CONF": "/here"}
    commands.slurm(**environ).jobs("g1")
    seen = (commands.root / "env").read_text().splitlines()
    assert "TZ=UTC" in seen and "SLURM_CONF=/here" in seen
    assert not any(line.startswith(("SQUEUE_", "SLURM_TIME")) for line in seen)
