"""nccl-tests behind `holdfast probe run`: its output is judged by the fabric's limits, whoever ran it."""

import json

import pytest

from holdfast.cli.app import run

DEVICES = "".join(
    f"#  Rank {8 * (host - 1) + gpu} Group  0 Pid 1 on n{host} device  {gpu} [0000:04:00] NVIDIA H100 80GB HBM3\n"
    for host in (1, 2)
    for gpu in range(8)
)
ROW = "{} 2 float sum -1 {:.2f} 1.00 {:.2f} 0 {:.2f} 1.00 {:.2f} 0\n"
END = "# Avg bus bandwidth    : 100\n"


def table(late, rate, dip=1.0, devices=DEVICES):
    text = devices
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
    return code, {one["check"]: one["health"] for one in document["sweep_verdicts"]}, document


def test_a_healthy_run_passes_every_regime(tmp_path, capfd):
    code, healths, _ = judge(tmp_path, capfd, table(100, 440))
    assert code == 0 and set(healths.values()) == {"pass"}


def test_slow_small_messages_and_a_valley_are_distinguished(tmp_path, capfd):
    assert judge(tmp_path, capfd, table(900, 440))[1]["sweep.latency"] == "fail"
    code, healths, _ = judge(tmp_path, capfd, table(100, 440, dip=0.1))
    assert code == 1 and healths == {"sweep.bandwidth": "pass", "sweep.latency": "pass", "sweep.steps": "degraded"}


def test_a_fall_back_to_tcp_is_recognised(tmp_path, capfd):
    text = table(100, 4) + "n1:1:1 [0] NCCL INFO Using network Socket\n"
    code, _, document = judge(tmp_path, capfd, text)
    assert code == 2 and "TCP" in next(
        o["reason"] for o in document["sweep_verdicts"] if o["check"] == "sweep.bandwidth"
    )


def test_within_a_host_no_network_falls_back(tmp_path, capfd):
    alone = "".join(line + "\n" for line in DEVICES.splitlines() if " on n1 " in line)
    text = table(100, 440, devices=alone) + "n1:1:1 [0] NCCL INFO Using network Socket\n"
    assert judge(tmp_path, capfd, text)[1]["sweep.bandwidth"] == "pass"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Collective test starting: alltoall_perf\n" + table(100, 40), "limits of reference are of all_reduce"),
        (table(100, 45, devices="".join(DEVICES.splitlines(True)[::8])), "8 ranks a host, here are 1"),
    ],
)
def test_limits_of_something_else_fail_no_one(tmp_path, capfd, text, expected):
    code, healths, document = judge(tmp_path, capfd, text)
    assert code == 0 and healths["sweep.bandwidth"] == healths["sweep.latency"] == "unknown"
    assert all(expected in one["reason"] for one in document["sweep_verdicts"] if one["check"] != "sweep.steps")


def test_a_single_rank_is_a_set_up_failure_never_a_slow_fabric(tmp_path, capfd):
    code, healths, document = judge(tmp_path, capfd, table(100, 0, devices=DEVICES.splitlines(True)[0]))
    assert code == 3 and healths["sweep.bandwidth"] == "unknown"
    assert "set-up failed: there is only one rank" in document["verdicts"][0]["reason"]


def test_output_that_breaks_off_is_no_pass(tmp_path, capfd):
    code, _, document = judge(tmp_path, capfd, "".join(table(100, 440).splitlines(True)[:40]))
    assert code == 3 and "breaks off after" in document["verdicts"][0]["reason"]


@pytest.mark.parametrize("footer", ["# Out of bounds values : 4 FAILED\n", ""])
def test_wrong_numbers_fail_whether_a_row_or_the_footer_reports(tmp_path, capfd, footer):
    text = (
        table(100, 440)
        if footer
        else table(100, 440).replace("1024 2 float sum -1 100.00 1.00 6.77 0", "1024 2 float sum -1 100.00 1.00 6.77 5")
    )
    code, _, document = judge(tmp_path, capfd, text + footer)
    assert code == 2 and document["verdicts"][0]["health"] == "fail"
    assert ("4 values out of bounds" if footer else "at 1024 bytes") in document["verdicts"][0]["reason"]


def test_numbers_that_no_one_compared_are_not_called_right(tmp_path, capfd):
    code, _, document = judge(
        tmp_path, capfd, table(100, 440).replace(" 0 100.00", " N/A 100.00").replace(" 0\n", " N/A\n")
    )
    assert code == 0 and {row["correct"] for row in document["sweep"]} == {None}


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


def test_a_command_is_run_with_our_sizes_and_pins_where_the_program_starts(tmp_path, capfd):
    (tmp_path / "table").write_text(table(100, 440, dip=0.1))
    program = tmp_path / "all_reduce_perf"
    program.write_text(f'#!/bin/sh\necho "$NCCL_ALGO $@" >> {tmp_path}/asked\ncat {tmp_path}/table\n')
    program.chmod(0o755)
    assert run(["probe", "run", "--json", "--nccl-tests", f"env -u NCCL_ALGO {program} -g 8"]) == 1
    capfd.readouterr()
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[:2] == [" -g 8 -b 8 -e 2G -f 2", "Ring -g 8 -b 8 -e 2G -f 2"] and len(asked) == 7


def test_the_binary_gets_every_gpu_it_may_see(tmp_path, capfd, monkeypatch):
    program = tmp_path / "all_reduce_perf"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n')
    program.chmod(0o755)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    assert run(["probe", "run", "--json", "--nccl-tests", str(program)]) == 3
    capfd.readouterr()
    assert (tmp_path / "asked").read_text().split()[-2:] == ["-g", "4"]


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
    output = json.loads(capfd.readouterr().out)["code_paths"]
    assert len(output) == 3 and all(
        "as slow as Tree/LL128" in words and "10.0 times as fast" in words for words in output
    )


def test_a_band_that_is_slow_on_every_path_is_no_matter_of_the_choice(tmp_path, capfd):
    assert run(["probe", "run", "--json", "--nccl-tests", str(perf_binary(tmp_path, "*"))]) == 1
    output = json.loads(capfd.readouterr().out)["code_paths"]
    assert output and all("slow on every code path" in words for words in output)


def test_a_cluster_is_compared_with_its_own_past_once_that_is_known(tmp_path, capfd):
    def one(rate, dip=1.0):
        return judge(tmp_path, capfd, table(100, rate, dip), "--baseline", str(tmp_path / "past.jsonl"))

    for number, rate in enumerate((440, 442, 438, 441, 439)):
        assert one(rate)[1]["sweep.baseline"] == "unknown", number
    assert one(436)[1]["sweep.baseline"] == "pass"
    code, healths, document = one(380)
    assert (code, healths["sweep.baseline"], healths["sweep.bandwidth"]) == (1, "degraded", "pass")
    (result,) = [one["reason"] for one in document["sweep_verdicts"] if one["check"] == "sweep.baseline"]
    assert "14 % below the mean of 6 runs" in result
    assert len((tmp_path / "past.jsonl").read_text().splitlines()) == 6, "a slow run does not become the past"
