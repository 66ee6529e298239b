"""Device memory: copy bandwidth, and whether it returns the written patterns."""

import time

import torch

from holdfast.node.probes.active.bench import Bench, FoundDevices, Notify, ProbeDevice, Stopwatch, settle

COPY_BYTES = {"cuda": 1 << 30, "cpu": 32 << 20}
BLOCK_BYTES = {"cuda": 1 << 30, "cpu": 32 << 20}
MOST_BLOCKS_OF_A_CPU = 2
SHARE_OF_FREE = 0.9
PATTERNS = (0, -1, 0x55555555, -0x55555556)  # every bit both ways, and against its neighbours
WORD_BYTES = 4


def measure(bench: Bench, notify: Notify) -> FoundDevices:
    found = FoundDevices()

    def work(device: ProbeDevice, seconds: float) -> None:
        notify(f"{device.label} bandwidth")
        found.record(device.subject, "probe_memory_bytes_per_second", _copy_rate(device, seconds / 3))
        notify(f"{device.label} patterns")
        tested, wrong = _patterns(device, seconds * 2 / 3)
        found.record(device.subject, "probe_memory_tested_bytes", float(tested))
        found.record(device.subject, "probe_memory_wrong_words", float(wrong))

    bench.on_each(work)
    return found


def _copy_rate(device: ProbeDevice, seconds: float) -> float:
    """Bytes read and written per second."""
    size = COPY_BYTES["cuda" if device.cuda else "cpu"]
    source = torch.ones(size // WORD_BYTES, dtype=torch.int32, device=device.torch_name)
    target = torch.empty_like(source)
    target.copy_(source)
    settle(device)
    watch, busy, done = Stopwatch(seconds), 0.0, 0
    while watch.running or not done:
        began = time.perf_counter()
        for _ in range(4):
            target.copy_(source)
        settle(device)
        busy += time.perf_counter() - began
        done += 4
    return 2.0 * size * done / busy


def _patterns(device: ProbeDevice, seconds: float) -> tuple[int, int]:
    """Writes all blocks before it reads the first one, so that the data must be retained for a while."""
    blocks = _blocks(device)
    places = torch.arange(blocks[0].numel(), dtype=torch.int32, device=device.torch_name)
    watch, wrong, rounds = Stopwatch(seconds), 0, 0
    while watch.running or rounds < 1:
        for pattern in PATTERNS:
            for block in blocks:
                block.fill_(pattern)
            wrong += sum(int((block != pattern).sum().item()) for block in blocks)
            if not watch.running and rounds:
                break
        # a value that depends on the address reveals lines that answer for others
        for number, block in enumerate(blocks):
            torch.add(places, number, out=block)
        wrong += sum(int((block != places + number).sum().item()) for number, block in enumerate(blocks))
        rounds += 1
    return sum(block.numel() * WORD_BYTES for block in blocks), wrong


def _blocks(device: ProbeDevice) -> list[torch.Tensor]:
    words = BLOCK_BYTES["cuda" if device.cuda else "cpu"] // WORD_BYTES
    count = MOST_BLOCKS_OF_A_CPU
    if device.cuda:
        free, _ = torch.cuda.mem_get_info(device.torch_name)
        count = max(1, int(free * SHARE_OF_FREE) // (words * WORD_BYTES) - 2)  # two more for the comparison
    return [torch.empty(words, dtype=torch.int32, device=device.torch_name) for _ in range(count)]
