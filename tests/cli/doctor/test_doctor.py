"""`holdfast doctor` on a machine that lacks nearly everything."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.app import run
from holdfast.model.settings import AgentSettings, ProbeSettings, Roots, Settings
from holdfast.node import checks
from holdfast.node.agent.doctor import missing_on_machine, of_another_vendor


def write_config(tmp_path: Path, **agent: str) -> Path:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir(exist_ok=True)
    gone = {name: tmp_path / "empty" for name in ("sys", "proc")} | {
        name: tmp_path / "gone" for name in ("kmsg", "nvml", "dcgmi", "timex")
    }
    settings = {"state_dir": f"{tmp_path}/file/state", "verdict_file": f"{tmp_path}/verdict.json", **agent}
    lines = ["[roots]", *(f"{name} = '{path}'" for name, path in gone.items())]
    lines += ["[agent]", *(f"{name} = '{value}'" for name, value in settings.items())]
    config = tmp_path / "holdfast.toml"
    config.write_text("\n".join(lines))
    return config


def ask(config: Path, capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run(["doctor", "--config", str(config), "--json"]) == 3
    document: dict[str, Any] = json.loads(capfd.readouterr().out)
    return document


def test_each_blind_source_has_a_fix_and_the_questions_it_leaves_open(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    document = ask(write_config(tmp_path), capfd)
    by_name = {name: entry for entry in document["missing"] for name in entry["what"].split(", ")}
    assert {"nvml", "kmsg", "infiniband", "clock", "dcgm_diag", "state directory", "agent"} <= set(by_name)
    assert "gpu.temperature" in by_name["nvml"]["questions"]
    assert "host.clock" in by_name["clock"]["questions"]
    assert "dcgm.diag" in by_name["dcgm_diag"]["questions"]
    assert all(entry["reason"] and entry["fix"] for entry in document["missing"])


def test_every_unanswered_question_is_laid_at_something(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    document = ask(write_config(tmp_path), capfd)
    named = {question for entry in document["missing"] for question in entry["questions"]}
    assert named == set(document["questions"]["unanswered"])
    assert document["questions"]["asked"] == len({*checks.STAGES["passive"], *checks.STAGES["bootstrap"]})


def test_without_json_it_speaks_to_people(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--config", str(write_config(tmp_path))]) == 3
    output = capfd.readouterr().out
    assert "libnvidia-ml" in output and "do: " in output and "checks can answer" in output


def test_a_dcgmi_that_is_there_is_not_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config = write_config(tmp_path)
    dcgmi = tmp_path / "gone"
    dcgmi.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    dcgmi.chmod(0o755)
    assert "dcgm.diag" not in ask(config, capfd)["questions"]["unanswered"]
    assert not (tmp_path / "ran").exists()


def settings(tmp_path: Path, verdict: str) -> Settings:
    agent = AgentSettings(state_dir=str(tmp_path / "new/state"), verdict_file=verdict)
    return Settings(agent=agent, roots=Roots(proc=str(tmp_path)))


def test_a_fresh_verdict_file_means_that_the_agent_runs(tmp_path: Path) -> None:
    verdict = tmp_path / "verdict.json"
    verdict.write_text("{}")
    assert "agent" not in {missing.what for missing in missing_on_machine(settings(tmp_path, str(verdict)))}
    os.utime(verdict, (1e9, 1e9))
    stale = next(missing for missing in missing_on_machine(settings(tmp_path, str(verdict))) if missing.what == "agent")
    assert "s old" in stale.reason


def test_a_state_directory_that_can_be_made_is_not_missing(tmp_path: Path) -> None:
    assert "state directory" not in {m.what for m in missing_on_machine(settings(tmp_path, str(tmp_path / "v.json")))}


def test_a_suite_that_computes_nothing_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    here = settings(tmp_path, str(tmp_path / "v.json"))
    found = next(missing for missing in missing_on_machine(here) if missing.what == "active probes")
    assert found.reason == "torch is not installed" and "--torch" in found.fix and "computes nothing" in found.costs
    chosen = replace(here, probes=ProbeSettings(active=False))
    assert "active probes" not in {missing.what for missing in missing_on_machine(chosen)}


def test_a_proc_that_hides_processes_is_reported(tmp_path: Path) -> None:
    found = next(m for m in missing_on_machine(settings(tmp_path, str(tmp_path / "v.json"))) if m.what == "processes")
    assert "hidepid" in found.reason
    (tmp_path / "1").mkdir()
    (tmp_path / "1/environ").write_text("")
    assert "processes" not in {m.what for m in missing_on_machine(settings(tmp_path, str(tmp_path / "v.json")))}


@pytest.mark.parametrize(
    ("blind", "seen", "foreign"),
    [
        ({"nvml", "nvml_slow", "dcgm_diag", "kmsg"}, True, {"nvml", "nvml_slow", "dcgm_diag"}),
        ({"amdgpu", "dcgm_diag"}, True, {"amdgpu"}),
        ({"nvml", "dcgm_diag"}, False, set()),
        (set(), True, set()),
    ],
)
def test_what_another_vendor_s_gpus_need_is_not_missing(blind: set[str], seen: bool, foreign: set[str]) -> None:
    assert of_another_vendor(blind, seen) == foreign
