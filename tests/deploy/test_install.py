"""deploy/install in a scratch root: says what it would do, does it once, takes it away again."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from holdfast.model import settings
from holdfast.node import checks

ROOT = Path(__file__).resolve().parents[2]
INSTALL = ROOT / "deploy" / "install"
HOLDFAST = Path(sys.executable).with_name("holdfast")
UNITS = "etc/systemd/system"


def install(root: Path, *arguments: str, holdfast: bool = True) -> "subprocess.CompletedProcess[str]":
    command = [str(INSTALL), *arguments, "--root", str(root), *(["--holdfast", str(HOLDFAST)] if holdfast else [])]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def tree(root: Path) -> dict[str, tuple[int, bytes | str]]:
    """Everything below it: mode and content, or where a link leads."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            found[str(path.relative_to(root))] = (0, os.readlink(path))
        elif path.is_file():
            found[str(path.relative_to(root))] = (path.stat().st_mode & 0o777, path.read_bytes())
    return found


AGENT = ("agent", "--url", "https://holdfast.example:9477", "--slurm")


def test_a_dry_run_says_every_step_and_does_none(tmp_path: Path) -> None:
    output = install(tmp_path, *AGENT, "--dry-run")
    assert output.returncode == 0 and list(tmp_path.iterdir()) == []
    would = {line.partition("would ")[2] for line in output.stdout.splitlines() if "would " in line}
    done = install(tmp_path, *AGENT)
    assert done.returncode == 0, done.stderr
    did = {line.partition("install: ")[2] for line in done.stdout.splitlines()}
    assert would and would <= did


def test_an_agent_is_installed_once_and_its_configuration_is_one_that_it_takes(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret\n")
    root = tmp_path / "root"
    root.mkdir()
    arguments = (*AGENT, "--join-token-file", str(token))
    assert install(root, *arguments).returncode == 0
    before = tree(root)
    assert before["usr/local/bin/holdfast"] == (0, str(HOLDFAST))
    assert before[f"{UNITS}/holdfast-agent.service"][0] == 0o644
    assert before["etc/holdfast/join.token"] == (0o600, b"secret\n")
    assert before["etc/slurm/holdfast/prolog.sh"][0] == 0o755
    text = (root / "etc/holdfast/holdfast.toml").read_text()
    output = settings.parse(text, "holdfast.toml", {check.name: check.limits for check in checks.ALL})
    assert output.controller.url == "https://holdfast.example:9477"
    assert output.controller.join_token_file == "/etc/holdfast/join.token"
    again = install(root, *arguments)
    assert "everything is as it should be" in again.stdout
    assert tree(root) == before


def test_a_configuration_is_kept_and_a_changed_unit_repaired(tmp_path: Path) -> None:
    install(tmp_path, "controller")
    config, unit = tmp_path / "etc/holdfast/controller.toml", tmp_path / UNITS / "holdfast-controller.service"
    config.write_text("store = 'postgresql+psycopg://h@db/h'\n")
    unit.write_text("[Service]\n")
    output = install(tmp_path, "controller").stdout
    assert "write /etc/systemd/system/holdfast-controller.service" in output and "controller.toml" not in output
    assert config.read_text().startswith("store = 'postgresql") and "ExecStart" in unit.read_text()


def test_the_controllers_configuration_is_one_that_it_takes(tmp_path: Path) -> None:
    controller = pytest.importorskip("holdfast.fleet.controller.settings", reason="needs the extra [controller]")
    install(tmp_path, "controller")
    made = controller.parse((tmp_path / "etc/holdfast/controller.toml").read_text(), "controller.toml")
    assert made.base.store.startswith("sqlite:////var/lib/holdfast-controller/")
    assert tomllib.loads((tmp_path / "etc/holdfast/policy.toml").read_text()) == {"dry_run": True}


def test_one_is_taken_away_and_the_other_stays(tmp_path: Path) -> None:
    install(tmp_path, *AGENT)
    install(tmp_path, "controller")
    assert install(tmp_path, "agent", "--uninstall").returncode == 0
    left = tree(tmp_path)
    assert f"{UNITS}/holdfast-agent.service" not in left and f"{UNITS}/holdfast-controller.service" in left
    assert "usr/local/bin/holdfast" in left and "etc/tmpfiles.d/holdfast-controller.conf" in left
    assert install(tmp_path, "controller", "--uninstall").returncode == 0
    left = tree(tmp_path)
    assert {Path(path).parent.as_posix() for path in left} == {"etc/holdfast", "etc/slurm/holdfast"}
    assert "nothing of the controller is here" in install(tmp_path, "controller", "--uninstall").stdout


@pytest.mark.skipif(shutil.which("systemctl") is None, reason="no systemctl here")
def test_the_units_are_enabled(tmp_path: Path) -> None:
    install(tmp_path, "controller")
    assert (tmp_path / UNITS / "multi-user.target.wants" / "holdfast-controller.service").is_symlink()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("agent", "controller"), "expected one of agent and controller"),
        (("agent", "--url", "ftp://x"), "expected an http or https address, found 'ftp://x'"),
        (("agent", "--url", 'http://x"'), "expected an address without quotes"),
        (("agent", "--url"), "--url: expected a value"),
        (("agent", "--join-token-file", "/no/such"), "/no/such cannot be read"),
        (("controller", "--slurm"), "for the agent"),
        (("controller", "--torch"), "for the agent"),
        (("agent", "--torch", "--holdfast", "/bin/true"), "--torch is for an environment of our own"),
        (("server",), "found 'server'"),
    ],
)
def test_a_mistake_is_refused_in_a_sentence(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = subprocess.run(
        [str(INSTALL), "--root", str(tmp_path), *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 64 and sentence in done.stderr and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("role", ["agent", "controller"])
def test_systemd_takes_the_units(tmp_path: Path, role: str) -> None:
    install(tmp_path, role)
    unit = tmp_path / UNITS / f"holdfast-{role}.service"
    unit.write_text(unit.read_text().replace("/usr/local/bin/holdfast", str(HOLDFAST)))
    output = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    ours = [line for line in output.stderr.splitlines() if unit.name in line]
    assert output.returncode == 0 and ours == [], output.stderr


@pytest.mark.skipif(shutil.which("systemd-sysusers") is None, reason="systemd-sysusers is not installed")
def test_the_user_is_made(tmp_path: Path) -> None:
    install(tmp_path, "controller")
    rules = tmp_path / "etc/sysusers.d/holdfast.conf"
    output = subprocess.run(["systemd-sysusers", f"--root={tmp_path}", str(rules)], capture_output=True, text=True)
    if "Operation not permitted" in output.stderr:
        pytest.skip(output.stderr.strip())
    assert "holdfast:" in (tmp_path / "etc/passwd").read_text(), output.stderr


@pytest.mark.skipif(shutil.which("systemd-tmpfiles") is None, reason="systemd-tmpfiles is not installed")
def test_a_node_without_the_controllers_user_gets_its_directories(tmp_path: Path) -> None:
    install(tmp_path, "agent")
    (tmp_path / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (tmp_path / "etc/group").write_text("root:x:0:\n")
    rules = sorted(str(path) for path in (tmp_path / "etc/tmpfiles.d").iterdir())
    output = subprocess.run(
        ["systemd-tmpfiles", "--create", f"--root={tmp_path}", *rules], capture_output=True, text=True, check=False
    )
    if "Operation not permitted" in output.stderr:
        pytest.skip(output.stderr.strip())
    assert output.returncode == 0 and (tmp_path / "run/holdfast").is_dir(), output.stderr


def test_the_agents_rules_name_no_one_but_root(tmp_path: Path) -> None:
    install(tmp_path, "agent")
    rules = [path.read_text() for path in (tmp_path / "etc/tmpfiles.d").iterdir()]
    lines = [line.split() for line in "\n".join(rules).splitlines() if not line.startswith("#")]
    assert lines and {name for words in lines for name in words[3:5]} == {"root"}


def test_a_url_that_a_kept_configuration_does_not_name_is_reported(tmp_path: Path) -> None:
    assert install(tmp_path, "agent").stderr == ""
    output = install(tmp_path, *AGENT)
    assert output.returncode == 0 and output.stderr.count("\n") == 1
    assert 'put url = "https://holdfast.example:9477" and join_token_file' in output.stderr
    with (tmp_path / "etc/holdfast/holdfast.toml").open("a") as config:
        config.write('[controller]\nurl = "https://holdfast.example:9477"\n')
    assert install(tmp_path, *AGENT).stderr == ""


def test_a_clone_without_its_page_is_reported(tmp_path: Path) -> None:
    clone, root = tmp_path / "clone", tmp_path / "root"
    (clone / "console").mkdir(parents=True)
    root.mkdir()
    arguments = ("controller", "--dry-run", "--from", str(clone), "--python", str(python_of(tmp_path, ANYONES)))
    output = install(root, *arguments, holdfast=False)
    assert output.returncode == 0 and "make console" in output.stderr and output.stderr.count("\n") == 1
    page = clone / "holdfast/fleet/console/static/index.html"
    page.parent.mkdir(parents=True)
    page.touch()
    assert install(root, *arguments, holdfast=False).stderr == ""


ANYONES = os.path.realpath("/bin/sh")  # a program that everybody may execute; what it does is not asked
ANOTHER = os.path.realpath("/bin/cat")


def python_of(folder: Path, base: str) -> Path:
    """A Python that says what its interpreter is, as the scripts of version managers lead to one."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "python"
    path.write_text(f"#!/bin/sh\necho {base}\n")
    path.chmod(0o755)
    return path


def test_a_python_that_the_units_cannot_execute_is_refused(tmp_path: Path) -> None:
    root, private = tmp_path / "root", tmp_path / "private"
    root.mkdir()
    private.mkdir(mode=0o700)
    hidden = python_of(private, "")
    for base, reason in (
        ("/home/ada/.pyenv/versions/3.12/bin/python3.12", "home directory, which ProtectHome= hides"),
        ("/root/.pyenv/versions/3.12/bin/python3.12", "home directory, which ProtectHome= hides"),
        (str(hidden), f"other users than its owner may not enter or execute {private}"),
    ):
        output = install(root, "agent", "--python", str(python_of(tmp_path, base)), holdfast=False)
        assert output.returncode == 64 and base in output.stderr and reason in output.stderr, output.stderr
    assert list(root.iterdir()) == []


SYSTEM_PYTHON = os.path.realpath("/usr/bin/python3")
OLD = "import sys, ensurepip; sys.exit(sys.version_info < (3, 11))"


@pytest.mark.skipif(
    not Path(SYSTEM_PYTHON).exists() or subprocess.run([SYSTEM_PYTHON, "-c", OLD], capture_output=True).returncode != 0,
    reason="the system has no Python 3.11 with venv",
)
def test_the_systems_python_is_taken_where_the_default_is_in_a_home_directory(tmp_path: Path) -> None:
    python_of(tmp_path / "bin", "/home/ada/bin/python3.12").rename(tmp_path / "bin" / "python3")
    command = [str(INSTALL), "agent", "--dry-run", "--root", str(tmp_path)]
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    output = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert "cannot execute /home/ada/bin/python3.12: it lies in a home directory" in output.stderr
    assert f"{SYSTEM_PYTHON} is taken" in output.stderr and output.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("base", "wanted", "anew"),
    [
        (ANYONES, None, False),  # it works: another default is no reason
        (ANYONES, ANYONES, False),
        (ANYONES, ANOTHER, True),
        ("/home/ada/bin/python3.12", ANOTHER, True),
    ],
)
def test_an_environment_of_another_python_is_made_anew(
    tmp_path: Path, base: str, wanted: str | None, anew: bool
) -> None:
    root, source = tmp_path / "root", tmp_path / "source"
    source.mkdir()
    python_of(root / "opt/holdfast/bin", base)
    (root / "opt/holdfast/pyvenv.cfg").touch()
    for role in ("agent", "controller"):
        (root / f"opt/holdfast/.installed-{role}").write_text(f"{role} {source} \n")
    named = [] if wanted is None else ["--python", str(python_of(tmp_path, wanted))]
    output = install(root, "agent", "--dry-run", "--from", str(source), *named, holdfast=False)
    assert output.returncode == 0, output.stderr
    assert (f"anew with {wanted} instead of {base}" in output.stdout) == anew
    # The controller lives in the same environment, and the fake has every module that it is asked for: torch too.
    assert (f"would install {source}[controller,training] into it" in output.stdout) == anew


def test_torch_is_a_choice_that_is_reported(tmp_path: Path) -> None:
    without = install(tmp_path, "agent", "--dry-run", holdfast=False).stdout
    assert "without torch the full suite has no active part; --torch adds it" in without
    output = install(tmp_path, "agent", "--torch", "--dry-run", holdfast=False).stdout
    assert f"would install {ROOT}[training] into it" in output and "computes nothing" not in output


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_the_whole_environment_below_a_root_runs_where_it_will_be(tmp_path: Path) -> None:
    done = install(tmp_path, "agent", holdfast=False)
    assert done.returncode == 0, done.stdout + done.stderr
    program = tmp_path / "opt/holdfast/bin/holdfast"
    assert program.read_text().startswith("#!/opt/holdfast/bin/python")
    output = subprocess.run(
        [tmp_path / "opt/holdfast/bin/python", program, "--version"], capture_output=True, text=True, check=False
    )
    assert output.stdout.startswith("holdfast "), output.stderr
    assert "everything is as it should be" in install(tmp_path, "agent", holdfast=False).stdout
