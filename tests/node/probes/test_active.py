"""The active part of a bootstrap on this CPU: it measures, ends without a trace, and is off where it should be."""

import importlib.machinery
import importlib.util
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.model.settings import AgentSettings, ProbeSettings, Settings, SettingsError, parse
from holdfast.node.agent.assemble import questions, sources
from holdfast.node.agent.optional import left_out
from holdfast.node.checks import STAGES
from holdfast.node.probes.active.probes import PROBES
from tests.waiting import until

HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")


def write_config(tmp_path: Path, *names: str, more: str = "") -> Path:
    asked = ", ".join(f'"probe.{name}"' for name in names)
    (tmp_path / "state").mkdir(exist_ok=True)
    text = f'node = "n1"\n[agent]\nstate_dir = "{tmp_path}/state"\n[probes]\nseconds = 0.2\n'
    text += f"[stages]\nbootstrap = [{asked}]\n"
    config = tmp_path / "holdfast.toml"
    config.write_text(text + more)
    return config


def check(config: Path) -> dict:
    done = subprocess.run(
        [HOLDFAST, "check", "--stage", "bootstrap", "--json", "--config", str(config)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@needs_torch
@pytest.mark.slow
def test_every_probe_measures_on_the_cpu_and_brings_what_it_promised(tmp_path):
    names = [name for name in PROBES if name != "rdma_loopback"]
    document = check(write_config(tmp_path, *names))
    assert document["health"] == "pass"
    assert {row["probe"] for row in document["probes"]} == set(names)
    assert all(row["seconds"] > 0 for row in document["probes"])
    (line,) = (tmp_path / "state/probes.jsonl").read_text().splitlines()
    assert "probe_memory_bytes_per_second" in json.loads(line)["subjects"]["node/n1"]


def shared_memory():
    """What Python or torch leave there; other programs come and go."""
    return sorted(name for name in os.listdir("/dev/shm") if name.startswith(("torch", "psm_", "sem.", "holdfast")))


@needs_torch
@pytest.mark.slow
def test_ctrl_c_leaves_no_process_and_no_file_behind(tmp_path):
    config = write_config(tmp_path, "peer_copy", "node_collective", more="")
    config.write_text(config.read_text().replace("seconds = 0.2", "seconds = 60"))
    before = sorted(tmp_path.rglob("*")), shared_memory()
    # a shell's background job ignores Ctrl-C, and so would everything that it starts: with a handler here they do not
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [HOLDFAST, "check", "--stage", "bootstrap", "--config", str(config)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        start_new_session=True,
    )
    suite = until(lambda: one_child(process.pid, "holdfast.node.probes.active.suite"))
    worker = until(lambda: one_child(suite, "holdfast.node.probes.sweep.worker"))
    os.kill(worker, signal.SIGSTOP)  # a check that has ended by itself cannot be interrupted any more
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    until(lambda: not living_of_group(suite))
    assert (sorted(tmp_path.rglob("*")), shared_memory()) == before


@needs_torch
@pytest.mark.slow
def test_a_parent_that_is_killed_takes_the_probes_with_it(tmp_path):
    config = write_config(tmp_path, "burn_in")
    config.write_text(config.read_text().replace("seconds = 0.2", "seconds = 60"))
    process = subprocess.Popen([HOLDFAST, "check", "--stage", "bootstrap", "--config", str(config)])
    suite = until(lambda: one_child(process.pid, "holdfast.node.probes.active.suite"))
    process.kill()
    process.wait()
    until(lambda: not alive(suite))


def one_child(parent: int, words: str) -> int:
    """The process below this one that runs these words, or 0."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
                above = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            if words in command and above == parent:
                return int(entry.name)
    return 0


def living_of_group(leader: int) -> list[str]:
    """Whoever of a process group still runs; one that only waits to be noted by init is gone."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = path.read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(group) == leader and state != "Z":
            found.append(path.parent.name)
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def why_off(settings: Settings) -> set[str]:
    return {q.off for q in questions(settings, "bootstrap") if q.check.part == "probes"}


def test_a_simulated_node_runs_none_unless_asked():
    twin = Settings(node="n1", agent=AgentSettings(twin=True))
    assert all("simulated" in why for why in why_off(twin))
    assert "probes" not in {source.name for source in sources(twin, "bootstrap")}
    asked = replace(twin, probes=ProbeSettings(active=True))
    assert why_off(asked) == {""}
    assert "probes" in {source.name for source in sources(asked, "bootstrap")}


def test_switched_off_is_visible_and_beats_a_named_check():
    settings = Settings(node="n1", probes=ProbeSettings(active=False), stages={"bootstrap": STAGES["bootstrap"]})
    assert why_off(settings) == {"active probes are switched off"}


def test_without_torch_they_are_left_out_and_say_so(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    message = left_out(Settings(node="n1"), "probe.burn_in", "bootstrap", lambda settings: None)
    assert message.startswith("torch is not installed")
    asked = Settings(node="n1", probes=ProbeSettings(active=True))
    assert left_out(asked, "probe.burn_in", "bootstrap", lambda settings: None) == ""


def test_a_node_with_a_driver_is_not_tested_by_a_torch_without_cuda(tmp_path, monkeypatch):
    (tmp_path / "driver/nvidia").mkdir(parents=True)
    (tmp_path / "driver/nvidia/version").write_text("NVRM version: 570\n")
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "version.py").write_text("cuda: Optional[str] = None\n")
    found = importlib.machinery.ModuleSpec("torch", None, origin=str(package / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    settings = Settings(node="n1")
    settings = replace(settings, roots=replace(settings.roots, proc=str(tmp_path)))
    assert "without CUDA" in left_out(settings, "probe.burn_in", "bootstrap", lambda settings: None)
    (package / "version.py").write_text("cuda: Optional[str] = '12.8'\n")
    monkeypatch.setattr("holdfast.node.agent.optional.find_library", lambda name: None)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert "libcuda.so.1 is not here" in left_out(settings, "probe.burn_in", "bootstrap", lambda settings: None)
    (tmp_path / "libcuda.so.1").touch()
    assert left_out(settings, "probe.burn_in", "bootstrap", lambda settings: None) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[probes]\nactive = 1", "probes.active"),
        ("[probes]\nseconds = -1", "probes.seconds"),
        ("[probes]\nburn = 1", "unknown key 'burn'"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_place(text, expected):
    with pytest.raises(SettingsError, match=expected):
        parse(text, "holdfast.toml", {})
