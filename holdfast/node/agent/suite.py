"""The full suite as a separate process: `python -m holdfast.node.agent.suite SETTINGS`, with the settings as JSON. A
suite that hangs in a driver call can then be killed without the agent.
"""

import os
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterator

import msgspec

from holdfast.model.health import Health
from holdfast.model.settings import Settings
from holdfast.model.signal import Value
from holdfast.model.subject import Subject
from holdfast.model.verdict import Verdict
from holdfast.model.wire.probe import Fingerprint
from holdfast.model.wire.report import LONGEST_NAME
from holdfast.node.agent.node import Node
from holdfast.node.agent.once import check_node
from holdfast.node.checks.probe.fingerprint import DIGEST, KEY, UNSTABLE
from holdfast.runtime import codec

POLL_SECONDS = 0.5


class SuiteResult(msgspec.Struct, frozen=True):
    health: Health
    cause: str  # the check that decided
    reason: str
    suite: str = ""  # name of the suite that ran
    fingerprints: tuple[Fingerprint, ...] = ()
    repair: str = ""


def run(settings: Settings) -> SuiteResult:
    node = check_node(settings, "bootstrap")
    cause, _, reason = node.reason().partition(": ")
    if node.health is Health.PASS:
        cause, reason = "", coverage(node.verdicts.values())
    decided = node.verdicts.get(cause)
    repair = decided.repair if decided is not None else ""
    return SuiteResult(node.health, cause, reason, settings.agent.suite, tuple(fingerprints(node)), repair)


def fingerprints(node: Node) -> Iterator[Fingerprint]:
    """Fingerprints of the devices, for comparison across the fleet. A device with differing results has none."""
    facts: dict[Subject, dict[str, Value]] = defaultdict(dict)
    for subject, name, value, _ in node.history.latest():
        facts[subject][name] = value
    for subject, reported in facts.items():
        if DIGEST in reported and KEY in reported and not reported.get(UNSTABLE):
            yield Fingerprint(subject, str(reported[KEY])[:LONGEST_NAME], str(reported[DIGEST])[:LONGEST_NAME])


def coverage(verdicts: Collection[Verdict]) -> str:
    """A pass names the checks that did not run, so that the history shows how full the full suite was."""
    out = [f"{verdict.check} ({verdict.reason})" for verdict in verdicts if verdict.disabled]
    asked = f"{len(verdicts) - len(out)} checks"
    return f"{asked}; not run: {', '.join(out)}" if out else asked


def _end_with_agent() -> None:
    """End with the agent: no process would read the result, and jobs need the node."""
    agent = os.getppid()
    while os.getppid() == agent:
        time.sleep(POLL_SECONDS)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    threading.Thread(target=_end_with_agent, daemon=True).start()
    sys.stdout.buffer.write(msgspec.json.encode(run(codec.decode(sys.argv[1], Settings))))
    sys.stdout.flush()
