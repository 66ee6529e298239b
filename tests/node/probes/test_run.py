"""Real collectives between hosts in network namespaces, with one link limited; and hosts that cannot take part."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli import app
from tests.node.probes.fabric import fabric

HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
pytest.importorskip("torch", reason="torch is not installed: the probes' own part of the product needs it")
needs_namespaces = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("tc"), reason="network namespaces and tc need root and iproute2"
)


def run(*words):
    done = subprocess.run(
        [HOLDFAST, "probe", "run", "--json", "--largest", "64KiB", *words],
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, json.loads(done.stdout)


FEW_SIZES = ("--smallest", "16KiB")  # for what the comparison of pairs finds: a sweep of 14 sizes takes longer than it


def named(document):
    return [suspect["subject"] for suspect in document["suspects"]]


LIMITS = {
    "host": (lambda made: made.limit_host("h3"), ["node/h3"]),
    "pair": (lambda made: made.limit_pair("h1", "h4"), ["pair/h1+h4"]),
    "trunk": (lambda made: made.limit_trunk(), ["trunk/east+west"]),
    "healthy": (lambda made: None, []),
}


def check_limited(made, subject):
    code, document = run("--hosts", str(made.hosts), "--pair-bytes", "2MiB", *FEW_SIZES)
    assert named(document) == subject
    assert code == (2 if subject else 0)
    assert {row["correct"] for row in document["sweep"]} == {True}


@pytest.mark.slow
@pytest.mark.alone
@needs_namespaces
@pytest.mark.parametrize("case", ["host", "healthy"])
def test_the_limited_part_is_named_and_no_other(tmp_path, case):
    limit, subject = LIMITS[case]
    with fabric(tmp_path) as made:
        limit(made)
        check_limited(made, subject)


FAULTS = {
    "packet loss": lambda made: made.lose("h3", 5),
    "MTU mismatch": lambda made: made.set_mtu("h3", 1400),
    "slow sending": lambda made: made.limit_sending("h3"),
}


@pytest.mark.slow
@needs_namespaces
@pytest.mark.skipif(not shutil.which("nft"), reason="packets are dropped with nft (nftables)")
@pytest.mark.parametrize(
    "cause",
    [
        "packet loss",  # it counts datagrams and waits for them, so it need not be alone
        pytest.param("MTU mismatch", marks=pytest.mark.alone),
        pytest.param("slow sending", marks=pytest.mark.alone),
    ],
)
def test_the_node_is_named_with_its_cause(tmp_path, cause):
    with fabric(tmp_path) as made:
        FAULTS[cause](made)
        words = ("--pair-bytes", "2MiB", "--timeout-seconds", "30", *FEW_SIZES)
        code, document = run("--hosts", str(made.hosts), *words)
    assert [(one["subject"], one["cause"]) for one in document["suspects"]] == [("node/h3", cause)]
    assert code == 2
    assert {one["source"] for one in document["references"] if one["band"] == "latency"} == {
        "the other pairs of this run"
    }


@pytest.mark.soak
@needs_namespaces
@pytest.mark.parametrize("case", LIMITS)
def test_five_runs_of_five_name_the_limited_part_and_no_other(tmp_path, case):
    limit, subject = LIMITS[case]
    with fabric(tmp_path) as made:
        limit(made)
        for _ in range(5):
            check_limited(made, subject)


@pytest.mark.slow
def test_a_wrong_number_at_one_size_is_found_and_its_rank_named():
    code, document = run("--local", "3", "--spoil", "2:4096", "--pair-bytes", "64KiB", "--smallest", "1KiB")
    wrong = {row["bytes"]: row["wrong_ranks"] for row in document["sweep"] if not row["correct"]}
    assert wrong == {4096: [2]}
    assert named(document) == ["node/local2"]
    assert code == 2


@pytest.mark.slow
def test_every_rail_has_a_rank_and_a_wrong_one_is_named_with_its_rail(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("a 127.0.0.1,127.0.0.1\nb 127.0.0.1,127.0.0.1\n")
    words = ("--operation", "all_to_all", "--smallest", "4KiB", "--spoil", "3:4096", "--pair-bytes", "64KiB")
    code, document = run("--hosts", str(hosts), *words)
    assert (code, document["ranks"], document["hosts"]) == (2, 4, ["a", "b"])
    assert {row["bytes"]: row["wrong_ranks"] for row in document["sweep"] if not row["correct"]} == {4096: [3]}
    assert named(document) == ["node/b/rail/1"]
    assert [(row["rail"], row["correct"]) for row in document["pairs"]] == [(0, True), (1, True)] * 2
    assert all(row["variation_ratio"] >= 0.0 for row in document["sweep"])


@pytest.mark.slow
def test_a_host_that_cannot_start_is_a_set_up_failure_never_a_slow_fabric(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("a 127.0.0.1\nb 127.0.0.1\nc 127.0.0.1 sh -c 'echo no route to host >&2; exit 255'\n")
    code, document = run("--hosts", str(hosts), "--pair-bytes", "64KiB", *FEW_SIZES)
    reasons = {verdict["subject"]: (verdict["health"], verdict["reason"]) for verdict in document["verdicts"]}
    assert reasons["node/c"][0] == "unknown"
    assert "set-up failed" in reasons["node/c"][1] and "no route to host" in reasons["node/c"][1]
    assert reasons["node/a"][0] == reasons["node/b"][0] == "pass"
    assert named(document) == []
    assert code == 3


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "exactly one of"),
        (["--local", "1"], "2 to 64"),
        (["--local", "2", "--operation", "gossip"], "gossip"),
        (["--local", "2", "--largest", "2 fathoms"], "2 fathoms"),
        (["--hosts", "/nowhere"], "/nowhere"),
        (["--torchrun"], "not started by torchrun"),
        (["--torchrun", "--local", "2"], "torchrun chose the hosts"),
        (["--local", "2", "--spoil", "1:5000"], "no payload of 5000 bytes"),
        (["--local", "2", "--spoil", "2:4096"], "a rank from 0 to 1"),
    ],
)
def test_a_wrong_request_is_refused_in_one_sentence(words, expected, capfd):
    assert app.run(["probe", "run", *words]) == 64
    refusal = capfd.readouterr().err
    assert expected in refusal
    assert len(refusal.strip().splitlines()) == 1


@pytest.mark.slow
def test_a_fall_back_to_tcp_is_reported_from_what_the_ranks_reported(tmp_path):
    """The words are NCCL's; the ranks here are gloo's, for there is no GPU."""
    says = "sh -c 'echo n1:1:1 [0] NCCL INFO Using network Socket >&2; exec \"$@\"' sh"
    hosts = tmp_path / "hosts"
    hosts.write_text(f"a 127.0.0.1 {says}\nb 127.0.0.1\n")
    code, document = run("--hosts", str(hosts), "--fabric", "reference", "--pair-bytes", "64KiB")
    (reported,) = [one["reason"] for one in document["sweep_verdicts"] if one["check"] == "sweep.bandwidth"]
    assert code == 2 and "TCP sockets" in reported
    assert document["network"] == "Socket"
    assert document["code_paths"] == [] or "does not apply" in document["code_paths"][0]
