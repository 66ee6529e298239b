"""Runs inside the booted root, with only its Python: installs both roles, waits for them, writes the result.

python3 units_inside.py CLONE RESULT
"""

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ANSWERS = {"agent": "http://127.0.0.1:9476/metrics", "controller": "http://127.0.0.1:9477/healthz"}
WAIT_SECONDS = 90.0
STARTED = time.monotonic()
SHOWN = ("ActiveState", "SubState", "NRestarts", "ExecMainStatus", "Result", "UnitFileState")


def say(text: str) -> None:
    for line in text.splitlines():
        print(f"inside: {time.monotonic() - STARTED:5.1f} s  {line}", flush=True)


def output(*command: str) -> tuple[int, str]:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def answers(url: str) -> bool:
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    return False


def look(role: str, clone: str) -> dict[str, object]:
    unit = f"holdfast-{role}.service"
    code, text = output(f"{clone}/deploy/install", role)
    say(text)
    began = time.monotonic()
    answered = code == 0 and answers(ANSWERS[role])
    seconds = round(time.monotonic() - began, 1)
    _, shown = output("systemctl", "show", unit, *(f"--property={name}" for name in SHOWN))
    state = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
    _, again = output(f"{clone}/deploy/install", role)
    say(output("systemctl", "status", "--no-pager", "--lines=0", unit)[1])
    say(output("journalctl", "--no-pager", "--output=short-iso", "--lines=15", f"--unit={unit}")[1])
    score = re.search(r"([\d.]+) (\w+)", output("systemd-analyze", "security", "--no-pager", unit)[1].splitlines()[-1])
    exposure = " ".join(score.groups()) if score else "unknown"
    say(f"{unit}: {state}; answers {answered} after {seconds} s; exposure {exposure}")
    good = answered and state.get("ActiveState") == "active" and state.get("NRestarts") == "0"
    return {
        "ok": good and "everything is as it should be" in again,
        "install_exit": code,
        "answers_after_seconds": seconds if answered else None,
        **{name: state.get(name, "") for name in SHOWN},
        "second_install_changes_nothing": "everything is as it should be" in again,
        "exposure": exposure,
    }


def main() -> None:
    clone, result = sys.argv[1:]
    roles = {role: look(role, clone) for role in ("agent", "controller")}
    code, gate = output("/usr/local/bin/holdfast", "gate", "--max-age", "300")
    say(f"gate: exit {code}: {gate}")
    seen = {
        "ok": all(role["ok"] for role in roles.values()),
        "systemd": output("systemctl", "--version")[1].split()[1],
    }
    Path(result).write_text(json.dumps({**seen, **roles, "gate_exit": code}) + "\n")


if __name__ == "__main__":
    main()
