"""An agent cut off from its controller, in a network namespace of its own: both ways, and only the way back."""

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.controller.running import Controller, until

from .world import LivingAgent, World, world

pytestmark = pytest.mark.slow
MOST_HEARTBEATS = 12  # an agent that has news asks sooner for a while; more would be a flood


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@dataclass
class Cable:
    """A namespace at the end of a cable that can be pulled."""

    namespace: str
    here: str
    ours: str
    theirs: str

    def pull(self) -> None:
        ip("link", "set", self.here, "down")

    def plug(self) -> None:
        ip("link", "set", self.here, "up")

    def lose_answers(self) -> None:
        """What they say arrives; what we answer does not."""
        ip("route", "add", "blackhole", f"{self.theirs}/32")

    def find_answers(self) -> None:
        ip("route", "del", "blackhole", f"{self.theirs}/32")


@pytest.fixture
def cable() -> Iterator[Cable]:
    number = os.getpid() % 250
    made = Cable(f"holdfast{number}", f"hf{number}a", f"10.231.{number}.1", f"10.231.{number}.2")
    try:
        ip("netns", "add", made.namespace)
        ip("link", "add", made.here, "type", "veth", "peer", "name", "hfb", "netns", made.namespace)
    except (OSError, subprocess.CalledProcessError) as error:
        subprocess.run(["ip", "netns", "del", made.namespace], capture_output=True)
        pytest.skip(f"no network namespace can be made here: {getattr(error, 'stderr', error)}")
    ip("addr", "add", f"{made.ours}/30", "dev", made.here)
    ip("link", "set", made.here, "up")
    ip("-n", made.namespace, "addr", "add", f"{made.theirs}/30", "dev", "hfb")
    ip("-n", made.namespace, "link", "set", "hfb", "up")
    ip("-n", made.namespace, "link", "set", "lo", "up")
    yield made
    subprocess.run(["ip", "link", "del", made.here], capture_output=True)
    ip("netns", "del", made.namespace)


def node(made: World) -> dict[str, Any]:
    found: dict[str, Any] = made.leader().get("/v1/nodes/n1")
    return found


def silent(controller: Controller, state: str) -> bool:
    incidents = controller.get("/v1/incidents")["incidents"]
    return any((one["cause"], one["state"]) == ("agent.silent", state) for one in incidents)


def spooled_lines(agent: LivingAgent) -> list[str]:
    return [line for line in agent.spooled().splitlines() if '"session"' in line]


def cut_off(made: World, cable: Cable, seconds: float) -> None:
    """Nothing is heard: unknown, then an incident, never a quarantine; afterwards all of it is there, once."""
    [agent] = made.agents
    stage = node(made)["stage"]
    cable.pull()
    end = time.monotonic() + seconds
    for _ in range(5):
        agent.say()
    until(lambda: all(text in agent.spooled() for text in agent.kernel_lines[-5:]), "they wait on disk")
    until(lambda: node(made)["health"] == "unknown", "a silent agent's node is unknown")
    until(lambda: silent(made.leader(), "open"), "then it is an incident")
    time.sleep(max(0.0, end - time.monotonic()))
    assert node(made)["stage"] == stage, "silence alone takes nobody out of service"
    assert len(spooled_lines(agent)) <= 5 + MOST_HEARTBEATS
    cable.plug()
    made.settled()
    until(lambda: silent(made.leader(), "closed"), "the incident is over")
    until(lambda: not spooled_lines(agent), "everything is acknowledged")


def answers_lost(made: World, cable: Cable) -> None:
    """Reports arrive and are stored, but the agent never hears so: it sends them again, and they are stored once."""
    [agent] = made.agents
    cable.lose_answers()
    agent.say()
    made.settled()
    assert agent.kernel_lines[-1] in agent.spooled()
    cable.find_answers()
    until(lambda: not spooled_lines(agent), "everything is acknowledged at last")


def lives_on_the_cable(directory: Path, cable: Cable, seconds: float, more: str, silence: float) -> None:
    policy = f"silent_seconds = {silence}\n"
    with world(directory, agents=0, policy=policy, host=cable.ours) as made:
        agent = made.add_agent(more, wrapper=("ip", "netns", "exec", cable.namespace))
        agent.say()
        made.settled()
        cut_off(made, cable, seconds)
        answers_lost(made, cable)
        agent.say()
        made.settled()
        made.verify()
        stages = [one["after"] for one in made.leader().get("/v1/transitions")["transitions"]]
        assert not {"draining", "quarantined", "removed"} & set(stages)


def test_a_cut_off_agent_loses_nothing_and_is_not_quarantined(tmp_path: Path, cable: Cable) -> None:
    lives_on_the_cable(tmp_path, cable, 3.0, "timeout_seconds = 1\n", 2.0)


@pytest.mark.soak
def test_cut_off_for_minutes(tmp_path: Path, cable: Cable) -> None:
    lives_on_the_cable(tmp_path, cable, 180.0, "", 20.0)
