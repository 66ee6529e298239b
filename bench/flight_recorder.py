"""How long the dumps of a whole job take: 1,024 generated ranks, and real ones beside PyTorch's own analyser.

python bench/flight_recorder.py [--ranks 1024] [--real FOLDER_OF_PICKLES]
"""

import argparse
import json
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ENTRIES = 2000
BIN = Path(sys.executable).parent
RESULT = Path(__file__).parent / "results" / "flight_recorder.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--real", type=Path, default=None, help="dumps of one job, named PREFIXrank")
    options = parser.parse_args()
    figures: dict[str, Any] = {"bench": "flight_recorder", "ranks": options.ranks, "entries_per_rank": ENTRIES}
    with tempfile.TemporaryDirectory() as folder:
        late = options.ranks // 2
        write(Path(folder), options.ranks, late)
        figures["bytes"] = sum(file.stat().st_size for file in Path(folder).iterdir())
        seconds, document = diagnose(Path(folder))
        figures |= {"seconds": round(seconds, 2), "right": f"rank {late} did not join" in document}
    if options.real is not None:
        figures["real_seconds"] = round(diagnose(options.real)[0], 2)
        figures["torchfrtrace_seconds"] = round(torchfrtrace(options.real), 2)
        figures["ratio_to_torchfrtrace"] = round(figures["real_seconds"] / figures["torchfrtrace_seconds"], 2)
    line = json.dumps(figures)
    print(line)
    RESULT.write_text(line + "\n")


def write(folder: Path, ranks: int, late: int) -> None:
    """Every rank's last collectives; one has not enqueued the last."""
    members = json.dumps(list(range(ranks)))
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": members}}
    entries = [entry(number) for number in range(1, ENTRIES + 1)]
    entries[-1] |= {"state": "started", "time_discovered_completed_ns": None, "retired": False}
    for rank in range(ranks):
        own = entries[:-1] if rank == late else entries
        last = ENTRIES - (rank == late)
        progress = {"last_enqueued_collective": last, "last_started_collective": last}
        status = {"0": {**progress, "last_completed_collective": ENTRIES - 1}}
        dump = {"version": "2.10", "pg_config": config, "pg_status": status, "entries": own}
        (folder / f"dump_{rank}").write_bytes(pickle.dumps(dump, protocol=2))


def entry(number: int) -> dict[str, Any]:
    at = 1_700_000_000_000_000_000 + number * 10_000_000
    return {
        "record_id": number + 100_000, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": number,
        "p2p_seq_id": 0, "op_id": number, "profiling_name": "nccl:all_reduce", "time_created_ns": at,
        "time_discovered_started_ns": at + 1000, "time_discovered_completed_ns": at + 2000, "duration_ms": 1.0,
        "input_sizes": [[4096, 1024]], "output_sizes": [[4096, 1024]], "input_dtypes": ["BFloat16"],
        "output_dtypes": ["BFloat16"], "state": "completed", "timeout_ms": 600_000, "is_p2p": False, "retired": True,
        "thread_id": str(number % 4), "thread_name": "pt_main_thread",
    }  # fmt: skip


def diagnose(folder: Path) -> tuple[float, str]:
    began = time.monotonic()
    done = subprocess.run([BIN / "holdfast", "diagnose", "--json", folder], capture_output=True, text=True, check=True)
    return time.monotonic() - began, done.stdout


def torchfrtrace(folder: Path) -> float:
    prefix = sorted(file.name for file in folder.iterdir())[0].rstrip("0123456789")
    began = time.monotonic()
    subprocess.run([BIN / "torchfrtrace", "--prefix", prefix, folder], capture_output=True, check=False)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
