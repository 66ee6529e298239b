"""`python -m tests.fuzz.guided [--seconds N] [--only TEXT]`: coverage-guided fuzzing of every reader with atheris.

Atheris (libFuzzer) keeps each input that reaches a new branch and mutates it further. It is not a dependency of the
project: `pip install atheris`. The rules of a failure are those of tests.fuzz.run.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.run import LONGEST, SECONDS, Result, attempt, dictionary, fewest_first, keep, prepare
from tests.fuzz.targets import targets

INPUTS = 1_000_000
_EXECUTED = re.compile(r"stat::number_of_executed_units:\s+(\d+)")
_EDGES = re.compile(r"\bcov: (\d+)")
_ESCAPE = re.compile(r"^(escape: .*|==\d+==\s*ERROR.*|.*(?:timeout|out-of-memory|Error: ).*)$", re.MULTILINE)


def child(name: str, corpus: str, seconds: int) -> None:
    """Fuzzes one target in this process until libFuzzer ends it."""
    import atheris  # type: ignore[import-not-found,unused-ignore]

    with atheris.instrument_imports(include=["holdfast"]):
        target = next(one for one in targets() if one.name == name)
        prepare(target)  # imports what the target reads with

    def one_input(data: bytes) -> None:
        why = attempt(target, data.decode("utf-8", "replace") if target.takes is str else data)
        if why:
            sys.stderr.write(f"escape: {why} {data[:300]!r}\n")
            sys.stderr.flush()
            raise SystemExit(77)

    options = [f"-runs={INPUTS}", f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-print_final_stats=1",
               "-rss_limit_mb=4096", f"-timeout={int(SECONDS) * 10}", f"-artifact_prefix={corpus}-"]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, corpus], one_input)
    atheris.Fuzz()


def guided(name: str, words: list[str], seconds: int) -> tuple[Result, int]:
    """What a process of its own found, and how many branches it reached."""
    with tempfile.TemporaryDirectory() as scratch:
        corpus = Path(scratch) / "corpus"
        corpus.mkdir()
        for number, word in enumerate(words):
            (corpus / str(number)).write_bytes(word.encode("utf-8", "surrogatepass")[:LONGEST])
        command = [sys.executable, "-m", "tests.fuzz.guided", "--child", name, "--corpus", str(corpus)]
        ended = subprocess.run([*command, "--seconds", str(seconds)], capture_output=True, check=False)
    text = ended.stderr.decode("utf-8", "replace") + ended.stdout.decode("utf-8", "replace")
    executed, edges = _EXECUTED.search(text), _EDGES.findall(text)
    why = ""
    if ended.returncode:
        found = _ESCAPE.search(text)
        why = found[0][:600] if found else f"ended with code {ended.returncode}: {text[-600:]}"
    inputs = int(executed[1]) if executed else 0
    return Result(name, inputs, float(seconds), why), int(edges[-1]) if edges else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--only", default="")
    parser.add_argument("--child", default="")
    parser.add_argument("--corpus", default="")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.corpus, options.seconds)
    bad = 0
    for target in fewest_first(targets(), options.keep):
        if options.only in target.name:
            one, edges = guided(target.name, dictionary(target), options.seconds)
            bad += bool(one.failure)
            print(f"{one.name:60} {one.inputs:9} inputs {edges:6} branches  {one.failure or 'ok'}", flush=True)
            if options.keep:
                keep(options.keep, one, edges)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
