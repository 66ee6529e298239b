"""The gate answers from the verdict file alone; whatever it cannot trust is unknown, with the reason."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.gate import drain as gate_drain
from holdfast.cli.gate import gate
from holdfast.cli.gate import options as gate_words
from holdfast.model.settings import AgentSettings

HERE = os.uname().nodename
ROOT = Path(gate.__file__).parents[3]


@pytest.fixture(autouse=True)
def outside_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SLURM")]:
        monkeypatch.delenv(name)


def verdict(health: str = "pass", age: float = 1.0, **changes: object) -> dict[str, object]:
    rows = [
        {"check": "host.clock", "health": "pass", "reason": ""},
        {"check": "gpu.xid", "health": health, "reason": "gpu 3: Xid 79, fallen off the bus"},
    ]
    at = time.time() - age
    whole = {"format": 1, "node": HERE, "at": at, "stage": "passive", "health": health, "reason": "", "twin": False}
    return {**whole, "verdicts": rows, **changes}


def ask(tmp_path: Path, document: object, *options: str) -> tuple[int, dict[str, object]]:
    file = tmp_path / "verdict.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return ask_file(file, *options)


def ask_file(file: Path, *options: str) -> tuple[int, dict[str, object]]:
    done = run("--file", str(file), "--json", *options)
    return done.returncode, json.loads(done.stdout)


def run(*argv: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """In this process: only the file descriptors it writes to are its own."""
    command = ["gate", *argv]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err, patch.dict(os.environ, environ):
        kept = os.dup(1), os.dup(2)
        try:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            code = gate.main(list(argv))
        finally:
            for place, descriptor in enumerate(kept, 1):
                os.dup2(descriptor, place)
                os.close(descriptor)
        message = [file.read() for file in (out, err) if file.seek(0) == 0]
        return subprocess.CompletedProcess(command, code, *message)


def started(*argv: str) -> int:
    command = [sys.executable, "-m", "holdfast.cli.gate.gate", *argv]
    return subprocess.run(command, capture_output=True, timeout=90).returncode


@pytest.mark.parametrize(("health", "code"), [("pass", 0), ("degraded", 1), ("fail", 2), ("unknown", 3)])
def test_the_exit_code_is_the_health(tmp_path: Path, health: str, code: int) -> None:
    found, output = ask(tmp_path, verdict(health))
    assert (found, output["health"], output["exit_code"]) == (code, health, code)
    assert started("--file", str(tmp_path / "verdict.json")) == code
    assert output["allowed"] is (code < 2)


def test_a_failure_names_the_check_and_its_reason(tmp_path: Path) -> None:
    _, output = ask(tmp_path, verdict("fail"))
    assert (output["check"], output["reason"]) == ("gpu.xid", "gpu 3: Xid 79, fallen off the bus")


def test_without_a_failing_row_the_summary_is_the_reason(tmp_path: Path) -> None:
    _, output = ask(tmp_path, verdict("fail", verdicts=[], reason="two ports down"))
    assert output["reason"] == "two ports down"


# Made when a test runs, not when it is collected: minutes may lie between the two.
UNTRUSTED: dict[str, Callable[[], object]] = {
    "is the agent running": lambda: verdict(age=121),
    "in the future": lambda: verdict(age=-60),
    "about n99": lambda: verdict(node="n99"),
    "simulated": lambda: verdict(twin=True),
    "does not say when": lambda: verdict(at="yesterday"),
    "health is 'splendid'": lambda: verdict(health="splendid"),
    "health is ['pass']": lambda: verdict() | {"health": ["pass"]},
    "format 1": lambda: verdict(format=2),
    "not valid JSON": lambda: json.dumps(verdict())[:-20],
}


@pytest.mark.parametrize("reason", UNTRUSTED)
def test_an_untrusted_file_is_unknown_with_the_reason(tmp_path: Path, reason: str) -> None:
    document = UNTRUSTED[reason]()
    code, output = ask(tmp_path, document)
    assert (code, output["health"]) == (3, "unknown")
    assert reason.replace("the agent", "holdfast agent") in str(output["reason"])


def test_a_missing_file_is_unknown(tmp_path: Path) -> None:
    code, output = ask_file(tmp_path / "none.json")
    assert code == 3
    assert "no verdict file" in str(output["reason"])


def test_a_pipe_in_the_place_of_the_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    code, output = ask_file(tmp_path / "pipe")
    assert code == 3
    assert "not a regular file" in str(output["reason"])


def test_a_directory_in_the_place_of_the_file_is_unknown(tmp_path: Path) -> None:
    assert ask_file(tmp_path)[0] == 3


def test_a_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "huge.json"
    with file.open("wb") as handle:
        handle.truncate(1 << 40)
    code, output = ask_file(file)
    assert code == 3
    assert "larger than 4 MB" in str(output["reason"])


def test_deeply_nested_json_is_unknown(tmp_path: Path) -> None:
    assert ask(tmp_path, "[" * 200_000)[0] == 3


def test_max_age_is_settable(tmp_path: Path) -> None:
    assert ask(tmp_path, verdict(age=300), "--max-age", "400")[0] == 0
    assert ask(tmp_path, verdict(age=30), "--max-age=20")[0] == 3


def test_an_allowed_unknown_exits_0_and_says_so_on_stderr(tmp_path: Path) -> None:
    done = run("--file", str(tmp_path / "none"), "--on-unknown", "allow")
    assert done.returncode == 0
    assert done.stdout.startswith("unknown: ")
    assert "allowed because of --on-unknown" in done.stderr


def test_allowing_the_unknown_does_not_allow_a_failure(tmp_path: Path) -> None:
    assert ask(tmp_path, verdict("fail"), "--on-unknown", "allow")[0] == 2


@pytest.mark.parametrize(
    ("written", "given", "code"),
    [
        ("n17", "n17", 0),
        ("n17", "n17.cluster.example", 0),
        ("n17.cluster.example", "n17", 0),
        ("n1", "n17", 3),
        ("10.0.0.5", "10.0.0.6", 3),
        ("n17.east", "n17.west", 3),
        ("", "n17", 3),
    ],
)
def test_the_verdict_must_be_about_this_node(tmp_path: Path, written: str, given: str, code: int) -> None:
    assert ask(tmp_path, verdict(node=written), "--node", given)[0] == code


def test_slurms_name_of_the_node_is_also_its_name(tmp_path: Path) -> None:
    file = tmp_path / "verdict.json"
    file.write_text(json.dumps(verdict(node="slurm17")))
    assert run("--file", str(file), SLURMD_NODENAME="slurm17").returncode == 0
    assert run("--file", str(file)).returncode == 3


def test_the_configuration_names_the_file_the_node_and_the_twin(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps(verdict(node="twin1", twin=True)))
    config = tmp_path / "holdfast.toml"
    config.write_text(f'node = "twin1"\n[agent]\nverdict_file = "{tmp_path}/v.json"\ntwin = true\n')
    assert run("--config", str(config)).returncode == 0


@pytest.mark.parametrize("text", ["not toml", "agent = 3\n", None])
def test_a_bad_configuration_is_unknown(tmp_path: Path, text: str | None) -> None:
    config = tmp_path / "holdfast.toml"
    if text is not None:
        config.write_text(text)
    done = run("--config", str(config))
    assert done.returncode == 3
    assert str(config) in done.stdout


@pytest.mark.parametrize(
    "argv",
    [
        ["--max-age", "soon"],
        ["--max-age", "-1"],
        ["--max-age", "nan"],
        ["--max-age"],
        ["--on-unknown", "maybe"],
        ["--file", "a", "--config", "b"],
        ["--file="],
        ["--fast", "1"],
        ["n17"],
    ],
)
def test_bad_usage_is_one_sentence_and_64(argv: list[str]) -> None:
    done = run(*argv)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.count("\n") == 1


def test_help_names_every_option() -> None:
    done = run("--help")
    assert done.returncode == 0
    for option in ("--max-age", "--on-unknown", "--file", "--config", "--node", "--drain", "--json"):
        assert option in done.stdout


def test_a_full_stdout_does_not_change_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps(verdict("fail")))
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "holdfast.cli.gate.gate", "--file", str(tmp_path / "v.json")]
        assert subprocess.run(command, stdout=full, timeout=90).returncode == 2


def test_the_fast_path_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps(verdict()))
    code = (
        "import sys\nfrom holdfast.cli import main\n"
        f"sys.argv = ['holdfast', 'gate', '--file', {str(tmp_path / 'v.json')!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'argparse', 'dataclasses', 'msgspec', 'rich', 'subprocess', 'tomllib', 'typer', 'typing'}\n"
        "print(*(heavy & set(sys.modules)), file=sys.stderr)"
    )
    # Without site-packages, so that only our own imports count.
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=90)
    assert (done.returncode, done.stderr.strip()) == (0, "")


def test_the_default_file_is_the_one_the_agent_writes() -> None:
    assert AgentSettings().verdict_file == gate.VERDICT_FILE


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "verdict.json"


@given(content=st.binary() | st.text().map(str.encode))
def test_any_bytes_as_file_give_an_answer(scratch: Path, content: bytes) -> None:
    scratch.write_bytes(content)
    assert gate.judge(gate_words.parse(["--file", str(scratch)]), 0.0).health == "unknown"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


FIELDS = st.fixed_dictionaries({}, optional=dict.fromkeys(("health", "at", "twin", "reason", "verdicts"), JSON))


@given(fields=FIELDS)
def test_any_value_in_any_field_gives_an_answer(scratch: Path, fields: dict[str, object]) -> None:
    scratch.write_text(json.dumps({"format": 1, **fields, "node": HERE}))
    assert gate.judge(gate_words.parse(["--file", str(scratch)]), 0.0).health in gate.EXIT_CODES


@given(rows=JSON)
def test_any_rows_leave_the_health_as_it_is(scratch: Path, rows: object) -> None:
    scratch.write_text(json.dumps(verdict("fail", verdicts=rows)))
    assert gate.judge(gate_words.parse(["--file", str(scratch)]), time.time()).health == "fail"


SHOWN = """NodeName=n17 Arch=x86_64 CoresPerSocket=48
   State={state} ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s
   Reason={reason} [root@2026-11-15T20:31:56]
"""


def test_state_and_note_are_read_without_slurms_stamp() -> None:
    shown = SHOWN.format(state="IDLE+DRAIN", reason="fan [tray 2] loud")
    assert gate_drain.read_node(shown) == ("IDLE+DRAIN", "fan [tray 2] loud")


@pytest.mark.parametrize(
    ("state", "out"),
    [("IDLE", False), ("MIXED+CLOUD", False), ("IDLE+DRAIN", True), ("DOWN*", True), ("DOWN*+DRAIN", True)],
)
def test_a_drained_or_down_node_is_out_of_service(state: str, out: bool) -> None:
    assert gate_drain.out_of_service(state) is out


def test_only_slurmd_makes_us_drain() -> None:
    assert gate_drain.node_of_prolog({"SLURMD_NODENAME": "n17", "SLURM_JOB_ID": "4"}) == "n17"
    assert gate_drain.node_of_prolog({"SLURMD_NODENAME": "n17", "SLURM_PROCID": "0"}) == ""
    assert gate_drain.node_of_prolog({"SLURM_JOB_ID": "4"}) == ""


@pytest.mark.parametrize("name", ["n[1-999]", "ALL", "all", "n1,n2", "-n", ""])
def test_a_name_of_many_nodes_is_never_drained(name: str) -> None:
    assert "not the name of one node" in gate_drain.drain(name, "gpu.xid: lost")


def test_a_refusal_without_slurm_tools_still_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_drain, "FALLBACK_PATH", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gate_drain.drain("n17", "gpu.xid: lost") == "not drained: scontrol is not installed here"


def test_an_scontrol_that_fails_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scontrol = tmp_path / "scontrol"
    scontrol.write_text("#!/bin/sh\necho 'slurm_load_node error: Unable to contact slurm controller' >&2\nexit 1\n")
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert "Unable to contact slurm controller" in gate_drain.drain("n17", "gpu.xid: lost")


def test_an_scontrol_that_hangs_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scontrol = tmp_path / "scontrol"
    scontrol.write_text("#!/bin/sh\nexec sleep 600\n")
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(gate_drain, "TIMEOUT", 0.2)
    assert gate_drain.drain("n17", "gpu.xid: lost") == "not drained: scontrol show did not answer within 0.2 s"


def test_a_healthy_node_that_the_controller_holds_is_refused_with_its_words(tmp_path: Path) -> None:
    (tmp_path / "verdict.closed").write_text("quarantined: gpu.xid: Xid 79\n")
    code, output = ask(tmp_path, verdict())
    assert (code, output["check"], output["reason"]) == (2, "controller", "quarantined: gpu.xid: Xid 79")


def test_a_mark_that_cannot_be_read_keeps_closed(tmp_path: Path) -> None:
    (tmp_path / "verdict.closed").mkdir()
    assert ask(tmp_path, verdict())[0] == 2


def test_where_a_test_is_asked_for_one_pass_admits_one_start(tmp_path: Path) -> None:
    assert ask(tmp_path, verdict(), "--tested")[0] == 2
    (tmp_path / "verdict.tested").write_text("passed\n")
    assert ask(tmp_path, verdict(), "--tested")[0] == 0
    assert ask(tmp_path, verdict(), "--take")[0] == 0
    code, output = ask(tmp_path, verdict(), "--take")
    assert code == 2
    assert "untested" in str(output["reason"])


def test_a_shell_can_start_work_on_a_degraded_node(tmp_path: Path) -> None:
    (tmp_path / "verdict.tested").write_text("passed\n")
    assert ask(tmp_path, verdict("degraded"))[0] == 1
    code, output = ask(tmp_path, verdict("degraded"), "--take", "--accept-degraded")
    assert (code, output["exit_code"], output["allowed"], output["health"]) == (0, 0, True, "degraded")
    assert ask(tmp_path, verdict("degraded"), "--take", "--accept-degraded")[0] == 2  # the pass is used up
    assert ask(tmp_path, verdict("fail"), "--accept-degraded")[0] == 2
    assert ask(tmp_path, {}, "--accept-degraded")[0] == 3


def test_a_sick_node_does_not_use_up_a_pass(tmp_path: Path) -> None:
    (tmp_path / "verdict.tested").write_text("passed\n")
    assert ask(tmp_path, verdict("fail"), "--take")[0] == 2
    assert (tmp_path / "verdict.tested").exists()


def test_a_reason_that_quotes_a_users_process_does_nothing_to_a_terminal(tmp_path: Path) -> None:
    file = tmp_path / "verdict.json"
    hostile = "process '\x1b]0;owned\x07\x1b[2J\x9b31m' hangs"
    file.write_text(
        json.dumps(verdict("fail", verdicts=[{"check": "host.processes", "health": "fail", "reason": hostile}]))
    )
    done = run("--file", str(file), "--drain", "never")
    shown = done.stdout + done.stderr
    assert "hangs" in shown
    assert shown.replace("\n", "").isprintable()
    file.write_text(json.dumps(verdict("pass")))
    (tmp_path / "verdict.closed").write_text(hostile)
    assert run("--file", str(file), "--drain", "never").stdout.replace("\n", "").isprintable()
