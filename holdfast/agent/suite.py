"""The full suite as a process of its own: `python -m holdfast.agent.suite SETTINGS`, the settings as JSON.

Apart from the agent, because a suite that hangs in a driver call must be ended without ending the agent.
"""

import sys
from collections.abc import Collection

import msgspec

from holdfast.agent.once import look_at
from holdfast.model.health import Health
from holdfast.model.settings import Settings
from holdfast.model.verdict import Verdict


class Result(msgspec.Struct, frozen=True):
    health: Health
    cause: str  # the check that decided
    reason: str


def run(settings: Settings) -> Result:
    node = look_at(settings, "bootstrap")
    cause, _, reason = node.reason().partition(": ")
    if node.health is Health.PASS:
        return Result(Health.PASS, "", told(node.verdicts.values()))
    return Result(node.health, cause, reason)


def told(verdicts: Collection[Verdict]) -> str:
    """A pass names what it was not asked: whoever reads the story must see how full the full suite was."""
    out = [f"{verdict.check} ({verdict.reason})" for verdict in verdicts if verdict.disabled]
    asked = f"{len(verdicts) - len(out)} checks"
    return f"{asked}; not asked: {', '.join(out)}" if out else asked


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(run(msgspec.json.decode(sys.argv[1], type=Settings))))
    sys.stdout.flush()
