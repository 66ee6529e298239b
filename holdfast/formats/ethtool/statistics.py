"""`ethtool -S`: the counters of an Ethernet adapter.

A single reading has no rates, so shares of the packets are evaluated.
"""

import re

from holdfast.formats.tool_output import ToolOutput

_HEAD = re.compile(r"^(?:NIC|Standard) (?:statistics|stats)(?: for (\S+?):)?.*$", re.MULTILINE)
_COMMAND = re.compile(r"ethtool\s+-S\s+(\S+)")
_BARE = re.compile(
    r"^[^\S\n]*(?:#\s*)?((?:rx|tx|port\.|hw_|bw_|pps_|conntrack_|linklocal_|link_)[\w.]*):[ \t]*\d+\s*(?:#.*|←.*)?$",
    re.MULTILINE,
)
_LINE = re.compile(
    r"^[^\S\n]*(?:(?:\[(\d+)\]|((?:[rt]x)?q(?:ueue)?[-_]?\d+)):\s*)?([A-Za-z][\w.\-\[\] ]*?)\s*:\s*(\d+)\s*(?:#.*)?$",
    re.MULTILINE,
)
_ALLOWANCE = re.compile(r"(?:bw_in|bw_out|pps|conntrack|linklocal)_allowance_exceeded$")
_PHYSICAL = re.compile(
    r"(?:^|_)(?:crc|fcs|symbol|align|jabber|undersize_bad|bad_fcs|corrected_bits_uncorrectable|in_range(?:_len)?|runt)_?"
    r"(?:err|errs|error|errors|frames|events)?(?:_phy|_rx|_cnt|_count)?$|rx_(?:crc|fcs|symbol)_\w*err\w*|rx_symbol_err_phy|rx_crc_errors_phy"
    r"|rx_pcs_symbol_err_phy|uncorrect\w*_codewords|rx_err_lane_\d+_phy|rx_bad_crc|fec_uncorrected\w*"
)
_DISCARDS = re.compile(
    r"(?:rx|tx)_(?:prio\d_)?(?:discards(?:_phy)?|missed_errors|no_buffer_count|out_of_buffer|dropped|drops|over_errors|fifo_errors|buff_alloc_err"
    r"|drops_no_\w+|no_?bufs?(?:fers?)?|\w*fifo_overflow_drops?)$"
)
_LINK_DOWN = re.compile(r"link_down_events(?:_phy)?$|^link_down$|^port\.link_down_events_phy$")
_FULL = frozenset({2**16 - 1, 2**32 - 1, 2**64 - 1})
_RESETS = re.compile(r"tx_timeouts?(?:_cnt|_count)?|wd_expired|reset_(?:cnt|count|fail)|(?:dev|hw|fw)_resets?(?:_cnt)?")
_STORM = re.compile(r"(?:rx|tx)_pause_storm_error_events")
_PCI = re.compile(r"(?:rx|tx)_pci_signal_integrity$")
_PACKETS = ("rx_packets_phy", "rx_packets", "port.rx_unicast", "rx_ucast_packets", "rx_total_pkts", "rx_frames",
            *(f"rx_prio{number}_packets" for number in range(8)))  # fmt: skip
MOSTLY = 0.8
FEW_DISCARDS, MANY_ERRORS, FEW_LINK_DOWNS = 1e-4, 1e-6, 2


def read(text: str) -> ToolOutput | None:
    head, command = _HEAD.search(text), _COMMAND.search(text)
    if head is None and not _is_bare(text):
        if command is None:
            return None
        text = text[command.end() :]  # grep removed the head
    name = (head[1] if head else "") or (command[1] if command else "unknown")
    output = ToolOutput("ethtool -S")
    place = f"nic/{name}/1"
    counts: dict[str, int] = {}
    received: dict[str, int] = {}
    for lane, queue, counter, value in _LINE.findall(text[head.end() if head else 0 :]):
        counts[" ".join(filter(None, (counter, lane or queue)))] = int(value)
        if queue and counter in ("rx_pkts", "rx_packets", "packets") and not queue.startswith("tx"):
            received[queue] = int(value)
    if not counts:
        return None
    output.see(place)
    output.lines = len(counts)
    packets = max((counts[one] for one in _PACKETS if one in counts), default=sum(received.values()))
    for counter, count in counts.items():
        _judge(output, place, counter, count, packets)
    return output


def _is_bare(text: str) -> bool:
    """Whether the text is a bare list of an adapter's counters, as `ethtool -S | grep` prints it."""
    lines = [line for line in text.splitlines() if line.strip() and not _COMMAND.search(line)]
    return bool(lines) and len(_BARE.findall(text)) >= MOSTLY * len(lines)


def _judge(output: ToolOutput, place: str, counter: str, count: int, packets: int) -> None:
    bare = counter.partition(" ")[0]
    share = count / packets if packets else 0.0
    if not count:
        return
    if _PHYSICAL.search(bare):
        text = _text(counter, count) + (f": {_percent(share)} of the received packets" if 0 < share <= 1 else "")
        output.complain(place, text, fails=share > MANY_ERRORS, remedy="clean or replace cable and transceiver")
    elif _DISCARDS.fullmatch(bare) and share > FEW_DISCARDS:
        output.complain(
            place,
            _text(counter, count) + (f": {_percent(share)} of the received packets" if share <= 1 else ""),
            fails=False,
            remedy="check ring sizes, flow control (PFC) and the host's packet processing",
        )
    elif _LINK_DOWN.search(bare) and count > FEW_LINK_DOWNS:
        text = _text(counter, count) if count in _FULL else f"the link went down {count} times"
        output.complain(place, text, fails=False, remedy="check cable and transceiver")
    elif _ALLOWANCE.fullmatch(bare):
        output.complain(place, f"{counter} {count}: the instance exceeded its limits", fails=False,
                        remedy="spread the traffic, or use a larger instance")  # fmt: skip
    elif _PCI.fullmatch(bare):
        output.complain(place, f"{counter} {count}: errors on the PCIe lanes", fails=False, remedy="reseat the adapter")
    elif _RESETS.fullmatch(bare):
        output.complain(place, f"{_text(counter, count)}: the driver had to reset the adapter", fails=False,
                        remedy="look for the reset in the kernel log; update driver and firmware")  # fmt: skip
    elif _STORM.fullmatch(bare):
        output.complain(place, f"{_text(counter, count)}: the port sent pause frames for too long", fails=False,
                        remedy="see why the host does not take its packets; check flow control (PFC)")  # fmt: skip


def _text(counter: str, count: int) -> str:
    return f"{counter}: the counter is at its maximum ({count})" if count in _FULL else f"{counter} {count}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
