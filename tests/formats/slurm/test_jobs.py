"""Jobs, however Slurm tells of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.slurm.jobs import from_json, from_scontrol, from_table, job_state
from holdfast.model.job import Job, JobState

HEADER = "JobIDRaw|JobID|Account|User|NodeList|AllocTRES|Start|End|State"
RUNNING = "17|15_2|ml|ana|g[1-2]|cpu=4,gres/gpu=16|2026-01-01T00:00:00|2026-01-02T00:00:00|RUNNING"
EXPECTED = Job(
    id="17",
    source="slurm",
    shown_as="15_2",
    account="ml",
    user="ana",
    nodes=("g1", "g2"),
    gpus=16,
    start=1767225600.0,
    state=JobState.RUNNING,
)


def test_a_running_job_has_no_end_yet() -> None:
    assert from_table(f"{HEADER}\n{RUNNING}").whole == [EXPECTED]


def test_steps_are_kept_apart() -> None:
    found = from_table(f"{HEADER}\n{RUNNING}\n17.batch|15_2.batch|ml||g1|cpu=4|Unknown|Unknown|FAILED\n")
    assert [(job.id, job.shown_as, job.step) for job in found.steps] == [("17", "15_2", "batch")]
    assert found.whole == [EXPECTED]


def test_a_line_break_inside_a_field_does_not_lose_the_record_or_the_next() -> None:
    text = "JobIDRaw|Comment|State\n1|one\ntwo|COMPLETED\n2||FAILED\n"
    found = from_table(text)
    assert [(job.id, job.state) for job in found.whole] == [("1", JobState.COMPLETED), ("2", JobState.FAILED)]
    assert found.unreadable == 0


def test_a_cut_off_line_costs_only_itself() -> None:
    found = from_table("JobIDRaw|Comment|State\nCOMPLETED\n2||FAILED\n3|a|b|c|d\n4||TIMEOUT\n5|")
    assert [job.id for job in found.whole] == ["2", "4"]
    assert found.unreadable == 3


@pytest.mark.parametrize("delimiter", ["|", "|#", ",", ";"])
def test_the_header_shows_the_delimiter(delimiter: str) -> None:
    assert from_table(f"{HEADER}\n{RUNNING}".replace("|", delimiter).replace("cpu=4,", "")).whole == [EXPECTED]


def test_old_sacct_counts_gpus_per_node() -> None:
    [job] = from_table("JobID|AllocGRES|AllocNodes|State\n9|gpu:8|4|COMPLETED").whole
    assert job.gpus == 32


def test_what_squeue_prints_for_people_is_read_too() -> None:
    text = (
        "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
        "               4_1       all my train     root  R       0:03      2 g[1-2]\n"
        "                 9       all        x     root PD       0:00      1 (Nodes are DOWN, DRAINED or reserved)\n"
        "                10       all        x     root PD       0:00      1 (Resources)\n"
    )
    running, *waiting = from_table(text).whole
    assert (running.id, running.nodes, running.state) == ("4_1", ("g1", "g2"), JobState.RUNNING)
    assert [(job.id, job.nodes, job.state) for job in waiting] == [
        ("9", (), JobState.WAITING),
        ("10", (), JobState.WAITING),
    ]


def test_what_sacct_prints_for_people_is_read_too() -> None:
    text = (
        "JobID           JobName    Account  AllocCPUS      State ExitCode \n"
        "------------ ---------- ---------- ---------- ---------- -------- \n"
        "7              my train                     4 CANCELLED+      0:0 \n"
        "7.batch           batch         ml          4  COMPLETED      0:0 \n"
    )
    found = from_table(text)
    assert [(job.id, job.account, job.state) for job in found.whole] == [("7", "", JobState.CANCELLED)]
    assert [(job.id, job.step, job.account) for job in found.steps] == [("7", "batch", "ml")]


@pytest.mark.parametrize(
    ("words", "state"),
    [
        (["CANCELLED by 1000"], JobState.CANCELLED),
        (["CANCELLED+"], JobState.CANCELLED),
        (["CG"], JobState.ENDING),
        (["COMPLETED", "COMPLETING"], JobState.ENDING),
        (["RUNNING", "CONFIGURING"], JobState.RUNNING),
        (["PENDING", "REQUEUED"], JobState.WAITING),
        (["NODE_FAIL"], JobState.NODE_FAILED),
        (["SOMETHING_NEW"], JobState.UNKNOWN),
        ([], JobState.UNKNOWN),
    ],
)
def test_states(words: list[str], state: JobState) -> None:
    assert job_state(words) is state


def test_what_no_one_can_report_still_holds_its_nodes() -> None:
    assert JobState.UNKNOWN.holds_nodes and JobState.ENDING.holds_nodes
    assert not JobState.WAITING.holds_nodes and not JobState.NODE_FAILED.holds_nodes


OLD = {
    "job_id": 17,
    "array_job_id": 15,
    "array_task_id": 2,
    "account": "ml",
    "user_name": "ana",
    "nodes": "g[1-2]",
    "job_state": "RUNNING",
    "tres_alloc_str": "cpu=4,gres/gpu=16",
    "start_time": 1767225600,
    "end_time": 1767312000,
}


def wrap(number: int) -> dict[str, object]:
    return {"set": True, "infinite": False, "number": number}


NEW = {
    **OLD,
    "job_state": ["RUNNING"],
    "array_job_id": wrap(15),
    "array_task_id": wrap(2),
    "start_time": wrap(1767225600),
    "end_time": wrap(1767312000),
}
SACCT = {
    "job_id": 17,
    "array": {"job_id": 15, "task_id": wrap(2)},
    "account": "ml",
    "user": "ana",
    "nodes": "g[1-2]",
    "state": {"current": ["RUNNING"]},
    "time": {"start": 1767225600, "end": 0},
    "tres": {
        "allocated": [
            {"type": "cpu", "name": "", "count": 4},
            {"type": "gres", "name": "gpu", "count": 16},
            {"type": "gres", "name": "gpu:a100", "count": 16},
        ]
    },
}


@pytest.mark.parametrize("entry", [OLD, NEW, SACCT], ids=["squeue v0.0.38", "squeue v0.0.40", "sacct"])
def test_json_of_every_layout_says_the_same(entry: object) -> None:
    assert from_json(json.dumps({"jobs": [entry]})) == [EXPECTED]


def test_scontrol_show_job() -> None:
    text = (
        "JobId=17 ArrayJobId=15 ArrayTaskId=2 JobName=x\n   UserId=ana(1000) Account=ml\n"
        "   JobState=RUNNING Reason=None\n"
        "   StartTime=2026-01-01T00:00:00 EndTime=2026-01-02T00:00:00\n   NodeList=g[1-2]\n"
        "   AllocTRES=cpu=4,gres/gpu=16\n   Command=/bin/x JobState=FAILED\n"
    )
    assert from_scontrol(text) == [EXPECTED]


@given(st.binary(max_size=80))
def test_any_bytes_are_read_without_raising(raw: bytes) -> None:
    from_json(raw)
    text = raw.decode("latin-1")
    from_scontrol("JobId=" + text)
    from_table(text)
    from_table(f"{HEADER}\n{text}|{text}")


leaf = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=2)
entry_of_anything = st.dictionaries(
    st.sampled_from(["job_id", "nodes", "state", "time", "tres", "start_time", "array"]),
    leaf | st.dictionaries(st.sampled_from(["number", "set", "current", "allocated", "start"]), leaf),
)


@given(st.lists(entry_of_anything | leaf, max_size=4))
def test_any_json_is_read_without_raising(jobs: list[object]) -> None:
    from_json(json.dumps({"jobs": jobs}))


@pytest.mark.parametrize(
    ("reported", "code"),
    [
        (768, "3:0"),
        (9, "0:9"),
        ({"status": "SIGNALED", "return_code": 0, "signal": {"signal_id": 9, "name": "KILL"}}, "0:9"),
        ({"status": ["ERROR"], "return_code": {"set": True, "infinite": False, "number": 3}, "signal": {}}, "3:0"),
        (
            {"return_code": {"set": True, "number": 0}, "signal": {"id": {"set": True, "number": 15}, "name": "TERM"}},
            "0:15",
        ),
        ({"set": True, "infinite": False, "number": 256}, "1:0"),
        ("nonsense", ""),
        ({}, ""),
    ],
)
def test_exit_codes_of_every_json(reported: object, code: str) -> None:
    entry = {"job_id": 7, "job_state": "FAILED", "nodes": "n1", "exit_code": reported}
    [job] = from_json(json.dumps({"jobs": [entry]})) or []
    assert job.exit_code == code


def test_exit_codes_in_tables_and_none_while_it_runs() -> None:
    table = "JobIDRaw|State|ExitCode|NodeList\n7|FAILED|1:0|n1\n8|RUNNING|0:0|n1\n9|COMPLETED|x|n1\n"
    assert [job.exit_code for job in from_table(table).whole] == ["1:0", "", ""]


def test_a_job_whose_prolog_runs_is_known_by_its_state_or_by_its_reason() -> None:
    """22.05 shows RUNNING for the reason Prolog until the prologs of all its nodes have ended."""
    table = "JobIDRaw|State|Reason\n1|RUNNING|Prolog\n2|RUNNING|None\n3|CONFIGURING|None\n4|PENDING|Prolog\n"
    assert [job.in_prolog for job in from_table(table).whole] == [True, False, True, False]
    shown = "JobId=7 JobName=x\n   JobState=RUNNING Reason={}\n"
    assert [job.in_prolog for why in ("Prolog", "None") for job in from_scontrol(shown.format(why))] == [True, False]
    jobs = [{"job_id": 1, "job_state": "RUNNING", "state_reason": why} for why in ("Prolog", "None")]
    assert [job.in_prolog for job in from_json(json.dumps({"jobs": jobs})) or ()] == [True, False]
