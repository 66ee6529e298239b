"""Every ordered pair of devices: bandwidth, latency and correctness of copies."""

from itertools import permutations
from statistics import median

from holdfast.node.probes.active.bench import Bench, FoundDevices, Notify
from holdfast.node.probes.active.local_crew import crew_of, exchange, ranks

BYTES = {True: 256 << 20, False: 4 << 20}
LATENCY_BYTES = 8


def measure(bench: Bench, notify: Notify) -> FoundDevices:
    found = FoundDevices()
    devices = ranks(bench)
    pairs = list(permutations(devices, 2))
    sizes = (LATENCY_BYTES, BYTES[bench.cuda])
    crew = crew_of(bench, devices)
    for one, other in pairs:
        notify(f"{one.label} to {other.label}")
        _, received = exchange(crew, (one, other), "one_way", sizes, bench.seconds / len(pairs) / len(sizes))
        late, fast = (median(row["seconds"]) for row in received)
        path = f"{bench.node}/peer/{one.label}-{other.label}"
        found.record(path, "probe_peer_copy_bytes_per_second", sizes[1] / fast)
        found.record(path, "probe_peer_copy_latency_seconds", late)
        found.record(path, "probe_peer_copy_wrong", float(any(row["wrong"] for row in received)))
    return found
