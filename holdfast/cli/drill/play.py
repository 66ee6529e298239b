"""`holdfast drill play`: a tabletop exercise. Dashboards minute by minute, a guess, then the cause and the cost."""

import random
import sys
from dataclasses import dataclass

import typer

from holdfast.cli.drill import show as drill_show
from holdfast.cli.shared.progress import progress_bar
from holdfast.cli.shared.table import console, plain, table
from holdfast.lab.drills.alerts import alerts
from holdfast.lab.drills.dashboards import Shown, dashboards
from holdfast.lab.drills.file import load, shipped
from holdfast.lab.drills.pricing import outcomes
from holdfast.lab.drills.score import first_seen
from holdfast.lab.drills.stage import Staged, stage
from holdfast.lab.drills.subjects import KnownSubjects
from holdfast.lab.twin.plant.fault import kinds
from holdfast.lab.twin.plant.layout import JobSpec

FIRST_SECONDS = 5 * 60.0
STEP = 5 * 60.0
CHANGED = 0.05  # a number that differs from the usual by this share is marked
HELP = "Enter: advance five minutes; a number: that many minutes; guess SUBJECT [KIND]; who: subjects and kinds; quit"


@dataclass(frozen=True, slots=True)
class Guess:
    at: float
    cause: str = ""
    kind: str = ""


def play(name: str, seed: int | None) -> None:
    """Plays a drill. Without a name, it chooses a shipped one and does not show its name."""
    name = name or random.Random(seed).choice(shipped())
    drill = load(name, seed)
    out = console()
    out.print(
        f"[bold]A drill of {drill.lasts / 60:.0f} minutes.[/] Something may be wrong, or nothing.", soft_wrap=True
    )
    out.print(f"{drill.layout.fleet.nodes} nodes, {', '.join(_work(drill.layout.jobs)) or 'no job'}. {HELP}\n")
    staged = _staged(name, seed)
    _reveal(staged, _steps(staged))


def _work(jobs: tuple[JobSpec, ...]) -> list[str]:
    return [f"job/{job.name} on {len(job.nodes)}" for job in jobs]


def _staged(name: str, seed: int | None) -> Staged:
    with progress_bar("preparing", 1.0) as advance:
        done = 0.0

        def progress(share: float) -> None:
            nonlocal done
            advance(share - done)
            done = share

        return stage(load(name, seed), progress)


def _steps(staged: Staged) -> Guess:
    now = min(FIRST_SECONDS, staged.drill.lasts)
    known = KnownSubjects(staged.drill.layout)
    show(staged, now)
    while True:
        arguments = _read_command(now)
        if not arguments or arguments[0].isdigit():
            if now >= staged.drill.lasts:
                typer.echo("The drill is over: guess, or quit.")
                continue
            now = min(staged.drill.lasts, now + (60.0 * int(arguments[0]) if arguments else STEP))
            show(staged, now)
        elif arguments[0] in ("quit", "q"):
            return Guess(now)
        elif arguments[0] in ("guess", "g") and len(arguments) > 1:
            guess = _understood(known, now, arguments[1:])
            if guess is not None:
                return guess
        elif arguments[0] == "who":
            _who(known)
        else:
            typer.echo(HELP)


def _read_command(now: float) -> list[str]:
    typer.echo(f"[minute {now / 60:.0f}] > ", nl=False)
    line = sys.stdin.readline()
    return line.split() if line else ["quit"]


def _understood(known: KnownSubjects, now: float, arguments: list[str]) -> Guess | None:
    subjects = [subject for who in known.by_type.values() for subject in who]
    cause, kind = arguments[0], arguments[1] if len(arguments) > 1 else ""
    if cause not in (*subjects, "nothing") and not cause.startswith("software/"):
        typer.echo(f"There is no {cause}; {KnownSubjects.near(cause, subjects)}")
        return None
    if kind and kind not in kinds():
        typer.echo(f"There is no kind {kind}; {KnownSubjects.near(kind, kinds())}")
        return None
    return Guess(now, cause, kind)


def _who(known: KnownSubjects) -> None:
    for name, subjects in known.by_type.items():
        if subjects and name not in ("port", "domain"):
            typer.echo(f"  {name:8} {subjects[0]}" + (f" to {subjects[-1]}" if len(subjects) > 1 else ""))
    typer.echo("  kinds    " + ", ".join(kinds()) + "; or: guess nothing")


def show(staged: Staged, now: float) -> None:
    """Every team's dashboard at this minute."""
    panel = staged.panel.until(now)
    out = console()
    out.print(f"\n[bold]Minute {now / 60:.0f}[/]")
    rows = table("team", "what", "of", "now", "usual", "since the start")
    team = ""
    for line in dashboards(panel):
        rows.add_row("" if line.team == team else f"[bold]{line.team}[/]", line.label, line.subject, _number(line),
                     f"{line.usual:,.4g} {line.unit}", line.spark)  # fmt: skip
        team = line.team
    out.print(rows)
    recent = [event for event in panel.events if event.at > now - STEP]
    for event in recent[:6]:
        out.print(f"  [dim]{drill_show.minute(event.at)}: {event.kind} {event.subject}[/] {plain(event.text)}")
    if len(recent) > 6:
        out.print(f"  [dim]and {len(recent) - 6} events more[/]")
    for alert in alerts(panel)[:4]:
        out.print(f"  [bold red]alert[/] {alert.signal} of {alert.subject}, since {drill_show.minute(alert.at)}")


def _number(line: Shown) -> str:
    text = "not seen" if line.now != line.now else f"{line.now:,.4g} {line.unit}"
    return f"[yellow]{text}[/]" if line.changed > CHANGED else text


def _reveal(staged: Staged, guess: Guess) -> None:
    out = console()
    out.print(f"\n[bold]The truth: {plain(staged.drill.title)}[/]\n{plain(staged.drill.about)}", soft_wrap=True)
    right = _compare(staged, guess)
    for at, finding in list(first_seen(staged.judged).values())[:3]:
        where, sure = drill_show.minute(at), f"{100 * finding.confidence:.0f} %"
        out.print(f"Holdfast found {finding.kind} at {finding.cause}, {where}, {sure} sure.", soft_wrap=True)
        for sentence in finding.evidence[:3]:
            out.print(f"  {sentence}", markup=False, soft_wrap=True)
    if staged.truths:
        _bills(staged, guess, right)


def _compare(staged: Staged, guess: Guess) -> bool:
    out = console()
    causes = {truth.cause for truth in staged.truths} or {"nothing"}
    for truth in staged.truths:
        out.print(f"{truth.kind} at {truth.cause}, from {drill_show.minute(truth.start)} on.")
    right = guess.cause in causes
    if not guess.cause:
        out.print("You made no guess.")
    elif right:
        kinds_right = not guess.kind or guess.kind in {truth.kind for truth in staged.truths}
        out.print(f"[bold green]You were right[/]{'' if kinds_right else ' about where, not about what'}.")
    else:
        out.print(f"[bold red]You guessed {plain(guess.cause)}.[/] It is an affected subject, or not involved.")
    return right


def _bills(staged: Staged, guess: Guess, right: bool) -> None:
    seen = first_seen(staged.judged)
    at = [seen[truth.named][0] for truth in staged.truths if truth.named in seen]
    found_at = max(at) if len(at) == len(staged.truths) else None
    made = outcomes(staged.drill, staged.losers, staged.panel, guess.at, right, found_at)
    rows = table("what it costs", "repaired at", "GPU-hours", *(layer.name for layer in made[0][2].layers), "in all")
    for name, repaired, bill in made:
        amounts = ["-" if layer.so_far is None else f"{layer.so_far:,.0f} USD" for layer in bill.layers]
        total = f"{bill.total_so_far:,.0f} USD"
        rows.add_row(name, f"minute {repaired / 60:.0f}", f"{bill.gpu_hours:,.1f}", *amounts, total)
    out = console()
    out.print()
    out.print(rows)
