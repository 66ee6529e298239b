"""Jobs that never get going."""

from writer.incident import Incident
from writer.lines import elastic, nccl, traceback

ALL = (
    Incident(
        "port_in_use", "the rendezvous port is taken by another job",
        {"train.log": [*traceback(None, "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use", "torchrun", 8, "run(args)")]},
        "launcher.setup", "stop",
    ),
    Incident(
        "clients_missing", "one host of two never came to the rendezvous",
        {"n01.log": [*traceback(0, "torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 1/2 clients joined.", call="dist.init_process_group('nccl')")], "n02.log": ["module: command not found"]},
        "launcher.setup", "restart_same",
    ),
    Incident(
        "duplicate_gpu", "two ranks on one GPU",
        {"train.log": [nccl("n01", 0, "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000", where="init.cc:791"), *traceback(0, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1331, invalid usage, NCCL version 2.21.5"), *elastic(5, 0, 0, "n01", 1, (1,))]},
        "launcher.setup", "stop",
    ),
    Incident(
        "shm_too_small_for_nccl", "NCCL cannot make its shared memory segment",
        {"train.log": [nccl("n01", 2, "Error while creating shared memory segment /dev/shm/nccl-aXk2fQ (size 9637888)", where="misc/shmutils.cc:72"), *traceback(2, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:268, unhandled system error")]},
        "launcher.setup", "stop",
    ),
    Incident(
        "wrong_device_number", "more processes than GPUs",
        {"train.log": [*traceback(4, "RuntimeError: CUDA error: invalid device ordinal", call="torch.cuda.set_device(local_rank)"), *elastic(4, 4, 4, "n01", 1, (0, 1, 2, 3))]},
        "launcher.setup", "stop",
    ),
    Incident(
        "missing_module", "an import fails on every rank",
        {"train.log": [*traceback(0, "ModuleNotFoundError: No module named 'flash_attn'", call="import flash_attn"), *traceback(1, "ModuleNotFoundError: No module named 'flash_attn'", call="import flash_attn"), *elastic(4, 0, 0, "n01", 1, (1,))]},
        "job.exception", "stop",
    ),
)  # fmt: skip
