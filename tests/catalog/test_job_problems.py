"""Rows of job_problems.toml and failed_calls.toml: each is complete and decides by its subject."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.catalog import causes, failed_calls, job_problems

ROWS = job_problems.problems()


def test_names_are_unique_and_causes_are_known() -> None:
    assert [name for name, count in Counter(one.name for one in ROWS).items() if count > 1] == []
    assert {one.cause for one in ROWS} <= set(causes.all_causes())


def test_every_cause_has_an_answer() -> None:
    assert [name for name in causes.all_causes() if job_problems.of_cause(name) is None] == []


@pytest.mark.parametrize("one", ROWS, ids=lambda one: one.name)
def test_a_row_says_what_to_change(one: job_problems.JobProblem) -> None:
    assert one.fix and all(len(step) > 20 for step in one.fix)
    assert one.role in ("strong", "likely", "weak", "hint")
    assert one.owner in ("job", "cluster")
    assert not one.link or one.link.startswith("https://")
    assert bool(one.keywords) == (one.match.pattern != "(?!)")
    assert one.says or one.name.startswith("any_")


def test_named_parts_are_filled_in_and_never_empty() -> None:
    problem = job_problems.named("master_is_netmask")
    assert problem
    assert problem.sentence({"peer": "255.255.0.0"}) == "the master address is 255.255.0.0, which is not a host"
    assert "None" not in problem.sentence({}) and "<peer>" in problem.sentence({})


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Call to ibv_create_cq failed with error Cannot allocate memory", "rdma_memlock"),
        ("Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "rdma_memlock"),
        ("Call to ibv_modify_qp failed with error No such device", "rdma_gid_index"),
        ("Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1", "rdma_connect_timeout"),
        ("ibv_reg_mr failed with error Bad address", "gpudirect_protection"),
        ("RuntimeError: received 0 items of ancdata", "dataloader_descriptors"),
        ("OSError: [Errno 24] Too many open files", "file_descriptors"),
        ("Cuda failure 802 'system not yet initialized'", "fabric_manager"),
        (
            "RuntimeError: [enforce fail at device.cc:127] rp != nullptr. Unable to find address for: ^lo",
            "gloo_address",
        ),
        ("There are not enough slots available in the system to satisfy the 4", "mpi_slots"),
        ("[../gloo/transport/tcp/pair.cc:446] op.preamble.length <= op.nbytes. 8 vs 4", "collective_mismatch"),
    ],
)
def test_the_call_and_its_error_decide(line: str, name: str) -> None:
    found = job_problems.find(line)
    assert found and found[0].name == name


@pytest.mark.parametrize(
    ("line", "subsystem", "error", "cause"),
    [
        ("foo_create_qp via ibv_exp_create failed: Cannot allocate memory", "verbs", "ENOMEM", "launcher.setup"),
        ("fork() failed: Cannot allocate memory", "process", "ENOMEM", "host.oom"),
        ("new_thing(/dev/shm/x) failed: No space left on device", "shm", "ENOSPC", "launcher.setup"),
        ("cannot write /data/ckpt/step_3.pt: No space left on device", "file", "ENOSPC", "storage.full"),
        ("connect to 10.0.0.3:1 failed: No route to host", "socket", "EHOSTUNREACH", "fabric.unreachable"),
        ("pthread_create: Resource temporarily unavailable", "process", "EAGAIN", "launcher.setup"),
        ("listen on port failed (errno: 98)", "socket", "EADDRINUSE", "launcher.setup"),
    ],
)
def test_an_unknown_call_of_a_known_subsystem(line: str, subsystem: str, error: str, cause: str) -> None:
    found = failed_calls.meaning(line)
    assert found is not None
    assert (found.subsystem, found.error, found.cause) == (subsystem, error, cause)


def test_every_row_of_failed_calls_names_a_known_problem_and_cause() -> None:
    for row in failed_calls._table()["meaning"]:
        assert row[3] in causes.all_causes()
        problem = job_problems.named(row[4]) if row[4] else None
        assert not row[4] or (problem and problem.cause == row[3]), row


@given(st.text(max_size=300))
def test_any_text_is_answered(text: str) -> None:
    failed_calls.meaning(text)
    job_problems.find(text)
