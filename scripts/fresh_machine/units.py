"""The systemd units under a real systemd: the root boots with it on a private network and runs the test itself."""

import json
import shutil
import time
import tomllib
from pathlib import Path
from typing import Any

from fresh_machine.machine import Machine, StepFailed, log, quoted, say
from fresh_machine.root import CLONE, Source

INSIDE = Path(__file__).with_name("units_inside.py")
WHEELS = "/root/wheels"
# the container writes files, because its console may not be readable here
RESULT, SAID = "root/units.json", "root/units.log"
DRIVER = f"""
[Unit]
Description=Installs and looks at the units of Holdfast, then powers off
After=basic.target dbus.service

[Service]
Type=exec
# The network is private: pip uses wheels that were built before.
Environment=HOME=/root PIP_NO_INDEX=1 PIP_FIND_LINKS={WHEELS}
ExecStart=/usr/bin/python3 /root/units_inside.py {CLONE} /{RESULT}
ExecStopPost=/usr/bin/systemctl --no-block poweroff
StandardOutput=append:/{SAID}
StandardError=inherit

[Install]
WantedBy=multi-user.target
"""


def units(machine: Machine, source: Source, work: Path) -> dict[str, Any]:
    began = time.monotonic()
    say("units: a systemd for the root, and wheels of what the installer wants")
    machine.must(
        "apt-get update -q && apt-get install -q -y --no-install-recommends systemd systemd-sysv dbus", "apt-get"
    )
    requires = tomllib.loads(source.file("pyproject.toml"))["build-system"]["requires"]
    machine.must("python3 -m venv /tmp/wheels", "venv")
    for role in ("agent", "controller"):  # exactly the files that the installer requests, by their hashes
        locked = f"{CLONE}/deploy/locked/{role}.txt"
        fetch = quoted("/tmp/wheels/bin/pip", "download", "-q", "--require-hashes", "-d", WHEELS, "-r", locked)
        machine.must(fetch, f"pip download for the {role}")
    machine.must(quoted("/tmp/wheels/bin/pip", "wheel", "-q", "-w", WHEELS, *requires), "pip wheel")
    shutil.copy(INSIDE, machine.tree / "root" / INSIDE.name)
    (machine.tree / "etc/systemd/system/fresh-machine.service").write_text(DRIVER)
    machine.must("systemctl enable -q fresh-machine.service && systemctl set-default -q multi-user.target", "systemctl")
    if not machine.nspawn:
        raise StepFailed("the units need systemd-nspawn, which does not work here")
    say("units: booting")
    with log(work / "units.log", "units", lambda line: line.startswith("inside: ")) as on_line:
        code = machine.boot(on_line, timeout=900)
        for line in _text(machine.tree / SAID).splitlines():
            on_line(line)
    file = machine.tree / RESULT
    if not file.exists():
        raise StepFailed(f"systemd ended with {code} and left no result; see units.log")
    result: dict[str, Any] = json.loads(file.read_text())
    return {"ok": bool(result.pop("ok")), "seconds": round(time.monotonic() - began, 1), **result}


def _text(file: Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""
