"""What a finding's weighing is worth, learnt from drawn drills: writes holdfast/catalog/seam_confidence.csv.

A quarter of the drills are drawn as usual, a quarter hard, and half on plants drawn wide, of the two families that
limits may be tuned on. Seeds that are used here must not be used to judge the result.
"""

import argparse
from itertools import chain
from pathlib import Path

from holdfast.lab.drills.batch import fuzz, fuzz_tasks, fuzz_wide
from holdfast.lab.drills.reliability import ScoredFinding, fitted

FILE = Path(__file__).parents[1] / "holdfast" / "catalog" / "seam_confidence.csv"
HEAD = (
    "# What a seam's own weighing is worth: of findings weighed so (raw), this share was right in drawn drills.",
    "# Made by `python scripts/calibrate_seams.py`; between two rows a straight line.",
)
MOST = 0.98  # drills are of our own making: nothing in them proves more


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=400)
    options.add_argument("--first", type=int, default=40_001)
    options.add_argument("--processes", type=int, default=0)
    asked = options.parse_args()
    part = asked.seeds // 4
    todo = [*fuzz_tasks(part, asked.first, "", 0.15), *fuzz_tasks(part, asked.first + part, "", 0.15, hard=True)]
    outcomes = fuzz(todo, asked.processes)
    for number, family in enumerate(("tuned", "other")):
        outcomes += fuzz_wide(part, asked.first + (2 + number) * part, asked.processes, family)
    claims: list[ScoredFinding] = list(chain.from_iterable(one["claims"] for one in outcomes))
    found = [(0.0, 0.0), *fitted(claims), (1.0, MOST)]
    head = [*HEAD, f"# {len(claims)} findings of drills with seeds {asked.first} to {asked.first + 4 * part - 1}."]
    rows = [f"{raw:.4f},{min(confidence, MOST):.4f}" for raw, confidence in found]
    FILE.write_text("\n".join([*head, "raw,confidence", *rows, ""]), encoding="utf-8")
    print(f"{len(claims)} findings of {len(outcomes)} drills, {sum(one.right for one in claims)} right; {FILE} written")


if __name__ == "__main__":
    main()
