"""nccl-tests behind `holdfast probe run`: its output is judged by the fabric's limits, whoever ran it."""

import json

from holdfast.cli.app import run

DEVICE = "#  Rank  0 Group  0 Pid 1 on n1 device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
ROW = "{} 2 float sum -1 {:.2f} 1.00 {:.2f} 0 {:.2f} 1.00 {:.2f} 0\n"
END = "# Avg bus bandwidth    : 100\n"


def table(late, rate, dip=1.0):
    text = DEVICE
    for power in range(3, 32):
        inside = (256 << 10) <= (1 << power) <= (4 << 20)
        bus = rate * (1 << power) / ((1 << power) + (64 << 10)) * (dip if inside else 1.0)
        text += ROW.format(1 << power, late, bus, late, bus)
    return text + END


def judge(tmp_path, capfd, text, *words):
    file = tmp_path / "out.txt"
    file.write_text(text)
    code = run(["probe", "run", "--json", "--nccl-tests", str(file), *words])
    document = json.loads(capfd.readouterr().out)
    return code, {one["check"]: one["health"] for one in document["judgement"]}, document


def test_a_healthy_run_passes_every_regime(tmp_path, capfd):
    code, healths, _ = judge(tmp_path, capfd, table(100, 440))
    assert code == 0 and set(healths.values()) == {"pass"}


def test_slow_small_messages_and_a_valley_are_told_apart(tmp_path, capfd):
    assert judge(tmp_path, capfd, table(900, 440))[1]["sweep.latency"] == "fail"
    code, healths, _ = judge(tmp_path, capfd, table(100, 440, dip=0.1))
    assert code == 1 and healths == {"sweep.bandwidth": "pass", "sweep.latency": "pass", "sweep.steps": "degraded"}


def test_a_fall_back_to_tcp_is_recognised(tmp_path, capfd):
    text = table(100, 4) + "n1:1:1 [0] NCCL INFO Using network Socket\n"
    code, _, document = judge(tmp_path, capfd, text)
    assert code == 2 and "TCP" in next(o["reason"] for o in document["judgement"] if o["check"] == "sweep.bandwidth")


def test_a_run_that_never_began_is_a_set_up_failure(tmp_path, capfd):
    code, _, document = judge(tmp_path, capfd, "There are not enough slots available in the system\n")
    assert code == 3 and "set-up failed: mpirun has fewer slots" in document["verdicts"][0]["reason"]


def test_a_script_that_runs_the_binary_is_run(tmp_path, capfd):
    (tmp_path / "table").write_text(table(100, 440))
    script = tmp_path / "all_reduce_perf"
    script.write_text(f"#!/bin/sh\ncat {tmp_path}/table\n")
    script.chmod(0o755)
    assert run(["probe", "run", "--json", "--nccl-tests", str(script)]) == 0
    assert len(json.loads(capfd.readouterr().out)["sweep"]) == 29


def test_what_is_not_there_is_refused(tmp_path, capfd):
    assert run(["probe", "run", "--nccl-tests", str(tmp_path / "gone")]) == 64
    assert run(["probe", "run", "--nccl-tests", __file__, "--fabric", "wool"]) == 64


def perf_binary(tmp_path, slow_path):
    """Stands for all_reduce_perf: middle sizes are slow when NCCL may choose, and when the slow path is pinned."""
    (tmp_path / "slow").write_text(table(100, 440, dip=0.1))
    (tmp_path / "fast").write_text(table(100, 440))
    script = tmp_path / "all_reduce_perf"
    case = f'case "$NCCL_ALGO/$NCCL_PROTO" in /|{slow_path}) cat {tmp_path}/slow ;; *) cat {tmp_path}/fast ;; esac'
    script.write_text(f"#!/bin/sh\n{case}\n")
    script.chmod(0o755)
    return script


def test_a_slow_band_is_run_again_on_every_code_path_and_the_slow_one_is_named(tmp_path, capfd):
    assert run(["probe", "run", "--json", "--nccl-tests", str(perf_binary(tmp_path, "Tree/LL128"))]) == 1
    said = json.loads(capfd.readouterr().out)["code_paths"]
    assert len(said) == 3 and all("as slow as Tree/LL128" in words and "10.0 times as fast" in words for words in said)


def test_a_band_that_is_slow_on_every_path_is_no_matter_of_the_choice(tmp_path, capfd):
    assert run(["probe", "run", "--json", "--nccl-tests", str(perf_binary(tmp_path, "*"))]) == 1
    said = json.loads(capfd.readouterr().out)["code_paths"]
    assert said and all("slow on every code path" in words for words in said)


def test_a_cluster_is_compared_with_its_own_past_once_that_is_known(tmp_path, capfd):
    def one(rate, dip=1.0):
        return judge(tmp_path, capfd, table(100, rate, dip), "--baseline", str(tmp_path / "past.jsonl"))

    for number, rate in enumerate((440, 442, 438, 441, 439)):
        assert one(rate)[1]["sweep.baseline"] == "unknown", number
    assert one(436)[1]["sweep.baseline"] == "pass"
    code, healths, document = one(380)
    assert (code, healths["sweep.baseline"], healths["sweep.bandwidth"]) == (1, "degraded", "pass")
    (told,) = [one["reason"] for one in document["judgement"] if one["check"] == "sweep.baseline"]
    assert "14% below the mean of 6 runs" in told
    assert len((tmp_path / "past.jsonl").read_text().splitlines()) == 6, "a slow run does not become the past"
