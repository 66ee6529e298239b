"""`python -m holdfast.lab.twin.fleet`: a simulated fleet that reports to a controller in demo mode."""

import argparse
import asyncio
import logging
import os
import signal
from contextlib import suppress

from holdfast.lab.twin.fleet.kinds import scenario, scenarios
from holdfast.lab.twin.fleet.run import FleetRun, FleetTarget
from holdfast.lab.twin.fleet.simulation import Simulation
from holdfast.runtime import logs

JOIN_TOKEN, SITE_TOKEN = (
    "HOLDFAST_JOIN_TOKEN",
    "HOLDFAST_SITE_TOKEN",
)  # the gateway reports the readings of the plant's instruments


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m holdfast.lab.twin.fleet", description=__doc__)
    parser.add_argument("--url", required=True, help="the controller's address")
    parser.add_argument("--nodes", type=_positive, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--speed", type=float, default=20.0, help="virtual seconds per second")
    parser.add_argument("--scenario", choices=sorted(scenarios()), default="background")
    parser.add_argument("--infant-shape", type=float, default=1.0, help="below 1: young nodes fail more often")
    parser.add_argument("--pool", default="twins")
    parser.add_argument("--ca-file", default="")
    parser.add_argument("--connections", type=_positive, default=32)
    parser.add_argument("--verbose", action="store_true", help="say every ten seconds how it goes")
    parser.add_argument("--seconds", type=float, help="end after this many seconds; default: when interrupted")
    options = parser.parse_args()
    if not os.environ.get(JOIN_TOKEN):
        parser.error(f"${JOIN_TOKEN}: expected a join token of the controller")
    if options.speed <= 0 or options.infant_shape <= 0:
        parser.error("--speed and --infant-shape: expected more than 0")
    level = logging.INFO if options.verbose else logging.WARNING
    logs.to_stderr(level)
    simulation = Simulation(scenario(options.scenario), options.nodes, options.seed, options.infant_shape)
    target = FleetTarget(
        url=options.url,
        join_token=os.environ[JOIN_TOKEN],
        speed=options.speed,
        pool=options.pool,
        ca_file=options.ca_file,
        connections=options.connections,
        site_token=os.environ.get(SITE_TOKEN, ""),
    )
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(_run(simulation, target, options.seconds))
    return 0


async def _run(simulation: Simulation, target: FleetTarget, seconds: float | None) -> None:
    running = asyncio.current_task()
    if running is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    await FleetRun(simulation, target).run(seconds)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


if __name__ == "__main__":
    raise SystemExit(main())
