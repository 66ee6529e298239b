"""The fresh machine itself: Debian 12's smallest root, README's prerequisites, this machine's clients, a clone."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from fresh_machine import clients
from fresh_machine.machine import Machine, StepFailed, remove, say, works

SUITE = "bookworm"
SUITES = (SUITE, f"{SUITE}-updates", f"{SUITE}-security")
CLONE = "/root/src/holdfast"
DATA = "/root/src/shared/data"
PREREQUISITES = re.compile(r"apt-get install ([a-z0-9][a-z0-9 .+-]+)")


@dataclass(frozen=True, slots=True)
class Source:
    """The commit that is tried, and the captures that lie beside its checkout."""

    checkout: Path
    commit: str

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.checkout), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def file(self, path: str) -> str:
        return self.git("show", f"{self.commit}:{path}")

    def data(self) -> Path | None:
        """`../shared/data` beside this checkout, or beside the one that this is a worktree of."""
        main = Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir")).parent
        places = (checkout.parent / "shared" / "data" for checkout in (self.checkout, main))
        return next((place for place in places if place.is_dir()), None)

    def prerequisites(self) -> list[str]:
        """What README tells a newcomer to install, and nothing else."""
        found = PREREQUISITES.search(self.file("README.md"))
        if found is None:
            raise StepFailed("README.md names no prerequisites (`apt-get install ...`)")
        return found[1].split()


def build(work: Path, source: Source) -> Machine:
    """The base that every step copies. One that is there and fits is used again."""
    tree, ready = work / "base", work / "base.ready"
    settings = clients.read(SUITES)
    wanted = f"{SUITE} {' '.join(source.prerequisites())}\n{settings.sources}{settings.pip}"
    if not ready.exists() or ready.read_text() != wanted:
        if tree.exists():
            remove(tree)
        _bootstrap(tree, work, settings, source.prerequisites())
        settings.write(tree)
        # An installer normally writes these two files; the tools that build a root do not.
        (tree / "etc/hostname").write_text("fresh\n")
        (tree / "etc/hosts").write_text("127.0.0.1 localhost\n127.0.1.1 fresh\n::1 localhost ip6-localhost\n")
        subprocess.run(["chroot", str(tree), "update-ca-certificates"], check=True, capture_output=True)
        ready.write_text(wanted)
    bound = {str(folder): str(folder) for folder in settings.folders}
    return Machine(tree, dict(settings.environment), bound, works(tree))


def _bootstrap(tree: Path, work: Path, settings: clients.Clients, packages: list[str]) -> None:
    listed, options = work / "sources.list", work / "apt.conf"
    listed.write_text(settings.sources)
    options.write_text(settings.apt)
    if shutil.which("mmdebstrap"):
        command = ["mmdebstrap", "--variant=minbase", f"--include={','.join(packages)}", f"--aptopt={options}"]
        _run([*command, SUITE, str(tree), str(listed)])
    elif shutil.which("debootstrap"):
        mirror = next(line.split()[1] for line in settings.sources.splitlines() if line.split()[2] == SUITE)
        _run(["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", SUITE, str(tree), mirror])
    else:
        raise StepFailed("neither mmdebstrap nor debootstrap is installed")


def _run(command: list[str]) -> None:
    say(f"root: {command[0]} builds a minimal Debian {SUITE}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise StepFailed(f"{command[0]} ended with {done.returncode}: {done.stderr[-1500:]}")


def clone(machine: Machine, source: Source) -> Machine:
    """The commit as a clone of its own, with the captures at the same place beside it."""
    bare = machine.tree / "srv" / "holdfast.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(bare)], check=True)
    source.git("push", "--quiet", str(bare), f"{source.commit}:refs/heads/main")
    subprocess.run(["chown", "-R", "0:0", str(bare)], check=True)
    machine.must(f"git clone --quiet /srv/holdfast.git {CLONE}", "git clone")
    data = source.data()
    bound = dict(machine.bound) if data is None else {**machine.bound, DATA: str(data)}
    return Machine(machine.tree, machine.environment, bound, machine.nspawn)
