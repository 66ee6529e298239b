"""One name that apt does not know costs that package and no other, and CI is told."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "system-packages"
NAMES = re.findall(r'^PACKAGES="([^"]*)"$', SCRIPT.read_text(), re.MULTILINE)[0].split()
TOOLS = ("sh", "mktemp", "tail", "rm", "chmod", "cat")
# As the real ones: an unknown name spoils the whole call, and what was installed is written down.
APT_GET = """#!/bin/sh
echo "$*" >> {home}/calls
[ "$1" = install ] || exit 0
shift; names=""
while [ $# -gt 0 ]; do
    case "$1" in -o) shift ;; -*) ;; *) names="$names $1" ;; esac
    shift
done
for name in $names; do
    [ "$name" != {unknown} ] || {{ echo "E: Unable to locate package $name"; exit 100; }}
done
for name in $names; do echo "$name" >> {home}/installed; done
"""
DPKG_QUERY = """#!/bin/sh
for last; do :; done
while read -r name; do [ "$name" != "$last" ] || echo "install ok installed"; done < {home}/installed
"""


class Machine:
    """A PATH with an apt of its own."""

    def __init__(self, home: Path, unknown: str = "nothing", user: int = 0, apt: bool = True) -> None:
        self.home, self.bin = home, home / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(str(shutil.which(tool)))
        (home / "installed").touch()
        (home / "calls").touch()
        self.program("id", f"#!/bin/sh\necho {user}\n")
        if apt:
            self.program("apt-get", APT_GET.format(home=home, unknown=unknown))
            self.program("dpkg-query", DPKG_QUERY.format(home=home))

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def run(self, ci: str) -> subprocess.CompletedProcess[str]:
        environ = {"PATH": str(self.bin), "CI": ci, "HOLDFAST_POLICY_RC_D": str(self.home / "policy-rc.d")}
        return subprocess.run([SCRIPT], env=environ, capture_output=True, text=True, timeout=60, check=False)

    @property
    def installed(self) -> list[str]:
        return (self.home / "installed").read_text().split()


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
@pytest.mark.parametrize("unknown", [NAMES[0], "ibsim-utils", NAMES[-1]])
def test_a_name_that_apt_does_not_know_is_reported_and_the_others_are_installed(
    tmp_path: Path, unknown: str, ci: str, status: int
) -> None:
    machine = Machine(tmp_path, unknown)
    done = machine.run(ci)
    assert sorted(machine.installed) == sorted(set(NAMES) - {unknown})
    assert done.returncode == status, done.stdout
    assert (done.stdout + done.stderr).splitlines()[-1].split(": ")[-1].split() == [unknown]
    assert "could not install " + unknown in done.stdout
    assert not (tmp_path / "policy-rc.d").exists()


@pytest.mark.parametrize("ci", ["true", ""])
def test_what_is_missing_is_installed_in_one_call_and_only_once(tmp_path: Path, ci: str) -> None:
    machine = Machine(tmp_path)
    (tmp_path / "installed").write_text(f"{NAMES[0]}\n")
    assert machine.run(ci).returncode == 0
    assert sorted(machine.installed) == sorted(NAMES)
    assert (tmp_path / "calls").read_text().count("\n") == 1
    again = machine.run(ci)
    assert (again.returncode, again.stdout) == (0, "system-packages: nothing to install\n")
    assert (tmp_path / "calls").read_text().count("\n") == 1


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
@pytest.mark.parametrize("cannot", [{"user": 1000}, {"apt": False}], ids=["not root", "no apt"])
def test_who_cannot_install_is_reported_what_is_missing(
    tmp_path: Path, cannot: dict[str, int], ci: str, status: int
) -> None:
    done = Machine(tmp_path, **cannot).run(ci)
    assert done.returncode == status
    assert (done.stdout + done.stderr).strip().split(": ")[-1].split() == NAMES
    assert (tmp_path / "calls").read_text() == ""


def test_debian_has_every_package_of_the_list() -> None:
    if shutil.which("apt-cache") is None:
        pytest.skip("apt-cache is not here, so nobody knows the names")
    output = subprocess.run(["apt-cache", "policy", *NAMES], capture_output=True, text=True, check=True).stdout
    candidates = dict(re.findall(r"^(\S+):\n  Installed: .*\n  Candidate: (.*)$", output, re.MULTILINE))
    if not re.search(r"^ +\d+ (?!/var/lib/dpkg/status)\S+", output, re.MULTILINE):
        pytest.skip("apt has no package lists here: apt-get update")
    assert [name for name in NAMES if candidates.get(name, "(none)") == "(none)"] == []


def test_the_script_is_a_program() -> None:
    assert os.access(SCRIPT, os.X_OK)
