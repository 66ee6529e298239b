"""A simulated InfiniBand subnet (ibsim) with a real subnet manager (opensm), asked by the real infiniband-diags."""

import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.waiting import until

PRELOAD = Path("/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so")
TOOLS = ("ibnetdiscover", "ibqueryerrors", "perfquery", "dump_fts", "ibroute", "opensm")
needs_ibsim = pytest.mark.skipif(
    not (shutil.which("ibsim") and PRELOAD.exists() and all(map(shutil.which, TOOLS))),
    reason="ibsim, opensm or infiniband-diags is not installed",
)

Cable = tuple[str, int, str, int]
SMALL = [  # two leaves, two spines, two hosts behind each leaf, one cable from each leaf to each spine
    ("east", 1, "h1", 1),
    ("east", 2, "h2", 1),
    ("west", 1, "h3", 1),
    ("west", 2, "h4", 1),
    ("east", 9, "spine1", 1),
    ("east", 10, "spine2", 1),
    ("west", 9, "spine1", 2),
    ("west", 10, "spine2", 2),
]


@dataclass(frozen=True)
class Subnet:
    folder: Path
    console: int
    environment: dict[str, str]

    def command(self, words: str) -> None:
        os.write(self.console, f"{words}\n".encode())

    def ask(self, *words: str) -> str:
        done = subprocess.run(words, env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=60)
        return done.stdout


@contextmanager
def subnet(folder: Path, cables: Sequence[Cable] = SMALL) -> Iterator[Subnet]:
    """`environment` finds the tools of this subnet first; nothing else of the machine is changed."""
    (folder / "net").write_text(netlist(cables))
    environment = wrapped(folder, next(host for _, _, host, _ in cables if host.startswith("h")))
    reading, console = os.pipe()
    running = []
    try:
        with (folder / "ibsim.log").open("wb") as log:
            running.append(
                subprocess.Popen(
                    ["ibsim", "-s", "net"], stdin=reading, stdout=log, stderr=log, cwd=folder, env=environment
                )
            )
            until(lambda: "sim>" in (folder / "ibsim.log").read_text(), "ibsim did not start")
            running.append(
                subprocess.Popen(
                    [folder / "bin/opensm", "-f", folder / "opensm.log"],
                    env=environment,
                    cwd=folder,  # the simulated sysfs of each process is made where it runs
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            )
        made = Subnet(folder, console, environment)
        until(lambda: assigned(made.ask("ibnetdiscover", "-p")), "opensm gave no LIDs")
        until(lambda: routed(made.ask("dump_fts"), len(kinds_of(cables))), "opensm set no routes")
        yield made
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()
        os.close(reading)
        os.close(console)


def netlist(cables: Sequence[Cable]) -> str:
    """Both ends list each cable, or ibsim refuses it."""
    ports: dict[str, list[str]] = {}
    for one, port, other, far in cables:
        ports.setdefault(one, []).append(f'[{port}] "{other}"[{far}]')
        ports.setdefault(other, []).append(f'[{far}] "{one}"[{port}]')
    kinds = kinds_of(cables)
    return "".join(f'{kinds[name]} "{name}"\n' + "\n".join(lines) + "\n\n" for name, lines in ports.items())


def kinds_of(cables: Sequence[Cable]) -> dict[str, str]:
    names = dict.fromkeys(name for one, _, other, _ in cables for name in (one, other))
    return {name: "Hca 1" if name.startswith("h") else "Switch 12" for name in names}


def wrapped(folder: Path, host: str) -> dict[str, str]:
    """The tools talk to this subnet; other programs are not preloaded with anything."""
    name = f"holdfast-{uuid.uuid4().hex[:8]}"
    (folder / "bin").mkdir()
    for tool in TOOLS:
        script = folder / "bin" / tool
        words = f"LD_PRELOAD={PRELOAD} SIM_HOST={host} exec {shutil.which(tool)}"
        script.write_text(f'#!/bin/sh\nexport IBSIM_SOCKNAME={name}\n{words} "$@"\n')
        script.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "IBSIM_SOCKNAME": name}


def assigned(ports: str) -> bool:
    lids = [int(line.split()[1]) for line in ports.splitlines() if line[:2] in ("SW", "CA")]
    return bool(lids) and all(lids)


def routed(tables: str, nodes: int) -> bool:
    """Every table leads to everybody."""
    reported = [line for line in tables.splitlines() if line.endswith("valid lids dumped ")]
    return bool(reported) and all(int(line.split()[0]) == nodes for line in reported)
