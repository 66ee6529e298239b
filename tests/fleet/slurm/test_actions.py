"""The Slurm back end on a real Slurm: drains, manners, weights, jobs."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.fleet.actions.backend import ActionOutcome, ActionResult
from holdfast.fleet.actions.slurm.backend import Slurm, SlurmSettings
from holdfast.formats.slurm import jobs as slurm_jobs
from holdfast.formats.slurm import nodes as slurm_nodes
from holdfast.model.job import JobState
from holdfast.model.lifecycle import Action, Verb
from holdfast.runtime.errors import NoAnswer

pytestmark = pytest.mark.slow

QUICK = "SchedulerParameters=batch_sched_delay=0,sched_min_interval=0\n"
OURS = "holdfast: gpu.xid: gpu 3: Xid 79, 'fallen' off the bus=gone State=IDLE [really]"
REASON = 'gpu 3: Xid 79, "fallen" off the bus=gone State=IDLE [really]'


class Site:
    def __init__(self, slurm: Any) -> None:
        self.slurm = slurm
        self.backend = Slurm(SlurmSettings(last_feature="holdfast_last"), slurm.environ)

    def do(
        self, verb: Verb, node: str = "node1", reason: str = REASON, cause: str = "gpu.xid", dry: bool = False
    ) -> ActionOutcome:
        return self.backend.perform(Action(node=node, verb=verb, reason=reason, cause=cause, at=time.time()), dry)

    def shown(self, node: str) -> str:
        return str(self.slurm.run("scontrol", "show", "node", node))

    def run_until_stopped(self, node: str) -> str:
        finish = self.slurm.root / "finish"
        finish.unlink(missing_ok=True)
        job = self.slurm.submit(node, f"while test ! -e {finish}; do sleep 0.1; done; echo ran")
        self.slurm.eventually(lambda: self.slurm.job(job) == "RUNNING")
        return str(job)

    def tell(self) -> None:
        (self.slurm.root / "finish").touch()


@pytest.fixture(scope="module")
def shared(slurm_cluster: Callable[..., Any]) -> Site:
    return Site(slurm_cluster(nodes=3, extra=QUICK))


@pytest.fixture
def site(shared: Site) -> Site:
    shared.slurm.clear()
    return shared


def test_a_drain_shows_our_note_and_is_done_once(site: Site) -> None:
    assert site.do(Verb.DRAIN).result is ActionResult.DONE
    assert (site.slurm.state("node1"), site.slurm.reason("node1")) == ("drain", OURS)
    assert site.do(Verb.DRAIN).result is ActionResult.NOTHING_TO_DO
    [status] = [one for one in site.backend.observe() if one.node == "node1"]
    assert (status.cordoned, status.ours, status.accepts_work, status.busy) == (True, True, False, False)
    assert status.note == OURS and status.note_by and status.marked_at is None


def test_uncordon_returns_our_node_and_is_done_once(site: Site) -> None:
    site.do(Verb.DRAIN)
    assert site.do(Verb.UNCORDON).result is ActionResult.DONE
    site.slurm.eventually(lambda: site.slurm.state("node1") == "idle")
    assert site.slurm.reason("node1") == "none"
    assert site.do(Verb.UNCORDON).result is ActionResult.NOTHING_TO_DO


def test_a_dry_run_says_the_command_and_changes_nothing(site: Site) -> None:
    answer = site.do(Verb.DRAIN, dry=True)
    assert answer.dry_run and answer.result is ActionResult.DONE
    assert "scontrol update nodename=node1 state=drain" in answer.message
    assert site.slurm.state("node1") == "idle"
    site.do(Verb.DRAIN)
    assert "state=undrain" in site.do(Verb.UNCORDON, dry=True).message
    assert "weight=100000" in site.do(Verb.CHOOSE_LAST, node="node2", dry=True).message
    assert site.slurm.state("node1") == "drain"
    assert "Weight=1 " in site.shown("node2")


def test_a_cordon_of_an_untested_node_says_so_and_a_later_cause_replaces_it(site: Site) -> None:
    site.do(Verb.CORDON, reason="a new node runs nothing until tested", cause="")
    assert site.slurm.reason("node1") == "holdfast: untested by the controller: a new node runs nothing until tested"
    assert site.do(Verb.CORDON).result is ActionResult.DONE
    assert site.slurm.reason("node1") == OURS


@pytest.mark.parametrize("state", ["drain", "down"])
def test_what_a_person_did_by_hand_is_never_touched(site: Site, state: str) -> None:
    note = "ana: swapping the fan tray"
    site.slurm.update("node2", state, note)
    before = site.slurm.state("node2")
    assert site.do(Verb.DRAIN, node="node2").result is ActionResult.NOTHING_TO_DO
    assert site.do(Verb.CORDON, node="node2").result is ActionResult.NOTHING_TO_DO
    assert site.do(Verb.UNCORDON, node="node2").result in (ActionResult.REFUSED, ActionResult.NOTHING_TO_DO)
    assert (site.slurm.state("node2"), site.slurm.reason("node2")) == (before, note)


def test_a_person_who_takes_over_our_drain_keeps_it(site: Site) -> None:
    site.do(Verb.DRAIN)
    site.slurm.update("node1", "drain", "NHC: check_hw_ib")
    refusal = site.do(Verb.UNCORDON)
    assert refusal.result is ActionResult.REFUSED and "NHC: check_hw_ib" in refusal.message
    assert site.slurm.state("node1") == "drain"


def test_a_person_who_drains_at_the_same_moment_keeps_what_slurm_shows_as_theirs(site: Site) -> None:
    """Slurm has no compare-and-set: who writes last is shown. What is shown as theirs stays, in whatever order."""
    note = "ana: swapping the fan tray"
    shown = set()
    for _ in range(8):
        person = threading.Thread(target=site.slurm.update, args=("node2", "drain", note))
        person.start()
        ours = site.do(Verb.DRAIN, node="node2")
        person.join()
        before = site.slurm.reason("node2")
        shown.add(before)
        assert before in (note, OURS)
        lifted = site.do(Verb.UNCORDON, node="node2")
        if before == note:
            assert lifted.result is ActionResult.REFUSED
            assert (site.slurm.state("node2"), site.slurm.reason("node2")) == ("drain", note)
            site.slurm.update("node2", "resume")
        else:
            assert ours.result is ActionResult.DONE
        site.slurm.eventually(lambda: site.slurm.state("node2") == "idle")
    assert note in shown


def test_a_node_that_went_down_under_our_drain_is_left_down(site: Site) -> None:
    site.do(Verb.DRAIN)
    site.slurm.run("scontrol", "update", "nodename=node1", "state=down", f"reason={OURS}")
    assert site.do(Verb.UNCORDON).result is ActionResult.REFUSED
    assert "DOWN" in site.shown("node1")


def test_a_mark_newer_than_the_test_is_not_lifted_by_its_uncordon(site: Site) -> None:
    """A controller that was killed after an uncordon does it again; meanwhile a job may have come and gone."""
    began = time.time()
    site.slurm.update("node1", "drain", "holdfast: untested: job 7 ended here")
    late = Action(node="node1", verb=Verb.UNCORDON, reason="passed", at=time.time() + 1, tested_at=began)
    left = site.backend.perform(late, dry_run=False)
    assert left.result is ActionResult.NOTHING_TO_DO and "marked after the test" in left.message
    assert site.slurm.state("node1") == "drain"
    spare = replace(late, verb=Verb.CORDON, cause="spare")
    assert site.backend.perform(spare, dry_run=False).result is ActionResult.NOTHING_TO_DO
    newer = replace(late, tested_at=time.time())
    assert site.backend.perform(newer, dry_run=False).result is ActionResult.DONE


def test_a_mark_seen_before_the_test_began_is_lifted_in_the_same_second(site: Site) -> None:
    site.backend.observe()
    site.slurm.update("node1", "drain", "holdfast: untested: job 8 ended here")
    [status] = [one for one in site.backend.observe() if one.node == "node1"]
    assert status.marked_at is not None
    lift = Action(node="node1", verb=Verb.UNCORDON, reason="passed", at=time.time(), tested_at=status.marked_at)
    assert (
        site.backend.perform(replace(lift, tested_at=status.marked_at - 0.001), False).result
        is ActionResult.NOTHING_TO_DO
    )
    assert site.backend.perform(lift, False).result is ActionResult.DONE


def test_a_cordon_leaves_the_mark_that_a_script_on_the_node_made(site: Site) -> None:
    site.slurm.update("node1", "drain", "holdfast: untested: job 7 ended here")
    assert site.do(Verb.CORDON, cause="", reason="the last workload ended").result is ActionResult.NOTHING_TO_DO
    assert site.slurm.reason("node1") == "holdfast: untested: job 7 ended here"


def test_a_job_that_came_and_went_is_reported_with_its_end_nodes_and_exit_code(site: Site) -> None:
    good = site.slurm.submit("node1", "true")
    bad = site.slurm.submit("node2", "exit 3")
    killed = site.run_until_stopped("node3")
    site.slurm.run("scancel", killed)
    site.slurm.eventually(lambda: site.slurm.run("squeue", "-h") == "")
    result = {job.id: job for job in site.backend.snapshot().jobs}
    assert [result[one].state for one in (good, bad, killed)] == [
        JobState.COMPLETED,
        JobState.FAILED,
        JobState.CANCELLED,
    ]
    assert [result[one].exit_code for one in (good, bad)] == ["0:0", "3:0"]
    assert result[killed].exit_code.endswith(":15")
    assert result[bad].nodes == ("node2",)
    assert result[bad].start is not None and result[bad].end is not None
    [shown] = slurm_jobs.from_scontrol(site.slurm.run("env", "TZ=UTC", "scontrol", "show", "job", bad))
    assert (shown.exit_code, shown.end, shown.nodes) == (result[bad].exit_code, result[bad].end, result[bad].nodes)
    in_json = {job.id: job for job in slurm_jobs.from_json(site.slurm.run("squeue", "-t", "all", "--json")) or ()}
    assert {one: in_json[one].exit_code for one in (good, bad, killed)} == {
        one: result[one].exit_code for one in (good, bad, killed)
    }


def test_a_site_without_accounting_says_so_and_asking_again_would_not_help(site: Site) -> None:
    with pytest.raises(NoAnswer) as refusal:
        site.backend.accounted(time.time() - 3600)
    assert "disabled" in str(refusal.value) and not refusal.value.retryable


def test_draining_lets_a_running_job_finish_and_nothing_follows_it(site: Site) -> None:
    job = site.run_until_stopped("node3")
    drained = site.do(Verb.DRAIN, node="node3")
    assert drained.result is ActionResult.DONE and "running jobs finish first" in drained.message
    assert site.slurm.state("node3") == "drng"
    [running] = [one for one in site.backend.snapshot().jobs if one.state.holds_nodes]
    assert (running.id, running.nodes, running.state, running.end) == (job, ("node3",), JobState.RUNNING, None)
    assert running.start is not None and running.user
    [status] = [one for one in site.backend.observe() if one.node == "node3"]
    assert status.busy and status.jobs == {job}
    follower = site.slurm.submit("node3", "echo ran")
    site.tell()
    site.slurm.eventually(lambda: site.slurm.job(job) == "COMPLETED" and site.slurm.state("node3") == "drain")
    assert (site.slurm.root / f"out.{job}").read_text() == "ran\n"
    [status] = [one for one in site.backend.observe() if one.node == "node3"]
    assert not status.busy
    assert site.slurm.job(follower) == "PENDING"


def test_chosen_last_and_back_with_its_own_weight_and_comment(site: Site) -> None:
    site.slurm.run("scontrol", "update", "nodename=node2", "weight=7", "comment=rack 4 = hot", "availablefeatures=a100")
    assert site.do(Verb.CHOOSE_LAST, node="node2").result is ActionResult.DONE
    assert site.slurm.run("sinfo", "-h", "-n", "node2", "-o", "%w %f") == "100000 a100,holdfast_last"
    assert "Comment=rack 4 = hot [holdfast: weight was 7]" in site.shown("node2")
    assert site.do(Verb.CHOOSE_LAST, node="node2").result is ActionResult.NOTHING_TO_DO
    assert site.do(Verb.CHOOSE_NORMALLY, node="node2").result is ActionResult.DONE
    assert site.slurm.run("sinfo", "-h", "-n", "node2", "-o", "%w %f") == "7 a100"
    assert site.shown("node2").endswith("Comment=rack 4 = hot")
    assert site.do(Verb.CHOOSE_NORMALLY, node="node2").result is ActionResult.NOTHING_TO_DO


def test_the_scheduler_takes_a_node_chosen_last_only_when_no_other_is_free(site: Site) -> None:
    site.slurm.run("scontrol", "update", "nodename=node[1-3]", "weight=1")
    site.do(Verb.CHOOSE_LAST, node="node1")
    jobs = [
        site.slurm.run("sbatch", "--parsable", "-o", "/dev/null", "--exclusive", "--wrap", "sleep 30") for _ in "123"
    ]
    site.slurm.eventually(lambda: all(site.slurm.job(job) == "RUNNING" for job in jobs))
    placed = {job: site.slurm.run("squeue", "-h", "-j", job, "-o", "%N") for job in jobs}
    assert placed[jobs[2]] == "node1", placed
    site.do(Verb.CHOOSE_NORMALLY, node="node1")


def test_what_slurm_does_not_know_is_refused(site: Site) -> None:
    assert site.do(Verb.DRAIN, node="nosuch").result is ActionResult.REFUSED
    assert site.do(Verb.DRAIN, node="ALL").result is ActionResult.REFUSED
    assert site.do(Verb.DRAIN, node="node[1-3]").result is ActionResult.REFUSED
    assert site.do(Verb.REBOOT).result is ActionResult.REFUSED


def test_the_three_ways_of_reading_nodes_agree(site: Site) -> None:
    site.do(Verb.DRAIN)
    as_json = slurm_nodes.from_json(site.slurm.run("sinfo", "--json"))
    shown = slurm_nodes.from_scontrol(site.slurm.run("env", "TZ=UTC", "scontrol", "show", "node"))
    on_one_line = slurm_nodes.from_scontrol(site.slurm.run("env", "TZ=UTC", "scontrol", "-o", "show", "node"))
    assert as_json == shown == on_one_line
    assert [node.name for node in shown] == ["node1", "node2", "node3"]


def test_a_slurm_that_does_not_answer_is_no_empty_fleet(site: Site) -> None:
    conf = site.slurm.root / "gone.conf"
    text = (site.slurm.root / "slurm.conf").read_text().replace("SlurmctldPort=", "MessageTimeout=2\n#")
    conf.write_text(text + "SlurmctldPort=1\n")
    away = Slurm(SlurmSettings(timeout=1.0), {**site.slurm.environ, "SLURM_CONF": str(conf)})
    outcome = away.perform(Action(node="node1", verb=Verb.DRAIN, reason="x"), dry_run=False)
    assert outcome.result is ActionResult.FAILED and outcome.retryable
    with pytest.raises(NoAnswer):
        away.observe()
