"""A training script, run several times from one process that imported its framework once: that takes most of a run.

    python forked_script.py SCRIPT

Each line of standard input is a JSON list of arguments, each line of standard output the exit code of that run.
"""

import importlib
import json
import multiprocessing
import runpy
import sys
from pathlib import Path


def run(script: Path, arguments: list[str]) -> None:
    sys.argv = [str(script), *arguments]
    sys.stdout = sys.stderr  # ours is for the exit codes
    runpy.run_path(str(script), run_name="__main__")


def main() -> None:
    script = Path(sys.argv[1])
    sys.path.insert(0, str(script.parent))
    importlib.import_module(script.stem)
    fork = multiprocessing.get_context("fork")
    for line in sys.stdin:
        process = fork.Process(target=run, args=(script, json.loads(line)))
        process.start()
        process.join()
        print(process.exitcode, flush=True)


if __name__ == "__main__":
    main()
