"""How long `holdfast plan` takes from nothing to its answer, beside Typer alone in the same run."""

import argparse

from measure import HOLDFAST, PYTHON, cpu_times, one_shot, publish, quantile, steal_ratio

PLANS = {
    "risk": "--gpus 256 --days 30 --rate llama3",
    "checkpoint": "--gpus 16384 --rate llama3 --state 5TB --bandwidth 2TB/s --memory-write 2s --target 92%",
    "spares": "--nodes 2048 --rate llama3 --crews 60",
    "limit": "--rate epoch",
    "price": "--offer a=2.00@0.90 --offer b=2.35@0.97 --gpus 1024 --rate llama3",
    "cost": "--gpus 1024 --price h100 --people 4 --hours 3h",
}
FLOOR = "import typer, rich.console, rich.table; app = typer.Typer(); app.command()(lambda x=1: None); app([])"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    before = cpu_times()
    commands = {name: [HOLDFAST, "plan", name, *options.split()] for name, options in PLANS.items()}
    commands["floor"] = [PYTHON, "-c", FLOOR]
    taken = {name: [one_shot(command) for _ in range(runs)] for name, command in commands.items()}
    figures: dict[str, object] = {"runs": runs}
    for name, shots in taken.items():
        figures[f"{name}_wall_ms"] = round(1e3 * quantile([wall for wall, _, _ in shots], 0.5), 1)
        figures[f"{name}_cpu_ms"] = round(1e3 * quantile([cpu for _, cpu, _ in shots], 0.5), 1)
    worst = max(quantile([cpu for _, cpu, _ in taken[name]], 0.5) for name in PLANS)
    figures["worst_plan_to_floor_cpu"] = round(worst / quantile([cpu for _, cpu, _ in taken["floor"]], 0.5), 2)
    figures["steal_ratio"] = round(steal_ratio(before, cpu_times()), 3)
    publish("plan", figures)


if __name__ == "__main__":
    main()
