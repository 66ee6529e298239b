"""From a port that goes down to the next completed step, beside waiting for the watchdog: a real training of four
processes over gloo on two hosts in network namespaces, a third stands by. Needs root.

python bench/failfast.py [--watchdog-seconds 60]
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from measure import HOLDFAST, publish

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.node.probes.fabric import Fabric, address, fabric, run

TRAINING = Path(__file__).parents[1] / "examples" / "train_gloo.py"
TORCHRUN = str(Path(sys.executable).with_name("torchrun"))
TIMEOUT_SECONDS = 600.0
HIT_AT = "step 25 "
DEFAULT_WATCHDOG_SECONDS = 600.0  # of NCCL's process group; gloo's own is 1,800


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watchdog-seconds", type=int, default=60, help="of the job without a supervisor")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        with fabric(Path(scratch)) as made:
            supervised = supervised_seconds(made, Path(scratch) / "with")
        with fabric(Path(scratch)) as made:
            noticed = watchdog_seconds(made, Path(scratch) / "without", options.watchdog_seconds)
    late = noticed - options.watchdog_seconds
    publish("failfast", {
        "processes": 4,
        "outage_to_next_step_seconds": round(supervised, 1),
        "watchdog_seconds": options.watchdog_seconds,
        "outage_to_watchdog_seconds": round(noticed, 1),
        "with_the_default_watchdog_seconds": round(DEFAULT_WATCHDOG_SECONDS + late, 1),
        "ratio_to_the_default_watchdog": round(supervised / (DEFAULT_WATCHDOG_SECONDS + late), 3),
    })  # fmt: skip


def supervised_seconds(made: Fabric, folder: Path) -> float:
    """Of `holdfast run` on every host, until the first step of the attempt after the outage."""
    with ExitStack() as stack:
        outputs = {name: stack.enter_context(supervisor(made, name, folder)) for name in ("h1", "h2", "h3")}
        lead = outputs["h1"] / "out"
        until(lambda: HIT_AT in lead.read_text())
        hit = next(name for name in ("h2", "h3") if "stands by" not in (outputs[name] / "err").read_text())
        began = cut(made, hit)
        until(lambda: "attempt 1 ended" in (outputs["h1"] / "err").read_text())
        before = len(lead.read_text())
        until(lambda: "step " in lead.read_text()[before:])
        return time.monotonic() - began


def watchdog_seconds(made: Fabric, folder: Path, limit: int) -> float:
    """Of the same training under torchrun alone, until a rank says that it waited too long."""
    with ExitStack() as stack:
        words = {
            name: [TORCHRUN, "--nnodes", "2", "--node-rank", str(rank), "--master-addr", address("h1"),
                   "--master-port", "29700", "--nproc-per-node", "2", str(TRAINING), *asked(folder, limit)]
            for rank, name in enumerate(("h1", "h2"))
        }  # fmt: skip
        outputs = {name: stack.enter_context(started(made, name, folder, words[name])) for name in words}
        until(lambda: HIT_AT in (outputs["h1"] / "out").read_text())
        began = cut(made, "h2")
        until(lambda: "Timed out waiting" in (outputs["h1"] / "err").read_text())
        return time.monotonic() - began


def asked(folder: Path, watchdog: int) -> list[str]:
    return ["--steps", "2000", "--timeout-seconds", str(watchdog), "--checkpoints", str(folder / "checkpoints")]


@contextmanager
def supervisor(made: Fabric, name: str, folder: Path) -> Iterator[Path]:
    lead = ["--lead"] if name == "h1" else []
    words = [
        HOLDFAST, "run", "--folder", str(folder / name / "run"), "--node", name, "--nodes", "2", "--store",
        f"{address('h1')}:29500", "--lost-seconds", "4", *lead, "--", TORCHRUN, "--nproc-per-node", "2",
        str(TRAINING), *asked(folder, int(DEFAULT_WATCHDOG_SECONDS)),
    ]  # fmt: skip
    with started(made, name, folder, words) as output:
        yield output


@contextmanager
def started(made: Fabric, name: str, folder: Path, words: list[str]) -> Iterator[Path]:
    own = folder / name
    own.mkdir(parents=True, exist_ok=True)
    inside = ["ip", "netns", "exec", made.space(name), "env", "GLOO_SOCKET_IFNAME=eth0", "OMP_NUM_THREADS=1"]
    with (own / "out").open("wb") as out, (own / "err").open("wb") as err:
        process = subprocess.Popen([*inside, *words], stdout=out, stderr=err, stdin=subprocess.DEVNULL)
    try:
        yield own
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def cut(made: Fabric, name: str) -> float:
    run("ip", "-n", made.space("sw"), "link", "set", f"p{name}", "down")
    return time.monotonic()


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not true():
        if time.monotonic() > deadline:
            raise SystemExit("not seen within ten minutes; no figure")
        time.sleep(0.02)


if __name__ == "__main__":
    main()
