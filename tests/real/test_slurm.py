"""What real clusters printed, read by our formats. The captures are not part of the project; without them we skip."""

import re

from holdfast.formats.slurm import hostlist
from holdfast.formats.slurm import jobs as slurm_jobs
from holdfast.formats.slurm import nodes as slurm_nodes
from holdfast.model.job import JobState

from . import captures

DATA = captures.DATA / "slurm"
pytestmark = captures.needs(DATA)


def read(name: str) -> str:
    return captures.there(DATA / name).read_text(errors="replace")


def test_scontrol_of_25_11_reports_drained_reserved_and_free_nodes_apart() -> None:
    nodes = {node.name: node for node in slurm_nodes.from_scontrol(read("sckyzo_scontrol_nodes.txt"))}
    assert sorted(nodes) == [f"c{i}" for i in range(1, 8)]
    assert nodes["c1"].drained and nodes["c1"].busy and not nodes["c1"].accepts_work
    assert (nodes["c1"].reason, nodes["c1"].reason_by) == ("planned_maintenance", "root")
    assert nodes["c1"].reason_at is not None
    assert not nodes["c1"].ours
    assert nodes["c2"].busy and not nodes["c2"].drained and nodes["c2"].reason == ""
    assert nodes["c7"].accepts_work and not nodes["c7"].busy
    assert all(node.weight == 1 and node.features == ("cpu",) and node.gpus == 0 for node in nodes.values())


def test_json_of_21_08_reports_states() -> None:
    nodes = {node.name: node for node in slurm_nodes.from_json(read("rivos_sinfo_out.json")) or []}
    assert len(nodes) >= 4
    assert all(node.flags and node.weight == 1 for node in nodes.values())
    assert [n.busy for n in nodes.values()][:3] == [True, False, True]
    down = [n for n in nodes.values() if n.down]
    assert down and not any(n.accepts_work for n in down)


def test_slurmrestd_reports_who_drained_a_node_and_when() -> None:
    nodes = slurm_nodes.from_json(read("telegraf_slurmrestd_nodes.json")) or []
    drained = [node for node in nodes if node.drained]
    assert drained
    assert drained[0].reason == "Kill task failed"
    assert (drained[0].reason_by, drained[0].reason_at) == ("root", 1723077306.0)
    assert not any(node.ours or node.accepts_work for node in drained)


def test_sinfo_with_a_header_names_its_own_columns() -> None:
    nodes = {node.name: node for node in slurm_nodes.from_table(read("gcm_sample-sinfo-output.txt"))}
    drained = nodes["node0201"]
    assert drained.flags >= {"DRAIN", "NOT_RESPONDING"}
    assert (drained.reason, drained.reason_by) == ("replace", "root")
    assert drained.gpus == 8
    assert nodes["node1537"].busy and nodes["node1537"].reason == "" and nodes["node1537"].reason_at is None
    assert (nodes["node4180"].weight, nodes["node4180"].gpus) == (6, 2)
    assert "gpu2" in nodes["node4180"].features


def test_sinfo_of_a_format_of_ones_own() -> None:
    columns = ["", "", "nodelist", *[""] * 6, "state", "reason", "", "", "", "gres", ""]
    nodes = {node.name: node for node in slurm_nodes.from_table(read("datadog_sinfo.txt"), columns)}
    assert sorted(nodes) == ["c1", "c2", "c3"]
    assert nodes["c1"].accepts_work and nodes["c1"].gpus == 4
    assert nodes["c2"].flags == {"IDLE", "POWERING_UP"}
    assert nodes["c3"].flags == {"IDLE", "MAINTENANCE"} and nodes["c3"].reason == "test" and nodes["c3"].gpus == 0


def test_a_node_of_three_partitions_comes_once() -> None:
    columns = ["nodelist", "", "", "", "statelong", "", "gres", ""]
    nodes = slurm_nodes.from_table(read("sckyzo_24.11.7_node_detail.txt"), columns, delimiter=" ")
    assert len(nodes) == 20
    assert sum(node.gpus or 0 for node in nodes) == 40
    assert {node.name for node in nodes if node.busy} == {"na1", "na2", "na5", "na7", "na9"}


def test_partitions_hold_as_many_nodes_as_they_say() -> None:
    printed = re.findall(r" Nodes=(\S+) .*?TotalNodes=(\d+)", read("gcm_sample-scontrol-output.txt"))
    assert len(printed) == 3
    for nodes, count in printed:
        names = hostlist.expand(nodes)
        assert len(names) == int(count)
        assert sorted(hostlist.expand(hostlist.compress(names))) == sorted(names)


def test_sacct_with_a_delimiter_of_its_own_and_line_breaks_inside_a_field() -> None:
    found = slurm_jobs.from_table(read("gcm_sample-sacct-one-multiline.txt"))
    assert found.unreadable == 0
    assert len(found.whole) == 2
    big = found.whole[0]
    assert big.id == "201729"
    assert (big.gpus, len(big.nodes)) == (1024, 128)
    assert big.end is not None and big.start is not None and big.end > big.start
    assert {job.step for job in found.steps} == {"0", "batch"}
    assert found.steps[0].state is JobState.CANCELLED and len(found.steps[0].nodes) == 256


def test_sacct_steps_are_not_jobs() -> None:
    found = slurm_jobs.from_table(read("gcm_sample-sacct-output.txt"))
    assert (len(found.whole), len(found.steps), found.unreadable) == (0, 68, 0)
    step = found.steps[0]
    assert (step.id, step.shown_as, step.step) == ("8084960", "8012944_24093", "0")
    assert (step.nodes, step.gpus, step.state) == (("node077",), 0, JobState.COMPLETED)


def test_a_sacct_line_that_was_cut_off_is_counted_not_guessed_at() -> None:
    found = slurm_jobs.from_table(read("gcm_sample-sacct-output-with-invalid-lines.txt"))
    assert (found.whole, found.steps, found.unreadable) == ([], [], 1)


def test_squeue_without_a_header() -> None:
    text = read("gcm_sample-squeue-output.txt")
    columns = [""] * (text.splitlines()[0].count("|#"))
    columns[2:4] = ["jobid", "jobidraw"]
    columns[9:11] = ["state", "user"]
    columns[15], columns[18], columns[25], columns[28] = "nodelist", "start", "account", "alloctres"
    found = slurm_jobs.from_table(text, columns, delimiter="|#")
    assert found.unreadable == 0
    running = [job for job in found.whole if job.state is JobState.RUNNING]
    assert [(job.id, job.gpus, len(job.nodes)) for job in running] == [
        ("45704744", 2, 1),
        ("42953598", 1, 1),
        ("42956774", 256, 32),
    ]
    waiting = [job for job in found.whole if job.state is JobState.WAITING]
    assert len(waiting) == 2 and all(job.nodes == () and job.start is None for job in waiting)


def test_squeue_of_two_columns_knows_which_jobs_hold_nodes() -> None:
    found = slurm_jobs.from_table(read("vpenso_squeue.txt"), ["jobid", "state"], delimiter=",")
    assert (len(found.whole), found.unreadable) == (42, 0)
    assert JobState.UNKNOWN not in {job.state for job in found.whole}
    assert sum(job.state.holds_nodes for job in found.whole) == 42 - 4 - 6


def test_scontrol_show_job_counts_allocated_gpus_not_the_ones_asked_for() -> None:
    [job] = slurm_jobs.from_scontrol(read("gcm_scontrol_out_all_gpus.txt"))
    assert (job.id, job.shown_as, job.account) == ("30214", "30185_28", "test_account")
    assert (job.nodes, job.gpus, job.state) == (("node1751",), 8, JobState.RUNNING)
    assert job.end is None, "a running job's end is only its time limit"
