"""The fleet table: measures the rows that the promise names, or (--table) prints the stored ones, with dates.

Either way the table in docs/scale.md is written from bench/results, those of the fail-over bench among them.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from measure import PYTHON, RESULTS

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "scale.md"
HEAD = "| figure | measured | goal |\n|---|---|---|"
BEGIN, END = "<!-- fleet table: written by bench/fleet_table.py -->", "<!-- end of the fleet table -->"
NOT_MEASURED = "not measured"
QUICK = (("postgresql", 12_500, True), ("sqlite", 2_000, False))
QUICK_SECONDS = 60.0
ROWS = (("postgresql", 12_500, False), ("postgresql", 12_500, True), ("sqlite", 2_000, False), ("sqlite", 2_000, True))


def measure(engine: str, nodes: int, tls: bool, seconds: float) -> None:
    sys.stderr.write(f"== {nodes} agents on {engine}{', TLS' if tls else ''}, {seconds:g} s\n")
    command = [PYTHON, str(HERE / "fleet_scale.py"), "--engine", engine, "--nodes", str(nodes)]
    command += ["--seconds", str(seconds), *(["--tls"] if tls else [])]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def kept() -> list[dict[str, Any]]:
    files = [RESULTS / f"fleet_{engine}_{nodes}{'_tls' if tls else ''}.json" for engine, nodes, tls in ROWS]
    return [json.loads(file.read_text()) for file in files if file.exists()]


def lines(row: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Figure, value, goal."""
    troubles = ", ".join(f"{count} {what}" for what, count in row["met"].items()) or "none"
    most, floor = row["most"], row["floor"]
    return [
        ("sustained", f"{row['reports_per_second']} reports/s for {row['seconds']:g} s", ""),
        ("errors and retries", troubles, "none"),
        ("acknowledged, not stored", f"{row['acknowledged_but_not_stored']} of {row['acknowledged']}", "0"),
        ("report to acknowledgement", _spread(row["ingest"]), ""),
        (
            "verdict to drain called",
            f"{_spread(row['drain'])} ({row['drains']} of {row['failures']})",
            "p99 <= 1000 ms",
        ),
        ("controller, peak memory", f"{row['controller_peak_mb']} MB", "<= 1024 MB"),
        ("controller, CPU", f"{row['controller_cpu_seconds_per_minute']} s a minute", ""),
        ("database, CPU", _database_cpu(row), ""),
        ("load generator, CPU", f"{row['generator_cpu_seconds_per_minute']} s a minute", ""),
        ("enrolled, then all tested", f"{row['enrol_seconds']} s, {row['ready_seconds']} s", ""),
        first_reports(row),
        ("most, closed loop", f"{most['most_reports_per_second']} reports/s, p99 {most['p99_ms']} ms", ""),
        ("bare floor, same client", f"{floor['most_reports_per_second']} reports/s, p99 {floor['p99_ms']} ms", ""),
        ("most against the floor", f"{row['most_to_floor']} x", ""),
    ]


def _spread(result: dict[str, float]) -> str:
    return f"p50 {result['p50_ms']} ms, p99 {result['p99_ms']} ms, max {result['max_ms']} ms" if result else "nothing"


def first_reports(row: dict[str, Any]) -> tuple[str, str, str]:
    """How long the first report of every node takes. Earlier runs waited until no report was under way, which among so
    many heartbeats is by chance."""
    goal = "<= 60 s"
    if "first_report" not in row:
        return "first reports", NOT_MEASURED, goal
    cpu = row.get("first_reports_controller_cpu_seconds")
    seconds = f"{row['first_reports_seconds']} s" + ("" if cpu is None else f", {cpu} CPU s")
    return f"first reports, {row['verdicts_per_node']} verdicts each", seconds, goal


def _database_cpu(row: dict[str, Any]) -> str:
    if row["engine"] == "sqlite":
        return "part of the controller"
    return f"{row['database_cpu_seconds_per_minute']} s a minute"


def failover(row: dict[str, Any]) -> list[tuple[str, str, str]]:
    takeover, after = row["takeover_seconds"], row.get("drain_after_a_takeover", {})
    share = row.get("generator_share_of_cpus")
    return [
        ("leaders killed, leaderships", f"{row['kills']}, {row['leaderships_at_the_end']}", "one more than kills"),
        ("takeover", f"p50 {takeover['p50']} s, max {takeover['max']} s", "<= 10 s"),
        (
            "failed during a takeover, to drain",
            f"{_spread(after)} ({row.get('failed_during_a_takeover', NOT_MEASURED)} nodes)",
            "max <= 30,000 ms",
        ),
        ("verdict to drain, all", f"{_spread(row['drain'])} ({row['drains']} of {row['failures']})", ""),
        ("acknowledged, not stored", f"{row['acknowledged_but_not_stored']} of {row['acknowledged']}", "0"),
        ("drained twice", str(row["drained_twice"]), "0"),
        first_reports(row),
        ("most memory of a controller", f"{row['controller_peak_mb']} MB", "<= 1024 MB"),
        (
            "CPU of leader and standby",
            f"{row['leader_cpu_seconds_per_minute']} and {row['standby_cpu_seconds_per_minute']} s a minute",
            "",
        ),
        ("load generator, share of the CPUs", NOT_MEASURED if share is None else f"{share:.0%}", ""),
    ]


def tables(rows: list[dict[str, Any]], killed: dict[str, Any] | None) -> str:
    """The rows as Markdown."""
    named = [
        (f"{row['nodes']:,} agents on {row['engine']}, TLS {'on' if row['tls'] else 'off'}", row, lines(row))
        for row in rows
    ]
    if killed is not None:
        named.append((f"Fail-over: {killed['nodes']:,} agents, two controllers, TLS on", killed, failover(killed)))
    parts = []
    for title, row, figures in named:
        load = f", load average {row['load']}" if "load" in row else ""
        head = f"**{title}** (measured {row['date']}, steal {row['steal']:.1%}{load})\n\n{HEAD}"
        parts.append("\n".join([head, *(f"| {' | '.join(figure)} |" for figure in figures)]))
    return "\n\n".join(parts)


def write(rows: list[dict[str, Any]]) -> None:
    stored = RESULTS / "failover_load.json"
    killed = json.loads(stored.read_text()) if stored.exists() else None
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{tables(rows, killed)}\n{END}{after}")


def show(row: dict[str, Any]) -> None:
    tls = "on" if row["tls"] else "off"
    print(f"{row['nodes']} agents, {row['engine']}, TLS {tls} ({row['date']}, steal {row['steal']:.1%})")
    for figure, value, goal in lines(row):
        print(f"  {figure:<33}{value:<62}{goal}".rstrip())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--quick", action="store_true", help="a row per engine, 60 s each: under 8 minutes when quiet")
    parser.add_argument("--table", action="store_true", help="measure nothing: print the kept results")
    options = parser.parse_args()
    if not options.table:
        for engine, nodes, tls in QUICK if options.quick else ROWS:
            measure(engine, nodes, tls, QUICK_SECONDS if options.quick else options.seconds)
    rows = kept()
    if not rows:
        raise SystemExit("nothing is kept yet: run it without --table first")
    for row in rows:
        show(row)
    write(rows)


if __name__ == "__main__":
    main()
