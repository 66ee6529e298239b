"""Score `holdfast diagnose` on a corpus of logs with known answers, kept outside the repository.

The corpus is a folder with `truth.tsv`, a table with a tab between its columns:
file; causes (accepted names with a comma between, `calm` for a run that is well); fix (a regular expression that the
advice must match); never (one that the answer must not match); source.
"""

import argparse
import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast.diagnosis.evidence import files
from holdfast.diagnosis.rules import report
from holdfast.diagnosis.rules.diagnose import diagnose

CALM = "calm"
SURE = 0.8
BINS = ((0.0, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.01))


@dataclass(frozen=True)
class Case:
    file: str
    causes: tuple[str, ...]
    fix: str
    never: str


@dataclass(frozen=True)
class Score:
    case: Case
    found: str  # the first cause, '' where nothing was found
    confidence: float
    right: bool
    fixed: bool
    text: str

    @property
    def outcome(self) -> str:
        if self.right:
            return "right"
        if not self.found:
            return "silent"
        if self.found == "unknown":
            return "unknown"
        return "confidently wrong" if self.confidence >= SURE else "wrong"


def cases(corpus: Path, part: str) -> Iterator[Case]:
    with (corpus / "truth.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["file"].startswith(part):
                yield Case(row["file"], tuple(row["causes"].split(",")), row["fix"], row["never"])


def score(corpus: Path, case: Case) -> Score:
    evidence, _ = files.read(corpus / case.file)
    diagnosis = diagnose(evidence)
    first = diagnosis.causes[0] if diagnosis.causes else None
    found = first.name if first else ""
    headline = report.lines(diagnosis)[0]
    advice = "\n".join([*report.next_lines(diagnosis), *diagnosis.unseen])
    right = (found or CALM) in case.causes
    if right and case.never and re.search(case.never, headline + "\n" + advice):
        right = False
    fixed = (
        bool(re.search(case.fix, advice, re.IGNORECASE)) if case.fix and found else not found and CALM in case.causes
    )
    shown = "\n".join(
        [*report.lines(diagnosis), *report.next_lines(diagnosis), *(f"unseen: {one}" for one in diagnosis.unseen)]
    )
    return Score(case, found, first.confidence if first else 0.0, right, fixed, shown)


def summary(scores: list[Score]) -> dict[str, object]:
    failing = [one for one in scores if one.case.causes[0] != CALM]
    calm = [one for one in scores if one.case.causes[0] == CALM]
    with_fix = [one for one in failing if one.case.fix]
    return {
        "failing": len(failing),
        "first_cause_right": sum(one.right for one in failing),
        "fix_known": len(with_fix),
        "fix_named": sum(one.fixed for one in with_fix),
        "confidently_wrong": sum(one.outcome == "confidently wrong" for one in scores),
        # the name of the cause is not the label's, but the advice holds the label's fix: no reader is misled
        "confidently_wrong_with_the_fix": sum(one.outcome == "confidently wrong" and one.fixed for one in scores),
        "outcomes": dict(Counter(one.outcome for one in failing)),
        "calm": len(calm),
        "calm_silent": sum(one.right for one in calm),
        "by_class": _by_class(failing),
        "reliability": [
            {"from": low, "to": min(high, 1.0), "answers": len(inside), "right": sum(one.right for one in inside)}
            for low, high in BINS
            for inside in [[one for one in scores if one.found and low <= one.confidence < high]]
        ],
    }


def _by_class(failing: list[Score]) -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = {}
    for one in failing:
        row = table.setdefault(one.case.causes[0].partition(".")[0], {"cases": 0, "right": 0, "fix_named": 0})
        row["cases"] += 1
        row["right"] += one.right
        row["fix_named"] += one.fixed
    return table


def show(result: dict[str, object]) -> None:
    failing, calm = int(str(result["failing"])), int(str(result["calm"]))
    print(f"first cause right  {result['first_cause_right']} of {failing}")
    print(f"fix named          {result['fix_named']} of {result['fix_known']}")
    print(
        f"confidently wrong  {result['confidently_wrong']} of {failing + calm}, "
        f"of which {result['confidently_wrong_with_the_fix']} name the fix"
    )
    print(f"calm and silent    {result['calm_silent']} of {calm}")
    print(f"outcomes           {result['outcomes']}")
    for name, row in result["by_class"].items():  # type: ignore[attr-defined]
        print(f"  {name:10} {row['right']:3} right, {row['fix_named']:3} fixed, of {row['cases']}")
    print("confidence   answers  right")
    for row in result["reliability"]:  # type: ignore[attr-defined]
        print(f"  {row['from']:.1f}-{row['to']:.1f}   {row['answers']:6} {row['right']:6}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--part", default="", help="only files whose name begins with this")
    parser.add_argument("--wrong", action="store_true", help="print the answers that are not right")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    scores = [score(options.corpus, case) for case in cases(options.corpus, options.part)]
    if not scores:
        sys.exit(f"{options.corpus}: no case")
    for one in scores if options.wrong else []:
        if not (one.right and one.fixed):
            missed = "" if one.fixed else ", fix not named"
            print(f"--- {one.case.file}: {one.outcome}{missed}; true {','.join(one.case.causes)}")
            print(one.text)
    result = summary(scores)
    print(json.dumps(result, indent=1)) if options.json else show(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
