"""Sustained matrix products at several precisions. Every result is compared with the expected one."""

import time

import torch

from holdfast.node.probes.active.bench import Bench, FoundDevices, Notify, ProbeDevice, Stopwatch, settle

PRECISIONS = {"cuda": ("fp32", "fp16", "bf16"), "cpu": ("fp32", "bf16")}
_TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
SIDE = {"cuda": 8192, "cpu": 384}
ROWS_CHECKED_ELSEWHERE = 8  # size of the reference, with integers on the CPU
AT_ONCE = {"cuda": 16, "cpu": 1}  # products queued before a wait
SEED = 20


def measure(bench: Bench, notify: Notify) -> FoundDevices:
    found = FoundDevices()
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False  # sums of integers stay exact
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False

    def work(device: ProbeDevice, seconds: float) -> None:
        kind = "cuda" if device.cuda else "cpu"
        wrong = 0
        for precision in PRECISIONS[kind]:
            notify(f"{device.label} {precision}")
            rate, bad = _sustain(device, kind, precision, seconds / len(PRECISIONS[kind]))
            found.record(device.subject, f"probe_burn_in_{precision}_flops_per_second", rate)
            wrong += bad
        found.record(device.subject, "probe_burn_in_wrong_steps", float(wrong))

    bench.on_each(work)
    return found


def _sustain(device: ProbeDevice, kind: str, precision: str, seconds: float) -> tuple[float, int]:
    """Floating point operations per second of the products alone, and the number of wrong results."""
    side = SIDE[kind]
    left, right, expected, sound = _known_product(device, side, _TYPES[precision])
    got = torch.empty_like(expected)
    wrong, busy, done = int(not sound), 0.0, 0
    torch.matmul(left, right, out=got)  # the first product includes the choice of a kernel
    settle(device)
    watch = Stopwatch(seconds)
    while watch.running or not done:
        began = time.perf_counter()
        for _ in range(AT_ONCE[kind]):
            torch.matmul(left, right, out=got)
        settle(device)
        busy += time.perf_counter() - began
        done += AT_ONCE[kind]
        wrong += int(not torch.equal(got, expected))
    return 2.0 * side**3 * done / busy, wrong


def _known_product(
    device: ProbeDevice, side: int, kind: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, bool]:
    """Small integers: their sums are exact in fp32, so any order of addition gives the same bits."""
    random = torch.Generator().manual_seed(SEED)
    left = torch.randint(-4, 5, (side, side), generator=random, dtype=torch.float32)
    right = torch.randint(-4, 5, (side, side), generator=random, dtype=torch.float32)
    rows = left[:ROWS_CHECKED_ELSEWHERE].double() @ right.double()
    here, there = left.to(device.torch_name), right.to(device.torch_name)
    exact = here @ there
    sound = torch.equal(exact[:ROWS_CHECKED_ELSEWHERE].double().cpu(), rows)
    return here.to(kind), there.to(kind), exact.to(kind), sound
