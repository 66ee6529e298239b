"""The full suite as a process of its own: `python -m holdfast.node.agent.suite SETTINGS`, the settings as JSON.

Apart from the agent, because a suite that hangs in a driver call must be ended without ending the agent.
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
    suite: str = ""  # what ran
    fingerprints: tuple[Fingerprint, ...] = ()


def run(settings: Settings) -> SuiteResult:
    node = check_node(settings, "bootstrap")
    cause, _, reason = node.reason().partition(": ")
    if node.health is Health.PASS:
        cause, reason = "", coverage(node.verdicts.values())
    return SuiteResult(node.health, cause, reason, settings.agent.suite, tuple(fingerprints(node)))


def fingerprints(node: Node) -> Iterator[Fingerprint]:
    """What devices got from fixed numbers, for the fleet to compare. One that is not of one mind has none."""
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
    return f"{asked}; not asked: {', '.join(out)}" if out else asked


def _end_with_agent() -> None:
    """A suite ends with its agent: its result has no reader, and the node is needed for others."""
    agent = os.getppid()
    while os.getppid() == agent:
        time.sleep(POLL_SECONDS)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    threading.Thread(target=_end_with_agent, daemon=True).start()
    sys.stdout.buffer.write(msgspec.json.encode(run(codec.decode(sys.argv[1], Settings))))
    sys.stdout.flush()
