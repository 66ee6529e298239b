"""What to do now: as it was, without a node, after a probe, once storage is back, or not at all."""

import pytest

from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.diagnosis.rules.next_step import JobNextStep, decide, subject_words
from holdfast.model.evidence import Evidence
from tests.diagnosis.telling import NOON, candidate, reported


def raised(code: str = "RuntimeError", *, step: float | None = None, file: str = "a.log", text: str = "", rank: int = 1, again: str = "") -> Evidence:  # fmt: skip
    detail = {"step": step} if step is not None else {}
    return reported("exception", "strong", code=code, rank=rank, file=file, text=text, **detail, **({"again": again} if again else {}))  # fmt: skip


def step(*roots: Candidate, evidence: tuple[Evidence, ...] = ()) -> JobNextStep:
    return decide(roots, evidence)


@pytest.mark.parametrize(
    ("why", "cause", "evidence", "host", "action"),
    [
        ("once is no proof", "job.exception", [raised()], "", "restart_same"),
        ("the same code on the same data", "job.exception", [raised("KeyError")], "", "stop"),
        ("shapes do not change", "job.exception", [raised(text="size mismatch for w")], "", "stop"),
        ("the first of two tells", "job.exception", [raised(), raised("KeyError")], "", "restart_same"),
        ("ended by a signal", "job.exception", [reported("exit", "exit", code="KeyError")], "", "restart_same"),
        ("memory that never fitted", "job.cuda_oom", [raised(step=50.0)], "", "stop"),
        ("memory that fitted for long", "job.cuda_oom", [raised(step=51.0)], "", "restart_same"),
        ("the same step twice", "job.cuda_oom", [raised(step=500.0), raised(step=500.0, file="b.log")], "", "stop"),
        ("another step", "job.cuda_oom", [raised(step=500.0), raised(step=501.0, file="b.log")], "", "restart_same"),
        ("another rank", "job.cuda_oom", [raised(step=500.0), raised(step=500.0, file="b.log", rank=2)], "", "restart_same"),
        ("the same file tells it twice", "job.cuda_oom", [raised(step=500.0), raised(step=500.0)], "", "restart_same"),
        ("the log says that it was so before", "job.exception", [raised(again="yes")], "", "stop"),
        ("what a GPU did before says nothing of the job", "gpu.gsp", [reported("xid", "strong", again="yes")], "n1", "restart_excluding"),
        ("a host's memory", "host.oom", [raised(step=10.0)], "", "restart_same"),
        ("storage", "storage.stall", [raised()], "", "wait_for_storage"),
        ("a node that is known", "gpu.gsp", [reported("xid", "strong")], "n1", "restart_excluding"),
        ("a node that nobody names, but surely", "gpu.gsp", [reported("xid", "strong")], "", "restart_excluding"),
        ("a node that nobody names", "gpu.gsp", [reported("xid", "weak")], "", "restart_after_probe"),
    ],
)  # fmt: skip
def test_the_next_step(why: str, cause: str, evidence: list[Evidence], host: str, action: str) -> None:
    assert step(candidate(cause, *evidence, host=host)).action == action, why


def test_memory_of_a_host_that_ran_out_at_once_wants_more_of_it() -> None:
    message = [step(candidate("host.oom", raised(step=at), host=host)).reason for at, host in ((10.0, ""), (60.0, ""), (10.0, "n1"))]  # fmt: skip
    assert ["fewer workers" in words for words in message] == [True, False, False]


@pytest.mark.parametrize(
    ("sure", "host", "action", "exclude"),
    [
        (0.5, "n1", "restart_excluding", ("n1",)),
        (0.49, "n1", "restart_after_probe", ()),
        (0.7, "", "restart_excluding", ()),
        (0.69, "", "restart_after_probe", ()),
    ],
)
def test_how_sure_one_must_be_to_exclude_a_node(sure: float, host: str, action: str, exclude: tuple[str, ...]) -> None:
    found = step(candidate("gpu.gsp", reported("xid"), host=host, base=sure))
    assert (found.action, found.exclude) == (action, exclude)


def test_every_bad_node_is_excluded_once() -> None:
    bad = [candidate("gpu.gsp", reported("xid"), host=host, base=sure) for host, sure in (("n1", 0.8), ("n2", 0.6), ("n1", 0.7), ("n3", 0.4))]  # fmt: skip
    assert step(*bad, candidate("job.exception", reported("x"), host="n4", base=0.9)).exclude == ("n1", "n2")
    assert step(candidate("storage.stall", reported("x"), base=0.9), *bad).exclude == ()


def save(at_step: int | None, line: int = 1, at: float = 0.0, code: str = "end", path: str = "/ckpt") -> Evidence:
    detail = {} if at_step is None else {"step": str(at_step)}
    return reported("save", code=code, line=line, at=at, path=path, **detail)


@pytest.mark.parametrize(
    ("why", "evidence", "checkpoint"),
    [
        ("the last that ended", [save(100), save(300), save(200)], "/ckpt (step 300)"),
        ("one that only began does not count", [save(100), save(300, code="begin")], "/ckpt (step 100)"),
        ("nor does another line", [save(100), reported("steps", code="end", step="300")], "/ckpt (step 100)"),
        ("no step is reported: the later", [save(None, at=NOON, path="/b"), save(None, at=NOON - 9, path="/a")], "/b (step ?)"),
        ("no time either: the lower line", [save(None, line=5, path="/b"), save(None, line=3, path="/a")], "/b (step ?)"),
        ("no path is reported", [save(7, path="")], "the checkpoint (step 7)"),
        ("none", [], None),
    ],
)  # fmt: skip
def test_where_to_start_from(why: str, evidence: list[Evidence], checkpoint: str | None) -> None:
    assert step(candidate("job.exception", raised()), evidence=(*evidence,)).checkpoint == checkpoint, why


def test_after_corruption_the_last_save_before_its_first_sign() -> None:
    saves = (save(100), save(250), save(None, path="/unnumbered"), save(300))
    spike = candidate("job.loss_spike", reported("steps", step=250.0), reported("steps", step=260.0), base=0.6)
    nan = candidate("job.nan", reported("steps", step=300.0), base=0.6)
    crash = candidate("job.exception", raised(step=90.0))
    assert step(crash, nan, evidence=saves).checkpoint == "/ckpt (step 250)"
    assert step(crash, nan, spike, evidence=saves).checkpoint == "/ckpt (step 100)"
    assert step(crash, candidate("job.nan", reported("steps")), evidence=saves).checkpoint == "/ckpt (step 300)"
    early = candidate("job.nan", reported("steps", step=0.0))
    assert step(crash, early, evidence=(save(100),)).checkpoint is None


def test_what_to_set() -> None:
    port = candidate("fabric.port_down", reported("link"), host="n1", base=0.8)
    assert "now 7.5 s" in step(port).settings["NCCL_IB_TIMEOUT"]
    known = step(port, evidence=(reported("nccl.about", version="2.27.3"), reported("nccl.about", version="2.18.1")))
    assert "now 30.1 s, default of NCCL 2.27.3" in known.settings["NCCL_IB_TIMEOUT"]
    assert step(candidate("job.collective_mismatch", reported("x"))).settings == {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}
    assert step(candidate("gpu.gsp", reported("x"))).settings == {}


@pytest.mark.parametrize(
    ("cause", "more", "words"),
    [
        ("gpu.gsp", {"host": "n17", "device": "0000:9b:00"}, "n17, 0000:9b:00"),
        ("gpu.gsp", {"host": "n17", "ranks": (3,)}, "n17"),
        ("gpu.gsp", {"ranks": (3,)}, "rank 3"),
        ("job.exception", {"host": "n17", "ranks": (3,), "note": "boom"}, "rank 3, boom"),
        ("job.exception", {"ranks": (1, 2, 3, 4)}, "ranks 1, 2, 3, 4"),
        ("job.exception", {"ranks": (1, 2, 3, 4, 5)}, "ranks 1, 2, 3, 4 and 1 more"),
        ("storage.stall", {"host": "n17"}, ""),
    ],
)
def test_the_subject_in_words(cause: str, more: dict[str, object], words: str) -> None:
    assert subject_words(candidate(cause, reported("x"), **more)) == words


@pytest.mark.parametrize(
    ("host", "device", "where"), [("n1", "mlx5_0", "n1, mlx5_0"), ("n1", "", "n1"), ("", "mlx5_0", "mlx5_0")]
)
def test_the_cluster_team_reads_the_places_that_are_known(host: str, device: str, where: str) -> None:
    one = candidate("fabric.port_down", reported("link", "strong", text="link down"), host=host, device=device)
    assert step(one).report_to == f"a fabric port went down ({where}). The log says: link down"


@pytest.mark.parametrize(
    ("note", "said", "left"),
    [
        ("peer n7", "rank 3 lost n7", ""),
        ("peer n7", "rank 3 lost a peer", "peer n7"),
        ("peer n7", "", "peer n7"),
    ],
)
def test_a_note_is_not_said_twice(note: str, said: str, left: str) -> None:
    assert subject_words(candidate("unknown", reported("x"), note=note), said=said) == left
