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
ACTIVE, DOWN = "4: ACTIVE\n", "1: DOWN\n"
LINK_UP, POLLING, DISABLED = "5: LinkUp\n", "2: Polling\n", "3: Disabled\n"
STORAGE_RATE = "200 Gb/sec (2X NDR)"


@dataclass(frozen=True, slots=True)
class Port:
    """An RDMA device with its single port, and the network interface over it."""

    name: str
    interface: str
    link_layer: str
    rate: str
    function: Function

    @property
    def path(self) -> str:
        """The port's directory below /sys, through the device it belongs to."""
        return f"{self.function.path}/infiniband/{self.name}/ports/1"

    @property
    def interface_path(self) -> str:
        return f"{self.function.path}/net/{self.interface}"


def ports(model: Model) -> list[Port]:
    rails = of_role(model, "port")
    found = [Port(f"mlx5_{n}", f"ib{n}", "InfiniBand", model.port_rate, f) for n, f in enumerate(rails)]
    storage = of_role(model, "storage")[0]
    found.append(Port(f"mlx5_{len(rails)}", "ens40np0", "Ethernet", STORAGE_RATE, storage))
    return found


def write(tree: Tree, model: Model, node: str) -> None:
    for number, port in enumerate(ports(model)):
        _device(tree, port, model, node, number)
        _interface(tree, port, node)


def guid(node: str, port: Port) -> str:
    digits = hashlib.sha256(f"{node}.{port.name}".encode()).hexdigest()[:10]
    return f"b83f:d203:{digits[:2]}{digits[2:4]}:{digits[4:8]}"


def _device(tree: Tree, port: Port, model: Model, node: str, number: int) -> None:
    device = f"{port.function.path}/infiniband/{port.name}"
    for name, text in {
        "fw_ver": model.hca_firmware,
        "board_id": model.hca_board,
        "hca_type": model.hca_type,
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
    for name in COUNTERS:
        tree.file(f"{port.path}/counters/{name}", "0\n")
    for name in HW_COUNTERS if infiniband else (*HW_COUNTERS, *ROCE_ONLY):
        tree.file(f"{port.path}/hw_counters/{name}", "0\n")
    tree.file(f"{port.path}/hw_counters/lifespan", "12\n")
    tree.file(f"{port.path}/gid_attrs/ndevs/0", f"{port.interface}\n")


def _interface(tree: Tree, port: Port, node: str) -> None:
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
        "rx_dropped",
        "tx_bytes",
        "tx_packets",
        "tx_errors",
        "tx_dropped",
    ):
        tree.file(f"{port.interface_path}/statistics/{name}", "0\n")
    tree.link(f"{port.interface_path}/device", port.function.path)
    tree.link(f"class/net/{port.interface}", port.interface_path)
