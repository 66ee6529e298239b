"""One row of the fleet table: so many simulated agents against a real controller process. All verdicts of all nodes at
once, then sustained reports, then the most it takes, beside the bare floor (raw ASGI and msgspec, no store) under the
same client; then whether all that was acknowledged is in the store. Verdict to drain is measured from the report's
sending to the webhook's being called."""

import argparse
import json
import ssl
import sys
import tempfile
import time
import urllib.error
import urllib.request
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

from fleet_load import SETTLING_SECONDS
from fleet_stage import HERE, Load, Watch, certificate, configure, controller, load, peak_bytes, store, talking
from holdfast.fleet.store.sequence import StoredSequence
from measure import PYTHON, cpu_times, load_average, publish, steal_ratio

SATURATING = 256  # connections of the closed loop
CHANGING = 0.01  # of all nodes fail per minute
MB = 1 << 20


def ask_join_token(url: str, folder: Path, nodes: int) -> str:
    """`url` may name several controllers, of which one leads."""
    admin = (folder / "admin.token").read_text().strip()
    body = json.dumps({"uses": nodes, "network": "127.0.0.0/8", "vouch": True}).encode()
    trusted = ssl.create_default_context(cafile=str(folder / "tls.pem")) if url.startswith("https") else None
    for one in islice(cycle(url.split()), 100):
        asked = urllib.request.Request(f"{one}/v1/tokens", body, {"Authorization": f"Bearer {admin}"})
        asked.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(asked, timeout=10, context=trusted) as reply:
                token: str = json.load(reply)["token"]
                return token
        except (urllib.error.HTTPError, TimeoutError):
            time.sleep(0.2)  # it does not lead yet
    raise SystemExit("the controller gave no join token")


def settle(url: str) -> None:
    """Until everything that enrolling a whole fleet at once set off is done."""
    engine = create_engine(url)
    left = text("SELECT count(*) FROM actions WHERE state IN ('proposed', 'claimed')")
    while True:
        with engine.connect() as connection:
            if connection.execute(left).scalar_one() == 0:
                break
        time.sleep(1)
    engine.dispose()


def stored(url: str, result: dict[str, Any]) -> dict[str, Any]:
    """Whether the store holds every report that was acknowledged, by its number, and each event and change once."""
    engine = create_engine(url)
    with engine.connect() as connection:
        seen = {
            node: StoredSequence(numbers)
            for node, numbers in connection.execute(text("SELECT node, seen FROM sessions"))
        }
        events = connection.execute(text("SELECT count(*) FROM events")).scalar_one()
        changes = connection.execute(text("SELECT count(*) FROM verdict_changes")).scalar_one()
        failed = connection.execute(text("SELECT count(*) FROM actions WHERE state = 'failed'")).scalar_one()
    engine.dispose()
    lost = sum(
        1
        for node, most in result["acknowledged"].items()
        for number in range(1, most + 1)
        if node not in seen or seen[node].add(number)
    )
    return {
        "acknowledged": sum(result["acknowledged"].values()),
        "acknowledged_but_not_stored": lost,
        "events_stored_as_sent": events == result["events"],
        "changes_stored_as_sent": changes == result["changes"],
        "actions_failed": failed,
    }


def floor(generator: Load, tls: tuple[str, str], seconds: float) -> dict[str, Any]:
    command = [PYTHON, str(HERE / "fleet_floor.py"), *(tls if tls[0] else ())]
    with talking(*command) as (_, url):
        generator.ask("meet", url=url, certificate=tls[0], nodes=SATURATING)
        return generator.ask("saturate", seconds=seconds, connections=SATURATING)


def row(options: argparse.Namespace, folder: Path, generator: Load) -> dict[str, Any]:
    hook = generator.ask("hook")["port"]
    tls = certificate(folder) if options.tls else ("", "")
    with store(options.engine, folder) as (store_url, server):
        config = configure(folder, store_url, tls, hook)
        with controller(config) as (process, url):
            if not url:
                raise SystemExit(config.with_suffix(".log").read_text())
            generator.ask("meet", url=url, certificate=tls[0], nodes=options.nodes)
            figures = generator.ask("enrol", join_token=ask_join_token(url, folder, options.nodes))
            figures |= generator.ask("warm")
            with Watch(controller=process.pid, database=server, generator=generator.pid) as watch:
                figures |= generator.ask("first_reports")
            figures |= {f"first_reports_{name}_cpu_seconds": round(cpu, 1) for name, cpu in watch.cpu.items()}
            settle(store_url)
            steal = cpu_times()
            with Watch(controller=process.pid, database=server, generator=generator.pid) as watch:
                figures |= generator.ask("sustain", seconds=options.seconds, share_per_minute=CHANGING)
            del figures["drained"], figures["undrained"]
            figures |= {"steal": round(steal_ratio(steal, cpu_times()), 3), "load": load_average()}
            scale = 60 / (figures["seconds"] + SETTLING_SECONDS)
            figures |= {f"{name}_cpu_seconds_per_minute": round(cpu * scale, 1) for name, cpu in watch.cpu.items()}
            figures["controller_peak_mb"] = round(peak_bytes(process.pid) / MB, 1)
            if options.saturate:
                figures["most"] = generator.ask("saturate", seconds=options.saturate, connections=SATURATING)
            figures |= stored(store_url, generator.ask("quiet"))
            if options.log:
                sys.stderr.write(config.with_suffix(".log").read_text())
    if options.saturate:
        figures["floor"] = floor(generator, tls, options.saturate)
        figures["most_to_floor"] = round(
            figures["most"]["most_reports_per_second"] / figures["floor"]["most_reports_per_second"], 3
        )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=12_500)
    parser.add_argument("--engine", choices=("postgresql", "sqlite"), default="postgresql")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--saturate", type=float, default=20.0, help="seconds of the closed loop; 0 leaves it out")
    parser.add_argument("--name", default="", help="under which the figures are kept")
    parser.add_argument("--log", action="store_true", help="show the controller's log at the end")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, load() as generator:
        figures = row(options, Path(scratch), generator)
    named = {"nodes": options.nodes, "engine": options.engine, "tls": options.tls}
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    usual = f"fleet_{options.engine}_{options.nodes}{'_tls' if options.tls else ''}"
    publish(options.name or usual, {"date": when, **named, **figures})


if __name__ == "__main__":
    main()
