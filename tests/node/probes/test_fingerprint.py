"""Fixed numbers in several processes: one flipped bit of an input is found against the majority."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.node.probes.runs.fingerprint import judge, learned

pytest.importorskip("torch", reason="torch is not installed")
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))


def run(*words):
    done = subprocess.run([HOLDFAST, "probe", "fingerprint", "--json", *words], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


@pytest.mark.slow
def test_a_flipped_bit_is_found_and_its_process_named():
    code, document = run("--local", "4", "--flip", "2")
    assert [row["subject"] for row in document["subjects"] if row["health"] == "fail"] == ["node/local2"]
    assert (code, document["class"]) == (2, "corruption")


@pytest.mark.slow
def test_healthy_processes_agree_and_a_host_that_cannot_start_is_unknown(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("a 127.0.0.1\nb 127.0.0.1\nc 127.0.0.1\nd 127.0.0.1 sh -c 'exit 255'\n")
    code, document = run("--hosts", str(hosts), "--golden", str(tmp_path / "golden.json"))
    assert [row["health"] for row in document["subjects"]] == ["pass", "pass", "pass", "unknown"]
    assert code == 3
    (bits,) = json.loads((tmp_path / "golden.json").read_text()).values()
    assert bits == document["subjects"][0]["value"]


def device(name, bits, kind="H100 torch 2.13", unstable=0):
    return (f"node/{name}", kind, bits, 5, unstable)


def test_what_the_majority_taught_judges_those_who_are_alone():
    found = learned([device("a", "x"), device("b", "x"), device("c", "y"), device("d", "z", kind="H200")])
    assert found == {"H100 torch 2.13": "x"}
    healths = {row.subject: row.health.value for row in judge([device("e", "y"), device("f", "x")], {}, found).rows}
    assert healths == {"node/e": "fail", "node/f": "pass"}
    assert learned([device("a", "x"), device("b", "x"), device("c", "x", unstable=1)]) == {}


def test_a_golden_file_of_another_shape_is_refused(tmp_path):
    (tmp_path / "golden.json").write_text("[1]")
    done = subprocess.run(
        [HOLDFAST, "probe", "fingerprint", "--local", "2", "--golden", str(tmp_path / "golden.json")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 64 and "expected an object" in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_rank_that_is_not_there_is_refused():
    done = subprocess.run(
        [HOLDFAST, "probe", "fingerprint", "--local", "4", "--flip", "9"], capture_output=True, text=True
    )
    assert done.returncode == 64 and "--flip: expected a rank from 0 to 3" in done.stderr
