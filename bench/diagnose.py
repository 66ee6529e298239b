"""How fast `holdfast diagnose` reads a mixed log on one core, beside ripgrep and a line-by-line loop in Python."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import HOLDFAST, one_shot, publish

from holdfast.formats.job.readers import keywords

MEGABYTES = 1000
LOOP_MEGABYTES = 8  # the loop is slow: it reads a part and its speed is what counts
RUNS = 3
MOST_BYTES = 300e6
AIM = 250.0


def block(number: int) -> bytes:
    """A megabyte of what long runs write: steps, NCCL's start, loggers, progress bars, warnings."""
    lines = []
    size = 0
    step = number * 4000
    while size < 1_000_000:
        step += 1
        rank = step % 64
        stamp = f"2026-03-{1 + number % 28:02d} {step // 3600 % 24:02d}:{step // 60 % 60:02d}:{step % 60:02d}"
        lines += [
            f"[{stamp}] iteration {step:8d}/ 5000000 | consumed samples: {step * 512:12d} | elapsed time per iteration "
            f"(ms): {5000 + step % 37:.1f} | learning rate: 1.500E-04 | global batch size:   512 | lm loss: "
            f"{2.4 + step % 11 / 100:.6E} | loss scale: 1.0 | grad norm: 0.412 | number of nan iterations:   0 |",
            *(
                f"node-{rank}:{5776 + peer}:{5902 + peer} [{peer}] NCCL INFO Channel {peer:02d}/32 : {rank}[{peer}] -> "
                f"{rank + 1}[{peer}] via P2P/CUMEM/read"
                for peer in range(4)
            ),
            *(
                f"[rank{rank}]: {stamp},{peer:03d} [INFO] [dataset.py:{90 + peer}:prefetch] shard {step % 997} of "
                f"bucket {peer} ready after {step % 17}.{peer} s, {step * 31 % 100003} records kept, queue {peer} of 32"
                for peer in range(9)
            ),
            f"/opt/lib/python3.11/site-packages/torch/utils/checkpoint.py:295: FutureWarning: use_reentrant {step}",
        ]
        size += sum(map(len, lines[-15:])) + 15
    return ("\n".join(lines) + "\n").encode()


def write_log(path: Path, megabytes: int) -> int:
    blocks = [block(number) for number in range(8)]
    last = (
        "[rank3]: Traceback (most recent call last):\n"
        '[rank3]:   File "/work/run/train.py", line 211, in main\n'
        "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.\n"
    )
    with path.open("wb") as file:
        for number in range(megabytes):
            file.write(blocks[number % len(blocks)])
        file.write(last.encode())
    return path.stat().st_size


def speed(command: list[str], size: int) -> tuple[float, int]:
    """(best MB per second of CPU on one core, which neighbours on a shared machine do not change; peak bytes)."""
    runs = [one_shot(["taskset", "-c", "0", *command]) for _ in range(RUNS)]
    return size / min(cpu for _, cpu, _ in runs) / 1e6, max(peak for _, _, peak in runs)


def loop_speed(path: Path) -> float:
    """What a plain script does: every line against one regular expression of the same words."""
    words = re.compile(b"|".join(re.escape(word) for word in keywords()))
    size = 0
    started = time.process_time()
    with path.open("rb") as file:
        for line in file:
            words.search(line)
            size += len(line)
            if size > LOOP_MEGABYTES * 1e6:
                break
    return size / (time.process_time() - started) / 1e6


def main() -> int:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES
    with tempfile.TemporaryDirectory() as folder:
        path, patterns = Path(folder, "mixed.log"), Path(folder, "patterns")
        size = write_log(path, megabytes)
        patterns.write_bytes(b"\n".join(word for word in keywords() if b"\n" not in word and b"\r" not in word) + b"\n")
        answer = json.loads(subprocess.run([HOLDFAST, "diagnose", "--json", str(path)], capture_output=True).stdout)
        ours, peak = speed([HOLDFAST, "diagnose", "--json", str(path)], size)
        ripgrep = shutil.which("rg")
        theirs = speed([ripgrep, "-j1", "-a", "-c", "-F", "-f", str(patterns), str(path)], size)[0] if ripgrep else None
        loop = loop_speed(path)
    figures = {
        "log_megabytes": round(size / 1e6),
        "words": len(keywords()),
        "cause": answer["causes"][0]["cause"],
        "megabytes_per_second": round(ours),
        "ripgrep_megabytes_per_second": theirs and round(theirs),
        "python_loop_megabytes_per_second": round(loop, 1),
        "ratio_to_ripgrep": theirs and round(ours / theirs, 2),
        "ratio_to_loop": round(ours / loop, 1),
        "peak_megabytes": round(peak / 1e6),
        "aim_megabytes_per_second": AIM,
        "holds": ours >= AIM and peak <= MOST_BYTES,
    }
    publish("diagnose", figures)
    return 0 if figures["holds"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
