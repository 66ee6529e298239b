"""The agent's own verdicts: only what turned bad while the attempt ran, and never what cannot be read."""

import json
import os
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.supervisor.hardware.agent_verdicts import AgentVerdicts


def write(path: Path, **healths: str) -> None:
    verdicts = [
        {"check": name.replace("__", "."), "health": health, "reason": "seen"} for name, health in healths.items()
    ]
    path.write_text(json.dumps({"verdicts": verdicts}))
    os.utime(path, (path.stat().st_mtime + len(healths), path.stat().st_mtime + len(healths)))


def test_a_gpu_that_was_lost_meanwhile_is_news(tmp_path: Path) -> None:
    file = tmp_path / "verdict.json"
    write(file, gpu__lost="pass")
    agent = AgentVerdicts("n1", str(file))
    assert agent.failures() == []
    write(file, gpu__lost="fail", gpu__throttle="fail", fabric__port_down="degraded")
    (lost,) = agent.failures()
    assert (lost.check, lost.evidence.cause, lost.evidence.host) == ("gpu.lost", "gpu.fell_off_bus", "n1")


def test_what_was_bad_before_the_attempt_is_no_news(tmp_path: Path) -> None:
    file = tmp_path / "verdict.json"
    write(file, fabric__port_down="fail")
    agent = AgentVerdicts("n1", str(file))
    assert agent.failures() == []
    assert len(agent.lost()) == 1


def test_no_agent_says_nothing(tmp_path: Path) -> None:
    assert AgentVerdicts("n1", str(tmp_path / "none")).failures() == []


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.binary() | st.text().map(lambda text: json.dumps({"verdicts": [text, {"check": text}]}).encode()))
def test_no_file_breaks_it(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "verdict.json"
    file.write_bytes(raw)
    AgentVerdicts("n1", str(file)).failures()
