"""Programs that fail by themselves: memory, collectives, exceptions; and hangs that nothing explains."""

from writer.incident import Incident
from writer.lines import elastic, glog, init_lines, megatron, nccl, new_watchdog, old_watchdog, traceback, watchdog


def _waiting(*ranks: int, seconds: float = 640.0) -> list[str]:
    return [line for rank in ranks for line in watchdog(rank, seconds + rank / 10)]


_GLOO = "RuntimeError: [/build/third_party/gloo/gloo/transport/tcp/"
_SHAPE = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4096x1024 and 2048x1024)"

ALL = (
    Incident(
        "cuda_oom_one_rank", "GPU memory runs out on rank 2 only; the others lose it and time out",
        {
            "train.log": [
                *init_lines("n01", 0, 4, gpus=4), *megatron(1, 3, 0),
                *traceback(2, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.95 GiB. GPU 2 has a total capacity of 79.15 GiB of which 1.12 GiB is free."),
                *[nccl("n01", gpu, "[Service thread] Connection closed by localRank 2", "INFO") for gpu in (0, 1, 3)],
                *_waiting(0, 1, 3),
            ],
        },
        "job.cuda_oom", "stop", "rank/2",
    ),
    Incident(
        "cuda_oom_in_nccl", "NCCL cannot get GPU memory for its buffers",
        {"train.log": [*init_lines("n01", 0, 2), nccl("n01", 1, "Cuda failure 2 'out of memory'", where="include/alloc.h:178"), *traceback(1, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:317, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5")]},
        "job.cuda_oom", "stop",
    ),
    Incident(
        "illegal_access_in_watchdog", "the watchdog thread dies of an illegal access: a kernel bug",
        {"train.log": [*megatron(512, 6, 0), f"[rank1]:[{glog(31)} ProcessGroupNCCL.cpp:1595] [PG ID 0 PG GUID 0(default_pg) Rank 1] Process group watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered", *elastic(33, 1, 1, "n01", -6, (0, 2, 3))]},
        "job.illegal_access", "restart_same", "rank/1",
    ),
    Incident(
        "desync_report", "PyTorch's own report says who did not join",
        {"train.log": [*init_lines("n01", 0, 2), old_watchdog(0), " - [0] Timeout at collective: ALLREDUCE, #48", " - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:", "     [1] finished collective #47, but didn't join collective #48 (count from 1)"]},
        "job.rank_missing", "restart_same", "rank/1",
    ),
    Incident(
        "rank_far_behind", "rank 7 waits at a collective 32,000 before the others",
        {"train.log": [*megatron(9000, 4, 0), *[line for rank in range(7) for line in new_watchdog(rank, 640 + rank, 63815, 63816, 63814)], *new_watchdog(7, 660, 31703, 31703, 31702)]},
        "job.rank_missing", "restart_same", "rank/7",
    ),
    Incident(
        "barrier_missing", "a monitored barrier names the rank",
        {"train.log": [*megatron(3, 3, 0), *traceback(0, "RuntimeError: Rank 5 failed to pass monitoredBarrier in 30000 ms", call="dist.monitored_barrier()")]},
        "job.rank_missing", "restart_same",
    ),
    Incident(
        "collective_mismatch_sizes", "in one broadcast, one rank sends another size",
        {"train.log": [*megatron(375, 4, 0), *[line for rank in (0, 1, 3) for line in watchdog(rank, 640 + rank, 7219, "BROADCAST", 24084544)], *watchdog(2, 640, 7219, "BROADCAST", 64)]},
        "job.collective_mismatch", "stop", "rank/2",
    ),
    Incident(
        "collective_mismatch_gloo", "ranks send different sizes on CPU: gloo refuses what it receives",
        {"train.log": ["step 9 loss 0.3406 time 1.99ms", "terminate called after throwing an instance of 'gloo::EnforceNotMet'", "  what():  [enforce fail at /build/third_party/gloo/gloo/transport/tcp/pair.cc:456] op.preamble.length <= op.nbytes. 2048 vs 4. Received data size doesn't match expected size.", *traceback(2, _GLOO + "pair.cc:537] Read error [127.0.0.1]:62676: Connection reset by peer. "), *elastic(12, 1, 1, "n01", -6, (0, 2, 3))]},
        "job.collective_mismatch", "stop",
    ),
    Incident(
        "rank_asleep_gloo", "three ranks time out in gloo; the fourth wrote nothing",
        {"train.log": [*[f"rank {rank} of 4 is up" for rank in range(4)], "step 9 loss 0.3406 time 1.99ms", *[line for rank in (0, 1, 2) for line in traceback(rank, _GLOO + "unbound_buffer.cc:78] Timed out waiting 8000ms for recv operation to complete")], *elastic(42, 0, 0, "n01", 1, (1, 2, 3)), "  rank      : 3 (local_rank: 3)", "  exitcode  : -15 (pid: 3303)"]},
        "job.rank_missing", "restart_same", "rank/3",
    ),
    Incident(
        "rank_killed_gloo", "one rank is killed; the others see resets",
        {"train.log": ["step 9 loss 0.3406 time 1.99ms", *[line for rank in (1, 3) for line in traceback(rank, _GLOO + "pair.cc:537] Read error [127.0.0.1]:29347: Connection reset by peer. This is typically caused by a remote worker hanging.")], *elastic(12, 2, 2, "n01", -9, (0, 1, 3))]},
        "host.killed", "restart_same", "node/n01",
    ),
    Incident(
        "rank_preprocessing", "rank 0 still tokenises when the watchdogs of the others fire",
        {"train.log": ["Running tokenizer on dataset:  34%|###4      | 3400/10000 [29:10<56:38,  1.94 examples/s]", "Running tokenizer on dataset:  35%|###5      | 3500/10000 [30:01<55:46,  1.94 examples/s]", *[old_watchdog(rank, "BROADCAST") for rank in (1, 2, 3)]]},
        "job.rank_slow", "restart_same", never=("unknown",),
    ),
    Incident(
        "shape_error", "a plain bug in the model, at the first step",
        {"train.log": [*traceback(0, _SHAPE), *traceback(1, _SHAPE), *elastic(3, 0, 0, "n01", 1, (1,))]},
        "job.exception", "stop", never=("job.rank_missing",),
    ),
    Incident(
        "exception_interleaved", "two ranks' tracebacks mixed line by line; only one is the cause",
        {"train.log": [*megatron(77, 4, 0), *[line for pair in zip(traceback(3, "ValueError: cannot reshape array of size 511 into shape (2,256)", file="data.py", call="x.reshape(2, -1)"), traceback(1, "RuntimeError: NCCL communicator was aborted on rank 1."), strict=True) for line in pair], *_waiting(0, 2)]},
        "job.exception", "stop", "rank/3",
    ),
    Incident(
        "same_exception_twice", "restarted once, it fails at the same step again",
        {
            "attempt_0.log": [*megatron(120, 5, 0), *traceback(1, "RuntimeError: corrupted record in shard 17", file="data.py", call="record = decode(raw)"), *elastic(30, 1, 1, "n01", 1, (0,))],
            "attempt_1.log": [*megatron(100, 25, 300), *traceback(1, "RuntimeError: corrupted record in shard 17", file="data.py", call="record = decode(raw)"), *elastic(430, 1, 1, "n01", 1, (0,))],
        },
        "job.exception", "stop", "rank/1",
    ),
    Incident(
        "watchdog_only", "every rank waits in the same collective, and nothing says why",
        {"train.log": [*megatron(420, 8, 0), *_waiting(0, 1, 2, 3)]},
        "unknown", "restart_after_probe",
    ),
    Incident(
        "heartbeat_stuck", "the watchdog itself is stuck for 480 s",
        {"train.log": [*megatron(420, 8, 0), f"[rank2]:[{glog(560)} ProcessGroupNCCL.cpp:1746] [PG ID 0 PG GUID 0(default_pg) Rank 2] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives."]},
        "unknown", "restart_after_probe",
    ),
    Incident(
        "handled_oom", "the trainer catches an out-of-memory error, halves the batch and continues",
        {"train.log": [*megatron(1, 6, 0), *traceback(0, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB."), "retrying with half the micro batch", *megatron(7, 40, 40)]},
        None,
    ),
)  # fmt: skip
