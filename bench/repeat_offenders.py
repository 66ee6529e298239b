"""Does the repeat-offender score know which GPUs will die and which nodes will fail? Replayed on Titan:
it sees only what happened before each cut-off, its weights are chosen on one half of the cabinets and reported on
the other, and the intervals come from drawing whole cabinets."""

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from zlib import crc32

from holdfast.fleet.decisions.repeat_offenders import DAY, Group, Neighbours, Weights, burden, score
from holdfast.model.lifecycle import Offence

import titan
from measure import publish

CUTS = ("2016-01-01", "2016-07-01", "2017-01-01", "2017-07-01", "2018-01-01", "2018-07-01")
HORIZON_SECONDS = {"gpu": 365 * DAY, "node": 180 * DAY}
TOP = (0.01, 0.05)


@dataclass(frozen=True, slots=True)
class Case:
    """One GPU or node at one cut-off: what was known of it then, and what became of it."""

    cut: float
    cabinet: str
    own: tuple[Offence, ...]
    groups: tuple[str, ...]
    failed: bool


@dataclass(frozen=True, slots=True)
class Past:
    """What happened before a cut-off: the offences of every GPU in each group, and how many are in it now."""

    offences: dict[str, dict[str, list[Offence]]]
    sizes: Counter[str]

    def group(self, name: str, cut: float, weights: Weights) -> Group:
        return Group(name=name, nodes=self.sizes[name], burden=burden(self.offences[name].values(), cut, weights))


@dataclass(frozen=True, slots=True)
class Ranked:
    """One case after scoring: its cut-off, its cabinet, its score and whether it failed."""

    cut: float
    cabinet: str
    score: float
    failed: bool


Score = Callable[[Case], float]


def look(unit: str, gpus: dict[str, titan.Gpu], faults: list[titan.Fault], cut: float) -> tuple[list[Case], Past]:
    """Everything in service at the cut-off. `failed` alone looks beyond it."""
    here = {stay.node: number for number, gpu in gpus.items() for stay in gpu.stays if stay.begin <= cut < stay.end}
    past = Past(defaultdict(lambda: defaultdict(list)), Counter())
    own: dict[str, list[Offence]] = defaultdict(list)
    for fault in faults:
        if fault.at >= cut:
            break
        offence = Offence(at=fault.at, cause=fault.cause)
        own[fault.gpu if unit == "gpu" else fault.node].append(offence)
        for name in groups(fault.node, gpus[fault.gpu].batch):
            past.offences[name][fault.gpu].append(offence)
    until = cut + HORIZON_SECONDS[unit]
    erring = {fault.node for fault in faults if cut <= fault.at < until}
    found = []
    for node, number in here.items():
        gpu = gpus[number]
        failed = (gpu.died is not None and gpu.died < until) if unit == "gpu" else node in erring
        names = groups(node, gpu.batch)
        past.sizes.update(names)
        history = tuple(own[number if unit == "gpu" else node])
        found.append(Case(cut, titan.places(node)["cabinet"], history, names, failed))
    return found, past


def groups(node: str, batch: str) -> tuple[str, ...]:
    """The fleet first, then what is shared. The batch of a part is on its label."""
    shared = {**titan.places(node), "batch": batch}
    return ("fleet", *(f"{kind}/{name}" for kind, name in shared.items()))


def of_product(pasts: dict[float, Past], weights: Weights) -> Score:
    known: dict[tuple[float, str], Group] = {}

    def group(cut: float, name: str) -> Group:
        if (cut, name) not in known:
            known[cut, name] = pasts[cut].group(name, cut, weights)
        return known[cut, name]

    def judge(case: Case) -> float:
        fleet, *shared = (group(case.cut, name) for name in case.groups)
        return score(case.own, (), Neighbours(fleet=fleet, shared=tuple(shared)), case.cut, weights).score

    return judge


def most_failures(case: Case) -> float:
    return float(len(case.own))


def rank(found: Sequence[Case], by: Score) -> list[Ranked]:
    """Each cut-off's cases, the highest score first; equal scores in an order that says nothing."""
    ranked = [Ranked(case.cut, case.cabinet, by(case), case.failed) for case in found]
    shuffled = random.Random(0).sample(ranked, len(ranked))
    return sorted(shuffled, key=lambda case: (case.cut, -case.score))


def area(ranked: Sequence[Ranked], drawn: Counter[str]) -> float:
    """Mean over the cut-offs of the chance that one which failed was scored above one which did not."""
    areas = []
    for cut in sorted({case.cut for case in ranked}):
        of_cut = [case for case in ranked if case.cut == cut]
        areas.append(_area(of_cut, drawn))
    return sum(areas) / len(areas)


def _area(ranked: Sequence[Ranked], drawn: Counter[str]) -> float:
    failed_above = healthy = failed = won = 0.0
    tied_failed = tied_healthy = 0.0
    last = float("inf")
    for case in ranked:
        weight = drawn[case.cabinet]
        if case.score != last:
            won += tied_healthy * (failed_above + tied_failed / 2)
            failed_above += tied_failed
            tied_failed = tied_healthy = 0.0
            last = case.score
        if case.failed:
            tied_failed += weight
            failed += weight
        else:
            tied_healthy += weight
            healthy += weight
    won += tied_healthy * (failed_above + tied_failed / 2)
    return won / (failed * healthy) if failed and healthy else 0.5


def precision(ranked: Sequence[Ranked], drawn: Counter[str], *, share: float) -> float:
    """Of the top share at every cut-off together, how many failed."""
    hit = seen = 0
    for cut in sorted({case.cut for case in ranked}):
        of_cut = [case for case in ranked if case.cut == cut]
        room = share * sum(drawn[case.cabinet] for case in of_cut)
        for case in of_cut:
            if room <= 0:
                break
            room -= drawn[case.cabinet]
            seen += drawn[case.cabinet]
            hit += drawn[case.cabinet] * case.failed
    return hit / seen if seen else 0.0


def interval(figure: Callable[[Counter[str]], float], cabinets: Sequence[str], draws: int) -> list[float]:
    """The figure on all cabinets, and the 95 % interval from drawing whole cabinets with replacement."""
    chance = random.Random(1)
    values = sorted(figure(Counter(chance.choices(cabinets, k=len(cabinets)))) for _ in range(draws))
    low, high = values[int(0.025 * draws)], values[min(draws - 1, int(0.975 * draws))]
    return [round(value, 4) for value in (figure(Counter(cabinets)), low, high)]


def chosen(found: Sequence[Case], pasts: dict[float, Past]) -> Weights:
    """The best on these cases by area, two weights at a time; a tie keeps the first."""
    cabinets = Counter({case.cabinet: 1 for case in found})

    def best(of: list[Weights]) -> Weights:
        return max(of, key=lambda weights: round(area(rank(found, of_product(pasts, weights)), cabinets), 3))

    start = Weights()
    start = best(
        [
            replace(start, half_life_seconds=days * DAY, doubt_nodes=doubt)
            for days, doubt in product((90, 180, 365, 730), (10.0, 30.0, 100.0, 300.0))
        ]
    )
    return best(
        [replace(start, same_cause=same, shared=own) for same, own in product((0.0, 1.0), (1.0, 3.0, 10.0, 30.0))]
    )


def judged(found: Sequence[Case], by: Score, draws: int) -> dict[str, object]:
    cabinets = sorted({case.cabinet for case in found})
    ranked = rank(found, by)
    base = sum(case.failed for case in found) / len(found)
    figures: dict[str, object] = {"auc": interval(lambda drawn: area(ranked, drawn), cabinets, draws)}
    for share in TOP:
        top = interval(partial(precision, ranked, share=share), cabinets, draws)
        figures[f"precision_at_{share:.0%}"] = top
        figures[f"lift_at_{share:.0%}"] = round(top[0] / base, 2)
    return figures


def halves(found: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """By cabinet, so that no cage is on both sides; which side is decided by the cabinet's name alone."""
    here = [case for case in found if crc32(case.cabinet.encode()) % 2 == 0]
    there = [case for case in found if crc32(case.cabinet.encode()) % 2 == 1]
    return here, there


@dataclass(frozen=True, slots=True)
class Trial:
    """The cases of both halves of the cabinets, and what was known at each cut-off."""

    tuning: list[Case]
    held_out: list[Case]
    pasts: dict[float, Past]


def trial(unit: str, cuts: Sequence[str] = CUTS) -> Trial:
    gpus, faults = titan.load()
    looks = {cut: look(unit, gpus, faults, cut) for cut in map(midnight, cuts)}
    tuning, held_out = halves([case for found, _ in looks.values() for case in found])
    return Trial(tuning, held_out, {cut: past for cut, (_, past) in looks.items()})


def evaluate(unit: str, draws: int) -> dict[str, object]:
    of = trial(unit)
    best = chosen(of.tuning, of.pasts)
    product_score = of_product(of.pasts, Weights())
    every = Counter({case.cabinet: 1 for case in of.held_out})
    ranked = rank(of.held_out, product_score)
    return {
        "cases": len(of.held_out),
        "failed": sum(case.failed for case in of.held_out),
        "base_rate": round(sum(case.failed for case in of.held_out) / len(of.held_out), 4),
        "with_own_history": sum(bool(case.own) for case in of.held_out),
        "product": judged(of.held_out, product_score, draws),
        "own_history_only": judged(of.held_out, of_product(of.pasts, Weights(shared=0.0)), draws),
        "most_failures_so_far": judged(of.held_out, most_failures, draws),
        "auc_by_cut": {
            name: round(_area([case for case in ranked if case.cut == midnight(name)], every), 3) for name in CUTS
        },
        "chosen_on_the_other_half": {
            "half_life_days": best.half_life_seconds / DAY,
            "doubt_nodes": best.doubt_nodes,
            "same_cause": best.same_cause,
            "shared": best.shared,
        },
    }


def midnight(day: str) -> float:
    return titan.moment(f"{day} 00:00:00")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=300, help="bootstrap draws of whole cabinets")
    draws = parser.parse_args().draws
    if not titan.available():
        raise SystemExit(f"no lifetimes in {titan.DATA}; set HOLDFAST_REAL_DATA")
    publish("repeat_offenders", {unit: evaluate(unit, draws) for unit in HORIZON_SECONDS})


if __name__ == "__main__":
    main()
