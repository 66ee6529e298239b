"""sweep.bandwidth: large messages reach the bus bandwidth of the fabric; a fall-back to TCP is named as such."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.sweep.facts import NO_LIMITS, RATE, by_size, fabric, human, not_judged, not_meant

FELL_BACK = "NCCL uses TCP sockets (NET/Socket) although the fabric has RDMA: its plugin was not found or failed"
PLUGIN = "fix the network plugin: NCCL_NET, NCCL_IB_HCA, the container's devices and libraries; see NCCL_DEBUG=INFO"


def judge(window: Window, limits: Limits) -> Verdict:
    known = fabric(window)
    if known is None:
        return Verdict(rows=(not_judged(window, NO_LIMITS),))
    crossed = window.number(window.node, "sweep_hosts") != 1.0  # within a host no network is used
    if crossed and window.value(window.node, "sweep_network") == "Socket" and known.network != "Socket":
        return Verdict(rows=(Row(window.node, Health.FAIL, "Socket", known.network, FELL_BACK),), remedy=PLUGIN)
    if why := not_meant(window, known):
        return Verdict(rows=(not_judged(window, why),))
    seen = by_size(window, RATE)
    if known.large_bytes not in seen:
        largest = human(max(seen)) if seen else "nothing"
        why = f"the sweep ends at {largest}, before {human(known.large_bytes)}"
        return Verdict(rows=(not_judged(window, why),))
    rate, limit = seen[known.large_bytes], known.large_busbw_bytes_per_second * limits["times_limit"]
    expected = known.large_expected_bytes_per_second / 1e9
    text = f"{rate / 1e9:.0f} GB/s of bus bandwidth at {human(known.large_bytes)}, expected {expected:.0f}"
    return Verdict(rows=(Row(window.node, Health.PASS if rate >= limit else Health.FAIL, rate, limit, text),))


CHECK = Check(
    name="sweep.bandwidth",
    asks="Do large messages of a collective reach the fabric's bus bandwidth?",
    about="node",
    part="sweep",
    scope="group",
    reads=(),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="find the slow host, leaf or trunk among the pairs of this probe; then check its ports",
    owner="network",
    limits={"times_limit": 1.0},
)
