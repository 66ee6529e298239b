"""Every command that README and quick start tell people to type is known, takes the options told, and is run."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.cli.app import run

from .documented import HOW, KNOWN, NOUNS, ROOT, depth, lines, name, ways

LOG = "[rank3]:[E ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9)\n"


@pytest.mark.parametrize("line", lines())
def test_it_is_known_and_takes_the_options_reported(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    for words in ways(line):
        called = name(line, words)
        assert called in KNOWN or called in NOUNS, f"{called}: say in tests/docs/commands.toml how it is run"
        if not line.startswith("holdfast "):
            continue
        assert run([*words[: depth(words)], "--help"]) == 0, words
        shown = "".join(capfd.readouterr())
        before = words[depth(words) : words.index("--")] if "--" in words else words[depth(words) :]
        for option in (word.partition("=")[0] for word in before if word.startswith("--")):
            assert option in shown, f"{called} has no {option}"


@pytest.mark.parametrize(("called", "where"), HOW["elsewhere"].items())
def test_what_another_test_runs_is_run_there(called: str, where: str) -> None:
    found = ROOT / where
    text = "".join(file.read_text() for file in ([found] if found.is_file() else found.rglob("test_*.py")))
    assert all(word.rpartition("/")[2] in text for word in called.split()), f"{where} does not speak of {called}"


@pytest.mark.parametrize("target", [called.split()[1] for called in HOW["parsed"] if called.startswith("make ")])
def test_a_recipe_can_be_read(target: str) -> None:
    subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


@pytest.fixture
def files(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What {names} in the table stand for."""
    (tmp_path / "kmsg").write_text("")
    made = {
        "agent": f'[roots]\nkmsg = "{tmp_path}/kmsg"\nnvml = "/no/such/libnvidia-ml.so.1"\n',
        "policy": "dry_run = true\n",
        "log": LOG,
        "verdict": "",
    }
    for called, text in made.items():
        (tmp_path / f"{called}.toml").write_text(text)
    yield {called: str(tmp_path / f"{called}.toml") for called in made} | {"folder": str(tmp_path / "folder")}


@pytest.mark.slow
@pytest.mark.parametrize("called", HOW["alone"])
def test_it_runs_alone(
    called: str,
    files: dict[str, str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOLDFAST_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    result = HOW["alone"][called]
    words = result.get("words", "")
    for way in [words] if isinstance(words, str) else words:
        code = run([*called.split(), *way.format(**files).split()])
        output = capfd.readouterr().err
        assert code in result.get("codes", [0]) and "Traceback" not in output, output
