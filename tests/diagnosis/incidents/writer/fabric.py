"""Links, adapters, peers out of reach; and peers that were merely dead."""

from writer.incident import Incident
from writer.lines import completion, elastic, init_lines, iso, megatron, nccl, syslog, traceback, watchdog


def _waiting(*ranks: int, seconds: float = 640.0) -> list[str]:
    return [line for rank in ranks for line in watchdog(rank, seconds + rank / 10)]


_JOB = [*init_lines("n01", 0, 6), *init_lines("n02", 2, 6), *init_lines("n03", 4, 6), *megatron(500, 6, 0)]

ALL = (
    Incident(
        "port_down_long", "a port is down for 41 s, longer than NCCL 2.21 waits; peers see error 12, then flushes",
        {
            "train.log": [*_JOB, completion("n01", 0, "n03", 12, 129), completion("n02", 1, "n03", 12, 129), completion("n01", 0, "n03", 5, 249), *_waiting(0, 1, 2, 3, 4, 5)],
            "n03/kern.log": [
                syslog(28, "n03", "mlx5_core 0000:5e:00.0 ib2: Link down"),
                syslog(69, "n03", "mlx5_core 0000:5e:00.0 ib2: Link up"),
            ],
        },
        "fabric.port_down", "restart_excluding", "", ("n03",),
    ),
    Incident(
        "port_flap_is_innocent", "a port flaps for 2 s, which NCCL survives; a rank runs out of GPU memory",
        {
            "train.log": [*_JOB, *traceback(4, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.02 GiB is free."), *_waiting(0, 1, 2, 3, 5)],
            "n03/kern.log": [
                syslog(20, "n03", "mlx5_core 0000:5e:00.0 ib2: Link down"),
                syslog(22, "n03", "mlx5_core 0000:5e:00.0 ib2: Link up"),
            ],
        },
        "job.cuda_oom", "restart_same", "rank/4", never=("fabric.port_down",),
    ),
    Incident(
        "async_port_error", "every process of one host reports a port error; peers name that host",
        {
            "slurm-881.out": [
                "iter 8359: loss 1.5455, time: 4401.19ms, speed: 1771 toks/s/device", "iter 8360: loss 1.6294, time: 4409.64ms, speed: 1771 toks/s/device",
                *[nccl("n48", gpu, "NET/IB : Got async event : port error", where="transport/net_ib.cc:93") for gpu in range(4)],
                completion("n51", 2, "n48", 12, 129), completion("n52", 0, "n48", 12, 129),
            ],
        },
        "fabric.port_down", "restart_excluding", "node/n48", ("n48",),
    ),
    Incident(
        "adapter_died", "local catastrophic error: the adapter itself is gone",
        {
            "train.log": [
                *megatron(83, 5, 0),
                nccl("n14", 0, "NET/IB : mlx5_2:1 async fatal event: local catastrophic error", where="transport/net_ib.cc:180"),
                nccl("n14", 0, "Call to ibv_get_async_event failed", where="misc/ibvwrap.cc:220"),
                completion("n13", 0, "n14", 12, 129), *_waiting(0, 1, 2, 3),
            ],
            "n14/kern.log": [syslog(24, "n14", "mlx5_core 0000:5e:00.0: mlx5_health_check_fatal_sensors:351:(pid 0): Fatal error 3 detected")],
        },
        "fabric.hca", "restart_excluding", "", ("n14",),
    ),
    Incident(
        "retry_exceeded_alone", "error 12, then flushes, and nothing that says why",
        {"train.log": [*_JOB, completion("n01", 0, "10.1.0.9", 12, 129), *[completion("n01", 0, "10.1.0.9", 5, 249)] * 12, *_waiting(0, 1, 2, 3, 4, 5)]},
        "fabric.retry_exceeded", "restart_after_probe",
    ),
    Incident(
        "retry_exceeded_named", "the newest form, with the status by name",
        {
            "train.log": [
                *init_lines("n01", 0, 2, version="2.28.3"), *megatron(10, 4, 0),
                f"[{iso(30)}] n01:5000:5401 [0] transport/net_ib/p2p.cc:648 NCCL WARN NET/IB: Got completion from peer 10.1.0.9<40554> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RECV_RDMA_WITH_IMM(129) vendor_err=129  hca mlx5_1",
                f"[{iso(31)}] n01:5000:5401 [0] transport/net_ib/p2p.cc:648 NCCL WARN NET/IB: Got completion from peer 10.1.0.9<40554> with status=IBV_WC_WR_FLUSH_ERR(5) opcode=IBV_WC_SEND(0) vendor_err=249  hca mlx5_1",
            ],
        },
        "fabric.retry_exceeded", "restart_after_probe",
    ),
    Incident(
        "flush_after_peer_died", "flush errors only: their peer ran out of GPU memory",
        {
            "n01.log": [*init_lines("n01", 0, 4), *megatron(12, 4, 0), completion("n01", 0, "n02", 5, 249), completion("n01", 1, "n02", 5, 249)],
            "n02.log": [*init_lines("n02", 2, 4), *traceback(2, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 320.00 MiB (GPU 0; 39.39 GiB total capacity; 36.10 GiB already allocated)")],
        },
        "job.cuda_oom", "stop", "rank/2", never=("fabric.retry_exceeded", "fabric.hca"),
    ),
    Incident(
        "local_protection", "error 4 on a send: the adapter may not read GPU memory (ACS or GPUDirect)",
        {"train.log": [*init_lines("n01", 0, 4), nccl("n01", 1, "NET/IB : Got completion from peer 10.1.0.9<51161> with status=4 opcode=0 len=0 vendor err 81 (Send) hca mlx5_1"), nccl("n01", 1, "[Service thread] Connection closed by localRank 1", "INFO")]},
        "fabric.hca", "restart_after_probe",
    ),
    Incident(
        "queue_pair_timeout", "connections cannot be brought up: ibv_modify_qp times out",
        {"train.log": [*init_lines("n01", 0, 2), nccl("n01", 0, "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT, next state RTR", where="misc/ibvwrap.cc:295"), *traceback(0, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:268, unhandled system error, NCCL version 2.21.5")]},
        "fabric.unreachable", "restart_after_probe",
    ),
    Incident(
        "no_route", "bootstrap over an interface that the other host cannot reach",
        {"train.log": [nccl("n01", 0, "Bootstrap : Using virbr0:192.168.122.1<0>", "INFO"), nccl("n02", 0, "socketStartConnect: Connect to 192.168.122.1<40011> failed : No route to host", where="misc/socket.cc:484"), *traceback(1, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:317, unhandled system error")]},
        "fabric.unreachable", "restart_after_probe",
    ),
    Incident(
        "plugin_fallback", "the network plugin does not start on any host; the job runs over sockets, slowly",
        {
            "train.log": [
                *[line for gpu in range(2) for line in (
                    nccl("n01", gpu, "NET/OFI Failed to initialize sendrecv protocol", where="nccl_net_ofi_create_plugin:204"),
                    nccl("n01", gpu, "NET/OFI aws-ofi-nccl initialization failed", where="nccl_net_ofi_create_plugin:257"),
                    nccl("n01", gpu, "NET/Socket : Using [0]eth0:10.1.0.7<0>", "INFO"),
                    nccl("n01", gpu, "Using network Socket", "INFO"),
                )],
                *megatron(1, 12, 0, per_step=61.0),
            ],
        },
        "fabric.plugin_fallback", "stop", "node/n01",
    ),
    Incident(
        "odd_network", "three hosts use the fabric, one fell back to sockets",
        {
            "train.log": [
                *init_lines("n01", 0, 8), *init_lines("n02", 2, 8), *init_lines("n03", 4, 8),
                nccl("n04", 0, "NET/IB : No device found.", "INFO"), nccl("n04", 0, "NET/Socket : Using [0]eth0:10.1.0.4<0>", "INFO"), nccl("n04", 0, "Using network Socket", "INFO"),
                *megatron(1, 12, 0, per_step=35.0),
            ],
        },
        "fabric.plugin_fallback", "stop", "node/n04",
    ),
    Incident(
        "sockets_by_choice", "a small cluster without a fabric: sockets are what it has",
        {"train.log": [nccl("n01", 0, "NET/IB : No device found.", "INFO"), nccl("n01", 0, "NET/Socket : Using [0]eth0:10.1.0.4<0>", "INFO"), nccl("n01", 0, "Using network Socket", "INFO"), *megatron(1, 30, 0)]},
        None,
    ),
    Incident(
        "failover_held", "a port fails, NCCL moves to the other one, the run continues",
        {
            "train.log": [
                *init_lines("n01", 0, 2, version="2.30.4"), *megatron(1, 10, 0),
                f"[{iso(52)}] n01:5000:5401 [0] transport/net_ib/p2p_resiliency.cc:325 NCCL WARN NET/IB: ncclIbResiliencyHandleDeviceFailure: Device 0 marked as failed. Initiating recovery? Yes (send comm=0x7f03e8086000, outstandingRecovery=0)",
                f"[{iso(52)}] n01:5000:5401 [0] transport/net_ib/p2p.cc:648 NCCL WARN NET/IB: Got completion from peer 10.1.0.9<40554> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129  hca mlx5_0",
                *megatron(11, 30, 60),
            ],
        },
        None,
    ),
    Incident(
        "failover_exhausted", "NCCL's failover starts, but every device of the process fails",
        {
            "train.log": [
                *init_lines("n01", 0, 2, version="2.30.4"), *megatron(1, 10, 0),
                f"[{iso(52)}] n01:5000:5401 [0] transport/net_ib/p2p_resiliency.cc:325 NCCL WARN NET/IB: ncclIbResiliencyHandleDeviceFailure: Device 0 marked as failed. Initiating recovery? Yes (send comm=0x7f03e8086000, outstandingRecovery=0)",
                f"[{iso(53)}] n01:5000:5401 [0] transport/net_ib/p2p_resiliency.cc:340 NCCL WARN NET/IB: Fatal error. Detected 2 failed devices out of 2",
                *_waiting(0, 1),
            ],
        },
        "fabric.port_down", "restart_excluding", "node/n01", ("n01",),
    ),
    Incident(
        "peer_reset_is_effect", "socket resets on three ranks; the fourth died of an assertion",
        {
            "train.log": [
                *megatron(40, 4, 0),
                *traceback(3, "AssertionError: labels must not be empty", file="data.py", call="assert len(labels) > 0"),
                nccl("n01", 0, "socketProgress: Connection closed by remote peer n02.cluster<49302>", where="misc/socket.cc:58"),
                nccl("n01", 1, "Call to recv from 10.1.0.9<49302> failed : Connection reset by peer", where="misc/socket.cc:49"),
                *traceback(0, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, remote process exited or there was a network error, NCCL version 2.21.5"),
                *elastic(24, 3, 1, "n02", 1, (2,)),
            ],
        },
        "job.exception", "stop", "rank/3", never=("fabric.retry_exceeded", "fabric.unreachable"),
    ),
)  # fmt: skip
