"""README's two commands on a fresh machine: the demo with its page, and the tests."""

import json
import re
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fresh_machine.machine import Machine, log
from fresh_machine.root import CLONE

DEMO_SECONDS = 90
LISTENS = re.compile(r"listens on (http://\S+)")
ENDED = re.compile(r"\d+ (?:passed|failed|skipped|error).* in [\d.]+s")
COUNTS = re.compile(r"(\d+) (passed|failed|skipped|errors?|rerun|xfailed)\b")
SKIPPED = re.compile(r"SKIPPED \[(\d+)\] (\S+?):(?:\d+:)? (.*)")
FAILED = re.compile(r"(?:FAILED|ERROR) (tests/\S+)")
HEADING = re.compile(r"_{3,} (?:ERROR at \w+ of )?(test_.+) _{3,}$")  # an interrupted run has no list
TROUBLE = re.compile(r"^(make.*\*\*\*|E: |ERROR)")
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass
class Page:
    """Looks at the demo from outside while it runs: the page, and the fleet in the API."""

    seen: dict[str, Any] = field(default_factory=dict)
    _look: threading.Thread | None = None

    def feed(self, line: str) -> None:
        if (found := LISTENS.search(line)) and self._look is None:
            self._look = threading.Thread(target=self._ask, args=(found[1],), daemon=True)
            self._look.start()

    def _ask(self, address: str) -> None:
        self.seen["page"] = 'id="console"' in _until(address + "/", lambda text: 'id="console"' in text)
        nodes = _until(address + "/v1/nodes", lambda text: _count(text) > 0)
        self.seen["nodes"] = _count(nodes)


def _until(url: str, fits: Any, seconds: float = 60.0) -> str:
    """The last answer within the time, whether it fits or not."""
    text, end = "", time.monotonic() + seconds
    while time.monotonic() < end and not fits(text):
        try:
            with DIRECT.open(url, timeout=10) as answer:
                text = answer.read().decode(errors="replace")
        except (urllib.error.URLError, OSError) as error:
            text = f"{error}"
        time.sleep(0.5)
    return text


def _count(text: str) -> int:
    try:
        answer = json.loads(text)
    except ValueError:
        return 0
    return len(answer.get("nodes", [])) if isinstance(answer, dict) else len(answer)


def _shown(line: str) -> bool:
    """All but pip's word, for every package, that a local index does not have it."""
    return not line.startswith("WARNING: Location")


def demo(machine: Machine, work: Path) -> dict[str, Any]:
    page, began, listening = Page(), time.monotonic(), [0.0]
    with log(work / "demo.log", "demo", _shown) as on_line:

        def output(line: str) -> None:
            on_line(line)
            page.feed(line)
            if LISTENS.search(line):
                listening[0] = time.monotonic() - began

        code = machine.run(f"cd {CLONE} && make demo SECONDS={DEMO_SECONDS}", output, timeout=1800)
    result = {
        "exit": code,
        "seconds": round(time.monotonic() - began, 1),
        "listens_after_seconds": round(listening[0], 1),
    }
    result |= {"page": bool(page.seen.get("page")), "nodes": page.seen.get("nodes", 0)}
    return {"ok": code == 0 and result["page"] and result["nodes"] > 0, **result}


@dataclass
class Tests:
    """What pytest's lines say, over all the runs of one make."""

    counts: Counter[str] = field(default_factory=Counter)
    runs: list[str] = field(default_factory=list)  # pytest's last line of each run: quick tests, then slow ones
    skipped: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)

    def feed(self, line: str) -> None:
        if ENDED.search(line):
            self.runs.append(line.strip("= "))
            for number, what in COUNTS.findall(line):
                self.counts[what.removesuffix("s") if what == "errors" else what] += int(number)
        elif found := SKIPPED.match(line):
            self.skipped[found[3]] += int(found[1])
        elif found := FAILED.match(line):
            self.failed.append(found[1])
        elif found := HEADING.match(line):
            self.headings.append(found[1])
        if TROUBLE.match(line):
            self.trouble.append(line[:200])

    def result(self) -> dict[str, Any]:
        wanted = ("passed", "failed", "error", "skipped", "rerun")
        return {
            **{what: self.counts[what] for what in wanted},
            "runs": self.runs,
            "skipped_because": dict(self.skipped.most_common()),
            "failures": (self.failed or self.headings)[:50],
            "trouble": self.trouble[:10],
        }


def tests(machine: Machine, work: Path, target: str) -> dict[str, Any]:
    output, began = Tests(), time.monotonic()
    with log(work / "test.log", target, _shown) as on_line:

        def both(line: str) -> None:
            on_line(line)
            output.feed(line)

        code = machine.run(f"cd {CLONE} && make {target}", both, timeout=3 * 3600, CI="true", PYTEST_ADDOPTS="-rfEs")
    result = output.result()
    good = code == 0 and result["passed"] > 0 and result["failed"] + result["error"] == 0
    return {
        "ok": good,
        "command": f"make {target}",
        "exit": code,
        "seconds": round(time.monotonic() - began, 1),
        **result,
    }
