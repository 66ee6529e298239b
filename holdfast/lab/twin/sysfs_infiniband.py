"""The RDMA part of the simulated /sys: InfiniBand ports per rail and one RoCE port for storage."""

import hashlib
from dataclasses import dataclass

from holdfast.lab.twin.hardware import Model
from holdfast.lab.twin.pci import Function, of_role
from holdfast.lab.twin.tree import Tree

COUNTERS = (
    "VL15_dropped",
    "excessive_buffer_overrun_errors",
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "multicast_rcv_packets",
    "multicast_xmit_packets",
    "port_rcv_constraint_errors",
    "port_rcv_data",
    "port_rcv_errors",
    "port_rcv_packets",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "port_xmit_constraint_errors",
    "port_xmit_data",
    "port_xmit_discards",
    "port_xmit_packets",
    "port_xmit_wait",
    "symbol_error",
    "unicast_rcv_packets",
    "unicast_xmit_packets",
)
HW_COUNTERS = (
    "duplicate_request",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "out_of_buffer",
    "out_of_sequence",
    "packet_seq_err",
    "req_cqe_error",
    "req_cqe_flush_error",
    "req_remote_access_errors",
    "req_remote_invalid_request",
    "resp_cqe_error",
    "resp_cqe_flush_error",
    "resp_local_length_error",
    "resp_remote_access_errors",
    "rnr_nak_retry_err",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "roce_slow_restart",
    "roce_slow_restart_cnps",
    "roce_slow_restart_trans",
    "rx_atomic_requests",
    "rx_dct_connect",
    "rx_icrc_encapsulated",
    "rx_read_requests",
    "rx_write_requests",
)
ROCE_ONLY = ("np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled", "rp_cnp_ignored")
HW_COUNTERS_OF = {
    "bnxt_re": (
        "active_qps", "rx_pkts", "rx_bytes", "tx_pkts", "tx_bytes", "recoverable_errors", "tx_roce_errors",
        "tx_roce_discards", "rx_roce_errors", "rx_roce_discards", "to_retransmits", "seq_err_naks_rcvd",
        "max_retry_exceeded", "rnr_naks_rcvd", "missing_resp", "unrecoverable_err", "oos_drop_count", "tx_cnp_pkts",
        "rx_cnp_pkts", "rx_ecn_marked_pkts",
    ),
    "ionic": (
        "tx_rdma_ucast_bytes", "tx_rdma_ucast_pkts", "tx_rdma_cnp_pkts", "rx_rdma_ucast_bytes", "rx_rdma_ucast_pkts",
        "rx_rdma_cnp_pkts", "rx_rdma_ecn_pkts", "rx_rdma_mtu_discard_pkts", "tx_rdma_retx_pkts", "req_rx_pkt_seq_err",
        "req_rx_rnr_retry_err", "req_tx_retry_excd_err", "req_tx_loc_acc_err",
    ),
    "efa": (
        "tx_bytes", "tx_pkts", "rx_bytes", "rx_pkts", "rx_drops", "send_bytes", "send_wrs", "recv_bytes", "recv_wrs",
        "rdma_read_wrs", "rdma_read_bytes", "rdma_read_wr_err", "rdma_write_wrs", "rdma_write_bytes",
        "rdma_write_wr_err", "retrans_bytes", "retrans_pkts", "retrans_timeout_events", "unresponsive_remote_events",
        "impaired_remote_conn_events",
    ),
}  # fmt: skip
_RAILS = {  # fabric -> name of the RDMA device, its interface, link layer and driver
    "infiniband": ("mlx5_{}", "ib{}", "InfiniBand", "mlx5"),
    "roce_mlx5": ("mlx5_{}", "ens{}np0", "Ethernet", "mlx5"),
    "roce_bnxt": ("bnxt_re{}", "ens{}np0", "Ethernet", "bnxt_re"),
    "roce_ionic": ("ionic_{}", "ens{}np0", "Ethernet", "ionic"),
    "efa": ("rdmap{}s0", "", "Unspecified", "efa"),
}
ACTIVE, DOWN = "4: ACTIVE\n", "1: DOWN\n"
LINK_UP, POLLING, DISABLED = "5: LinkUp\n", "2: Polling\n", "3: Disabled\n"
STORAGE_RATE = "200 Gb/sec (2X NDR)"


@dataclass(frozen=True, slots=True)
class TwinRdmaPort:
    """An RDMA device with its single port, and the network interface over it."""

    name: str
    interface: str
    link_layer: str
    rate: str
    function: Function
    driver: str = "mlx5"

    @property
    def path(self) -> str:
        """The port's directory below /sys, through its device."""
        return f"{self.function.path}/infiniband/{self.name}/ports/1"

    @property
    def interface_path(self) -> str:
        return f"{self.function.path}/net/{self.interface}"


def ports(model: Model) -> list[TwinRdmaPort]:
    rails = of_role(model, "port")
    name, interface, layer, driver = _RAILS[model.fabric]
    found = [
        TwinRdmaPort(name.format(n), interface.format(n), layer, model.port_rate, f, driver)
        for n, f in enumerate(rails)
    ]
    storage = of_role(model, "storage")[0]
    last = len(rails) if driver == "mlx5" else 0
    found.append(TwinRdmaPort(f"mlx5_{last}", "ens40np0", "Ethernet", STORAGE_RATE, storage))
    return found


def write(tree: Tree, model: Model, node: str) -> None:
    for number, port in enumerate(ports(model)):
        _device(tree, port, model, node, number)
        if port.interface:
            _interface(tree, port, node)


def guid(node: str, port: TwinRdmaPort) -> str:
    digits = hashlib.sha256(f"{node}.{port.name}".encode()).hexdigest()[:10]
    return f"b83f:d203:{digits[:2]}{digits[2:4]}:{digits[4:8]}"


def _device(tree: Tree, port: TwinRdmaPort, model: Model, node: str, number: int) -> None:
    device = f"{port.function.path}/infiniband/{port.name}"
    front_end = port.function.role == "storage" and model.fabric != "infiniband"  # a separate card next to the rails
    for name, text in {
        "fw_ver": model.hca_firmware,
        "board_id": "MT_0000000884" if front_end else model.hca_board,
        "hca_type": "MT41692" if front_end else model.hca_type,
        "hw_rev": "0",
        "node_type": "1: CA",
        "node_desc": f"{node} HCA-{number + 1}",
        "node_guid": guid(node, port),
        "sys_image_guid": guid(node, port),
    }.items():
        tree.file(f"{device}/{name}", text + "\n")
    tree.link(f"class/infiniband/{port.name}", device)
    tree.link(f"{device}/device", port.function.path)
    tree.link(f"{device}/subsystem", "class/infiniband")
    infiniband = port.link_layer == "InfiniBand"
    for name, text in {
        "state": ACTIVE,
        "phys_state": LINK_UP,
        "rate": f"{port.rate}\n",
        "link_layer": f"{port.link_layer}\n",
        "lid": f"0x{number + 0x21:x}\n" if infiniband else "0x0\n",
        "sm_lid": "0x1\n" if infiniband else "0x0\n",
        "cap_mask": "0xa751e848\n" if infiniband else "0x00010000\n",
    }.items():
        tree.file(f"{port.path}/{name}", text)
    mlx5 = HW_COUNTERS if infiniband else (*HW_COUNTERS, *ROCE_ONLY)
    for name in COUNTERS if port.driver == "mlx5" else ():
        tree.file(f"{port.path}/counters/{name}", "0\n")
    for name in HW_COUNTERS_OF.get(port.driver, mlx5):
        tree.file(f"{port.path}/hw_counters/{name}", "0\n")
    tree.file(f"{port.path}/hw_counters/lifespan", "12\n")
    if port.interface:
        tree.file(f"{port.path}/gid_attrs/ndevs/0", f"{port.interface}\n")


def _interface(tree: Tree, port: TwinRdmaPort, node: str) -> None:
    speed = port.rate.split()[0] + "000"
    infiniband = port.link_layer == "InfiniBand"
    for name, text in {
        "operstate": "up",
        "carrier": "1",
        "carrier_changes": "1",
        "carrier_up_count": "1",
        "carrier_down_count": "0",
        "speed": speed,
        "mtu": "4092" if infiniband else "9000",
        "type": "32" if infiniband else "1",
        "address": ":".join(f"{byte:02x}" for byte in hashlib.sha256(f"{node}{port.name}".encode()).digest()[:6]),
    }.items():
        tree.file(f"{port.interface_path}/{name}", text + "\n")
    for name in (
        "rx_bytes",
        "rx_packets",
        "rx_errors",
        "rx_crc_errors",
        "rx_dropped",
        "tx_bytes",
        "tx_packets",
        "tx_errors",
        "tx_dropped",
    ):
        tree.file(f"{port.interface_path}/statistics/{name}", "0\n")
    tree.link(f"{port.interface_path}/device", port.function.path)
    tree.link(f"class/net/{port.interface}", port.interface_path)
