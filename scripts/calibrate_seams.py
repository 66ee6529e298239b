"""Calibrates the confidence of findings with random drills: writes holdfast/catalog/seam_confidence.csv.

A seventh of the drills are drawn as usual, a seventh hard, and the rest on plants drawn wide, of the five families that
limits may be tuned on. One plant in four is kept out of the fit and shows how well it holds on plants it was not made
of. Seeds that are used here must not be used to judge the result.
"""

import argparse
from dataclasses import replace
from itertools import chain
from pathlib import Path
from zlib import crc32

from holdfast.catalog.seam_confidence import calibrated, knots
from holdfast.lab.drills.batch import Outcome, fuzz, fuzz_tasks, fuzz_wide
from holdfast.lab.drills.reliability import ScoredFinding, bands, fitted

FILE = Path(__file__).parents[1] / "holdfast" / "catalog" / "seam_confidence.csv"
HEAD = (
    "# Calibration of the seams: of findings with the weight `raw`, the share `confidence` was right in random drills.",
    "# Made by `python scripts/calibrate_seams.py`; between two rows a straight line.",
)
MOST = 0.98  # drills are simulated, so they cannot justify a higher confidence
# a finding from one instrument never gets a high confidence, even if it was often right
WEAK, MOST_OF_WEAK = 0.85, 0.79


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=400)
    options.add_argument("--first", type=int, default=40_001)
    options.add_argument("--processes", type=int, default=0)
    asked = options.parse_args()
    part = asked.seeds // 7
    todo = [*fuzz_tasks(part, asked.first, "", 0.15), *fuzz_tasks(part, asked.first + part, "", 0.15, hard=True)]
    outcomes = fuzz(todo, asked.processes)
    for number, family in enumerate(("tuned", "other", "third", "fourth", "fifth")):
        outcomes += fuzz_wide(part, asked.first + (2 + number) * part, asked.processes, family)
    claims: list[ScoredFinding] = list(chain.from_iterable(one["claims"] for one in outcomes if not _checks(one)))
    found = [(0.0, 0.0), *capped(fitted(claims)), (1.0, MOST)]
    head = [*HEAD, f"# {len(claims)} findings of drills with seeds {asked.first} to {asked.first + 7 * part - 1}."]
    rows = [f"{raw:.4f},{min(confidence, MOST):.4f}" for raw, confidence in found]
    FILE.write_text("\n".join([*head, "raw,confidence", *rows, ""]), encoding="utf-8")
    print(f"{len(claims)} findings of {len(outcomes)} drills, {sum(one.right for one in claims)} right; {FILE} written")
    knots.cache_clear()
    checked = [claim for one in outcomes if _checks(one) for claim in one["claims"]]
    for band in bands(replace(claim, confidence=calibrated(claim.raw)) for claim in checked):
        print("kept out of the fit:", band.as_json())


def capped(knots: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Where weak evidence was right more often than it may be said, a knot at its edge keeps it below."""
    weak = [(raw, min(said, MOST_OF_WEAK)) for raw, said in knots if raw < WEAK]
    strong = [(raw, said) for raw, said in knots if raw >= WEAK]
    return [*weak, (WEAK, MOST_OF_WEAK), *strong] if weak else strong


def _checks(outcome: Outcome) -> bool:
    """Is it one of the plants that are kept out of the fit?"""
    return crc32(outcome["drill"].encode()) % 4 == 0


if __name__ == "__main__":
    main()
