"""An all-reduce over the devices of one node: exactly representable numbers, and the bandwidth of the bus."""

from holdfast.node.probes.active.bench import Bench, FoundDevices, Notify
from holdfast.node.probes.active.local_crew import crew_of, exchange, ranks, slowest
from holdfast.node.probes.sweep.sizes import bus_share

SIZES = {True: (1 << 10, 1 << 20, 64 << 20, 1 << 30), False: (1 << 10, 1 << 20, 8 << 20)}


def measure(bench: Bench, notify: Notify) -> FoundDevices:
    found = FoundDevices()
    devices = ranks(bench)
    sizes = SIZES[bench.cuda]
    crew = crew_of(bench, devices)
    notify(f"all_reduce over {len(devices)}")
    by_rank = exchange(crew, devices, "all_reduce", sizes, bench.seconds / len(sizes))
    largest = slowest([rows[-1] for rows in by_rank])
    wrong = {row["bytes"] for rows in by_rank for row in rows if row["wrong"]}
    blamed = sorted({devices[rank].label for rows in by_rank for row in rows for rank in row.get("wrong_ranks", ())})
    rate = sizes[-1] / largest * bus_share("all_reduce", len(devices))
    found.record(bench.node, "probe_collective_busbw_bytes_per_second", rate)
    found.record(bench.node, "probe_collective_ranks", float(len(devices)))
    found.record(bench.node, "probe_collective_wrong_sizes", float(len(wrong)))
    found.record(bench.node, "probe_collective_wrong_from", ", ".join(blamed))
    return found
