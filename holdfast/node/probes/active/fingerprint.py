"""Digest of the results of a product, an attention and a sum, for fixed inputs over several value ranges.

Healthy devices of one model with the same libraries agree to the last bit. A digest that differs from the others, or
between repeats, is a silent corruption. The calculation is repeated, because such faults are rare.
"""

import hashlib

import torch

from holdfast.node.probes.active.bench import Bench, FoundDevices, Notify, ProbeDevice, Stopwatch

SEED = 7
SCALES = (1e-3, 1.0, 1e3)  # small, ordinary and large values are rounded differently
SIDE = {True: 2048, False: 128}
HEADS, WIDTH = 8, 64
LEAST_REPEATS = 3


def measure(bench: Bench, notify: Notify) -> FoundDevices:
    found = FoundDevices()

    def work(device: ProbeDevice, seconds: float) -> None:
        notify(device.label)
        first = digest(device)
        unstable, repeats, watch = 0, 1, Stopwatch(seconds)
        while watch.running or repeats < LEAST_REPEATS:
            unstable += digest(device) != first
            repeats += 1
        found.record(device.subject, "probe_fingerprint", first)
        found.record(device.subject, "probe_fingerprint_key", key(device))
        found.record(device.subject, "probe_fingerprint_repeats", float(repeats))
        found.record(device.subject, "probe_fingerprint_unstable", float(unstable))

    bench.on_each(work)
    return found


def key(device: ProbeDevice) -> str:
    """Key of comparable digests: the model and every library that computes."""
    if device.cuda:
        model = torch.cuda.get_device_name(device.torch_name)
        return f"{model} torch {torch.__version__} cuda {torch.version.cuda}"
    return f"{_cpu_model()} {torch.backends.cpu.get_cpu_capability()} torch {torch.__version__}"


def _cpu_model(path: str = "/proc/cpuinfo") -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return names[0] if names else "unknown CPU"


def digest(device: ProbeDevice, flip: bool = False) -> str:
    """Digest of the results. `flip` is a drill: it flips one bit of one input."""
    torch.backends.cuda.matmul.allow_tf32 = False
    threads = torch.get_num_threads()
    if not device.cuda:
        torch.set_num_threads(1)  # sums on a CPU depend on the number of threads
    try:
        return _digest(device, flip)
    finally:
        if not device.cuda:
            torch.set_num_threads(threads)


def _digest(device: ProbeDevice, flip: bool) -> str:
    bits = hashlib.sha256()
    random = torch.Generator().manual_seed(SEED)  # drawn on the CPU: the same numbers for every device
    side = SIDE[device.cuda]
    for scale in SCALES:
        left, right = (torch.randn(side, side, generator=random) * scale for _ in range(2))
        if flip:
            left.view(torch.int32)[side // 2, side // 3] ^= 1 << 12
        here, there = left.to(device.torch_name), right.to(device.torch_name)
        queries, keys = here.view(1, HEADS, -1, WIDTH), there.view(1, HEADS, -1, WIDTH)
        attended = torch.nn.functional.scaled_dot_product_attention(queries, keys, queries)
        for result in (here @ there, attended, here.sum(dim=0), there.bfloat16() @ here.bfloat16()):
            bits.update(result.float().cpu().numpy().tobytes())
    return bits.hexdigest()[:32]
