"""Kill -9 of controllers, agents and PostgreSQL at random points: nothing is lost and no action runs twice."""

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.postgres import Server

from .crowd import POLICY, WITHOUT, Crowd
from .world import World, keep, world

pytestmark = pytest.mark.slow
RESULTS = Path(__file__).parents[3] / "bench" / "results"
Engine = tuple[str, Server | None]


def live_a_little(made: World, chance: random.Random) -> None:
    """Kernel messages and operator commands arrive for a random part of a second."""
    end = time.monotonic() + chance.uniform(0.0, 1.2)
    while True:
        agent = chance.choice(made.agents)
        agent.say()
        if chance.random() < 0.3:
            operator_command(made, agent.name, chance)
        if time.monotonic() >= end:
            return
        time.sleep(chance.uniform(0.0, 0.1))


def operator_command(made: World, node: str, chance: random.Random) -> None:
    """An operator's command. It may be carried out, refused or lost with the connection."""
    request = chance.choice(("quarantine", "release", "retest"))
    controller = chance.choice(made.controllers)
    try:
        controller.http.post(
            f"{controller.url}/v1/nodes/{node}/{request}",
            json={"reason": "a person"},
            headers={"Authorization": f"Bearer {controller.admin}"},
            timeout=1.0,
        )
    except httpx.HTTPError:
        return


def victims(made: World, server: Server | None) -> dict[str, Callable[[], None]]:
    """By name: kill it with SIGKILL and start it again."""

    def controller(number: int) -> Callable[[], None]:
        def strike() -> None:
            made.kill_controller(number)
            made.restart_controller(number)

        return strike

    def agent(number: int) -> Callable[[], None]:
        def strike() -> None:
            made.agents[number].kill()
            made.agents[number].restart()

        return strike

    found = {f"controller {n}": controller(n) for n in range(len(made.controllers))}
    found |= {f"agent {n}": agent(n) for n in range(len(made.agents))}
    if server is not None:
        found["postgresql"] = server.crash
    return found


def survive(directory: Path, engine: Engine, kills: int, failing: int = 0) -> dict[str, object]:
    """`failing` simulated nodes fail and recover all the while, so that the controllers act without a pause."""
    url, server = engine
    chance = random.Random(kills)
    struck = Counter[str]()
    with world(directory, url, controllers=2 if server else 1, policy=POLICY, action_seconds=0.1, more=WITHOUT) as made:
        crowd = Crowd([one.url for one in made.controllers], made.ask, failing, healthy=failing // 2)
        crowd.begin()
        strikes = victims(made, server)
        order = [name for name in strikes for _ in range(-(-kills // len(strikes)))][:kills]
        chance.shuffle(order)
        for name in order:
            live_a_little(made, chance)
            strikes[name]()
            struck[name.split()[0]] += 1
        live_a_little(made, chance)
        if failing:
            crowd.settle()
        crowd.end()
        made.settled()
        assert crowd.lost(made.store) == crowd.events_lost(made.store) == []
        return {"kills": kills, **struck, **made.verify(), **crowd.figures()}


def test_nothing_is_lost_and_nothing_done_twice(tmp_path: Path, engine: Engine) -> None:
    figures = survive(tmp_path, engine, 4)
    assert figures["events"]
    assert figures["actions"]


@pytest.mark.soak
def test_sixty_times_at_random_points_under_load(tmp_path: Path, engine: Engine) -> None:
    figures = survive(tmp_path, engine, 60, failing=8)
    name = "postgresql" if engine[1] else "sqlite"
    keep(
        RESULTS / f"survival_kill_{name}.json", {"bench": "tests/fleet/survival/test_kill.py", "store": name, **figures}
    )
