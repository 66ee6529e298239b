"""Doing what `holdfast drill fuzz` was asked for: many drawn drills, one confusion matrix."""

import json
from typing import Any

import typer

from holdfast.cli.drill import show as drill_show
from holdfast.cli.drill.here import Outcome, spread
from holdfast.lab.drills.confusion import NOTHING, matrix
from holdfast.lab.drills.draw import CALM, draw, drawable
from holdfast.lab.drills.draw_hard import draw_hard
from holdfast.lab.drills.reliability import bands
from holdfast.lab.drills.score import verdict
from holdfast.lab.drills.stage import stage
from holdfast.lab.drills.subjects import Known
from holdfast.model.refusal import Refusal

Task = tuple[int, str, bool]


def run(seeds: int, first: int, kind: str, calm: float, hard: bool, processes: int, as_json: bool) -> None:
    if kind and kind != CALM and kind not in drawable():
        raise Refusal(f"--kind: there is no kind {kind!r}; {Known.near(kind, (*drawable(), CALM))}")
    outcomes = list(spread(drawn, tasks(seeds, first, kind, calm, hard), processes, "drawing and playing"))
    found = summary(outcomes)
    if as_json:
        typer.echo(json.dumps(found))
        return
    drill_show.confusion(found["confusion"])
    misses = [one for one in outcomes if not one["score"]["top1"] or one["score"]["false_findings"]]
    drill_show.misses(misses)
    drill_show.reliability(found["reliability"])
    typer.echo("\n" + drill_show.said(found))


def tasks(seeds: int, first: int, kind: str, calm: float, hard: bool = False) -> list[Task]:
    """Every kind about equally often, calm ones between them as asked for."""
    found: list[Task] = []
    every = drawable()
    owed = 0.0
    for number in range(seeds):
        owed += calm
        chosen = kind or (CALM if owed >= 1 else every[number % len(every)])
        owed -= chosen == CALM and not kind
        found.append((first + number, chosen, hard))
    return found


def drawn(task: Task) -> Outcome:
    seed, kind, hard = task
    staged = stage((draw_hard if hard else draw)(seed, kind))
    said = [verdict(truth, staged.judged) for truth in staged.truths]
    told = [NOTHING if one is None else one[1] for one in said]
    return {**staged.document(), "kind": kind, "said": told, "claims": staged.claims}


def summary(outcomes: list[Outcome]) -> dict[str, Any]:
    pairs = []
    for one in outcomes:
        if one["truth"]:
            right = one["score"]["top1"]
            told = one["said"][0]
            other = f"{told} elsewhere" if told == one["kind"] else told
            pairs.append((one["kind"], one["kind"] if right else other))
        else:
            kinds = [finding["kind"] for finding in one["findings"]]
            pairs.append((CALM, kinds[0] if kinds else CALM))
    return {
        "seeds": len(outcomes),
        **drill_show.summary(outcomes),
        "confusion": matrix(pairs),
        "reliability": [band.as_json() for band in bands(claim for one in outcomes for claim in one["claims"])],
        "misses": [
            {"drill": one["drill"], "truth": one["truth"], "findings": one["findings"][:5]}
            for one in outcomes
            if not one["score"]["top1"] or one["score"]["false_findings"]
        ],
    }
