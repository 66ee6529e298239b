"""An unknown package name: CI fails and names it, and all other packages are installed."""

import time
from pathlib import Path
from typing import Any

from fresh_machine.machine import Machine, log
from fresh_machine.root import CLONE

KNOWN, UNKNOWN = "ripgrep", "no-such-package-of-debian"
INSTALL = f"cd {CLONE} && sed -i 's/ {KNOWN} / {UNKNOWN} /' scripts/system-packages && CI=true make system"
COUNT = (
    f"cd {CLONE}; for one in $(sed -n 's/^PACKAGES=\"\\(.*\\)\"$/\\1/p' scripts/system-packages); do "
    "dpkg-query -W -f='${Status} ${Package}\\n' $one 2>/dev/null || echo missing $one; done"
)


def unknown_name(machine: Machine, work: Path) -> dict[str, Any]:
    began = time.monotonic()
    installing: list[str] = []
    listed: list[str] = []
    with log(work / "packages.log", "packages") as on_line:

        def read(line: str) -> None:
            on_line(line)
            installing.append(line)

        code = machine.run(INSTALL, read, timeout=1800)
        machine.run(COUNT, listed.append, timeout=60)
    missing = [line.split()[-1] for line in listed if not line.startswith("install ok installed")]
    named = [line for line in installing if "CI=true needs all of them" in line]
    return {
        "ok": code != 0 and missing == [UNKNOWN] and len(named) == 1 and UNKNOWN in named[0],
        "exit": code,
        "seconds": round(time.monotonic() - began, 1),
        "installed": len(listed) - len(missing),
        "missing": missing,
        "last_line": named[-1] if named else "",
    }
