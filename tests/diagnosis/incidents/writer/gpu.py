"""GPUs that fail, and programs that only look like it."""

from writer.incident import Incident
from writer.lines import completion, dmesg, elastic, init_lines, megatron, syslog, traceback, watchdog

_BUS = "NVRM: Xid (PCI:0000:9b:00): "
_QUIET = [syslog(-400, "n01", "usb 1-1: new high-speed USB device number 4 using xhci_hcd")]


def _waiting(*ranks: int, seconds: float = 700.0) -> list[str]:
    return [line for rank in ranks for line in watchdog(rank, seconds + rank / 10)]


ALL = (
    Incident(
        "gpu_fell_off_bus", "Xid 79 on one node; ten minutes later every other rank's watchdog fires",
        {
            "train.log": [*init_lines("n01", 0, 4), *init_lines("n02", 2, 4), *megatron(100, 8, 40), *_waiting(0, 1, 3)],
            "n01/kern.log": _QUIET,
            "n02/kern.log": [
                syslog(81, "n02", _BUS + "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
                syslog(81.2, "n02", _BUS + "45, pid=5000, name=python, Ch 00000008"),
            ],
        },
        "gpu.fell_off_bus", "restart_excluding", "pci/0000:9b:00", ("n02",),
    ),
    Incident(
        "gpu_lost_without_xid", "a GPU is gone at driver probe; no Xid is ever written",
        {
            "train.log": [*megatron(10, 4, 0), *_waiting(0, 1, 2)],
            "n05/kern.log": [
                syslog(21, "n05", "NVRM: The NVIDIA GPU 0000:9b:00.0"),
                syslog(21, "n05", "NVRM: (PCI ID: 10de:2330) installed in this system has"),
                syslog(21, "n05", "NVRM: fallen off the bus and is not responding to commands."),
            ],
        },
        "gpu.fell_off_bus", "restart_excluding", "pci/0000:9b:00.0", ("n05",),
    ),
    Incident(
        "gpu_ecc_then_cascade", "uncorrectable memory error; Xid 63, 45 and 13 follow from it",
        {
            "train.log": [*init_lines("n03", 0, 2), *megatron(900, 5, 0), *traceback(1, "RuntimeError: CUDA error: uncorrectable ECC error encountered")],
            "n03/dmesg.txt": [
                dmesg(26, "NVRM: Xid (PCI:0000:1b:00): 48, pid=5001, name=python, DBE (double bit error)"),
                dmesg(26, "NVRM: Xid (PCI:0000:1b:00): 63, pid=5001, name=python, Row Remapper: New row marked for remapping, reset gpu to activate."),
                dmesg(27, "NVRM: Xid (PCI:0000:1b:00): 13, pid=5001, name=python, Graphics SM Warp Exception on (GPC 1, TPC 0, SM 1)"),
                dmesg(27, "NVRM: Xid (PCI:0000:1b:00): 45, pid=5001, name=python, Ch 00000010"),
            ],
        },
        "gpu.ecc_uncorrectable", "restart_excluding", "pci/0000:1b:00", ("n03",), never=("job.illegal_access",),
    ),
    Incident(
        "gpu_ecc_in_watchdog", "no kernel log: the watchdog thread of one rank dies of the ECC error",
        {
            "train.log": [
                *megatron(40, 6, 0),
                "[rank5]:[E304 11:00:31.101000000 ProcessGroupNCCL.cpp:1595] [PG ID 0 PG GUID 0(default_pg) Rank 5] Process group watchdog thread terminated with exception: CUDA error: uncorrectable ECC error encountered",
                "CUDA kernel errors might be asynchronously reported at some other API call.",
                "terminate called after throwing an instance of 'c10::DistBackendError'",
                *elastic(33, 5, 1, "n07", -6, (4, 6, 7)),
            ],
        },
        "gpu.ecc_uncorrectable", "restart_excluding", "node/n07", ("n07",),
    ),
    Incident(
        "gpu_ecc_contained", "Xid 94: the error was kept to one process, which dies",
        {
            "out/rank0.log": [*megatron(5, 9, 0)],
            "out/rank3.log": traceback(None, "RuntimeError: CUDA error: uncorrectable ECC error encountered"),
            "n11/kern.log": [syslog(44, "n11", "NVRM: Xid (PCI:0000:4f:00): 94, pid=5003, name=python, Contained: CE User Channel (0x9). RST: No, D-RST: No")],
        },
        "gpu.ecc_uncorrectable", "restart_excluding", "pci/0000:4f:00", ("n11",),
    ),
    Incident(
        "nvlink_xid74", "NVLink error on one GPU; Xid 45 on all eight of the node",
        {
            "train.log": [*init_lines("n04", 0, 4), *megatron(300, 5, 0), *_waiting(0, 1, 2, 3, seconds=640)],
            "n04/kern.log": [
                syslog(26, "n04", "NVRM: Xid (PCI:0000:2a:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 3(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"),
                *[syslog(27, "n04", f"NVRM: Xid (PCI:0000:{bus}:00): 45, pid=5000, name=python, Ch 00000008") for bus in ("1a", "2a", "3a", "4a")],
            ],
        },
        "gpu.nvlink", "restart_excluding", "pci/0000:2a:00", ("n04",),
    ),
    Incident(
        "nvlink5_fatal", "Xid 149 fatal; the 45s say that they come from it",
        {
            "train.log": [*megatron(70, 5, 0), *_waiting(0, 1, 2)],
            "gb12/kern.log": [
                syslog(22, "gb12", "NVRM: Xid (PCI:0008:01:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000008 0x00000000 0x00000000 0x00000000 0x00000000)"),
                syslog(24, "gb12", "NVRM: Xid (PCI:0008:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"),
                syslog(25, "gb12", "NVRM: Xid (PCI:0019:01:00): 45, pid=5002, name=python, caused by previous Xid 149"),
            ],
        },
        "gpu.nvlink", "restart_excluding", "pci/0008:01:00", ("gb12",),
    ),
    Incident(
        "nvswitch_fatal", "a fatal SXid of an NVSwitch",
        {
            "train.log": [*megatron(70, 5, 0), *_waiting(0, 1, 2, 3)],
            "n21/kern.log": [syslog(24, "n21", "nvidia-nvswitch2: SXid (PCI:0000:85:00.0): 20034, Fatal, Link 30 LTSSM Fault Up")],
        },
        "gpu.nvlink", "restart_excluding", "pci/0000:85:00.0", ("n21",),
    ),
    Incident(
        "gsp_timeout", "a GPU's system processor no longer answers; monitors hang with it",
        {
            "train.log": [*megatron(1200, 6, 0), *_waiting(0, 2, 3)],
            "n06/dmesg.log": [
                dmesg(31, "NVRM: Xid (PCI:0000:5d:00): 119, pid=2210, name=nv-hostengine, Timeout after 6s of waiting for RPC response from GPU3 GSP! Expected function 76 (GSP_RM_CONTROL) (0x2080a068 0x4)."),
                dmesg(37, "NVRM: Xid (PCI:0000:5d:00): 119, pid=5003, name=python, Timeout after 6s of waiting for RPC response from GPU3 GSP! Expected function 10 (FREE) (0x5 0x0)."),
            ],
        },
        "gpu.gsp", "restart_excluding", "pci/0000:5d:00", ("n06",),
    ),
    Incident(
        "pmu_halt", "Xid 62: a microcontroller of the GPU halted",
        {
            "train.log": [*megatron(1200, 6, 0), *_waiting(0, 1)],
            "n08/kern.log": [syslog(32, "n08", "NVRM: Xid (PCI:0000:3b:00): 62, pid='<unknown>', name=<unknown>, 2d8a(6500) 00000000 00000000")],
        },
        "gpu.other_xid", "restart_excluding", "pci/0000:3b:00", ("n08",),
    ),
    Incident(
        "illegal_access_xid31", "a kernel bug: Xid 31 is the program's own fault, no hardware is blamed",
        {
            "train.log": [*megatron(55, 5, 0), *traceback(2, "RuntimeError: CUDA error: an illegal memory access was encountered", call="out = flash_attn(q, k, v)"), *_waiting(0, 1, 3)],
            "n02/kern.log": [
                syslog(25, "n02", "NVRM: Xid (PCI:0000:9b:00): 31, pid=5002, name=python, Ch 00000010, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC3 faulted @ 0x7f2a_10000000"),
                syslog(25, "n02", "NVRM: Xid (PCI:0000:9b:00): 43, pid=5002, name=python, Ch 00000010"),
            ],
        },
        "job.illegal_access", "restart_same", "rank/2", never=("gpu.other_xid", "gpu.ecc_uncorrectable"),
    ),
    Incident(
        "illegal_access_after_ecc", "an illegal memory access on a rank whose GPU had an uncorrectable error first",
        {
            "train.log": [*megatron(55, 5, 0), *traceback(2, "RuntimeError: CUDA error: an illegal memory access was encountered", call="out = flash_attn(q, k, v)"), *_waiting(0, 1, 3)],
            "n02/kern.log": [
                syslog(23, "n02", "NVRM: Xid (PCI:0000:9b:00): 95, pid=5002, name=python, Uncontained: LTC TAG (0x2,0x1). RST: Yes, D-RST: No"),
                syslog(25, "n02", "NVRM: Xid (PCI:0000:9b:00): 31, pid=5002, name=python, Ch 00000010, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC3 faulted @ 0x7f2a_10000000"),
            ],
        },
        "gpu.ecc_uncorrectable", "restart_excluding", "pci/0000:9b:00", ("n02",),
    ),
    Incident(
        "device_assert", "an index out of range on one rank: device-side assert, then peers that lose it",
        {
            "train.log": [
                *megatron(3, 3, 0),
                "../aten/src/ATen/native/cuda/Indexing.cu:1289: indexSelectLargeIndex: block: [12,0,0], thread: [64,0,0] Assertion `srcIndex < srcSelectDimSize` failed.",
                *traceback(1, "RuntimeError: CUDA error: device-side assert triggered", call="emb = self.embed(tokens)"),
                completion("n02", 0, "10.1.0.7", 5, 249),
                *elastic(25, 1, 1, "n01", 1, (0,)),
            ],
        },
        "job.illegal_access", "stop", "rank/1", never=("fabric.retry_exceeded",),
    ),
    Incident(
        "old_xid_new_bug", "a GPU failed five days ago and was replaced; today the program has a bug",
        {
            "train.log": [*megatron(9, 3, 0), *traceback(0, "KeyError: 'attention_mask'", call="mask = batch['attention_mask']"), *elastic(17, 0, 0, "n02", 1, (1,))],
            "n02/kern.log": [
                syslog(-432000, "n02", _BUS + "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
                syslog(-100, "n02", "nvidia-nvlink: Nvlink Core is being initialized, major device number 511"),
            ],
        },
        "job.exception", "stop", "rank/0", never=("gpu.fell_off_bus",),
    ),
    Incident(
        "two_causes", "a GPU falls off the bus, and independently the checkpoint disk is full",
        {
            "train.log": [
                *megatron(490, 6, 0),
                "saving checkpoint at iteration     495 to /ckpt/run7",
                *traceback(0, "OSError: [Errno 28] No space left on device: '/ckpt/run7/iter_0000495/mp_rank_00'", call="torch.save(state, f)"),
            ],
            "n02/kern.log": [syslog(33, "n02", _BUS + "79, pid=5000, name=python, GPU has fallen off the bus.")],
        },
        "gpu.fell_off_bus", "restart_excluding", "pci/0000:9b:00", ("n02",), also=("storage.full",),
    ),
)  # fmt: skip
