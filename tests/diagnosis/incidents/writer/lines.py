"""Lines as PyTorch, NCCL, torchrun, trainers, Slurm and kernels write them, of several versions."""

from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 4, 11, 0, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def iso(seconds: float) -> str:
    return at(seconds).strftime("%Y-%m-%d %H:%M:%S")


def glog(seconds: float, level: str = "E") -> str:
    """'E304 11:00:00.000000000', as the C++ side of PyTorch stamps."""
    when = at(seconds)
    return f"{level}{when.month}{when.day:02d} {when.strftime('%H:%M:%S.%f')}000"


def syslog(seconds: float, host: str, text: str) -> str:
    return f"{at(seconds).strftime('%b %e %H:%M:%S')} {host} kernel: [{80000 + seconds:.6f}] {text}"


def dmesg(seconds: float, text: str) -> str:
    return f"[{at(seconds).strftime('%a %b %e %H:%M:%S %Y')}] {text}"


def watchdog(
    rank: int, seconds: float, seq: int = 4821, op: str = "ALLREDUCE", numel: int = 67108864, limit_ms: int = 600000
) -> list[str]:
    """What one rank writes when it has waited too long, as PyTorch 2.5 does."""
    head, ran = f"[rank{rank}]:", limit_ms + 40 + rank
    work = f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)={limit_ms})"
    group = f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
    return [
        f"{head}[{glog(seconds)} ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: "
        f"{work} ran for {ran} milliseconds before timing out.",
        f"{head}[{glog(seconds + 0.01)} ProcessGroupNCCL.cpp:1785] {group} Exception (either an error or timeout) "
        f"detected by watchdog at work: {seq}, last enqueued NCCL work: {seq + 1}, last completed NCCL work: {seq - 1}.",
        f"{head}[{glog(seconds + 0.5)} ProcessGroupNCCL.cpp:630] [Rank {rank}] Some NCCL operations have failed or timed "
        "out. Due to the asynchronous nature of CUDA kernels, later GPU operations may see incomplete data.",
        f"{head}[{glog(seconds + 0.6)} ProcessGroupNCCL.cpp:636] [Rank {rank}] To avoid data inconsistency, we are taking "
        "the entire process down.",
    ]


def old_watchdog(rank: int, op: str = "ALLREDUCE", limit_ms: int = 1800000) -> str:
    """The oldest form: no sequence number, no sizes, no time."""
    return (
        f"[E ProcessGroupNCCL.cpp:587] [Rank {rank}] Watchdog caught collective operation timeout: "
        f"WorkNCCL(OpType={op}, Timeout(ms)={limit_ms}) ran for {limit_ms + 117} milliseconds before timing out."
    )


def new_watchdog(
    rank: int, seconds: float, seq: int, enqueued: int, completed: int, op: str = "ALLREDUCE"
) -> list[str]:
    """The form with 'work sequence id' and 'PG status'."""
    head, group = f"[rank{rank}]:", f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
    work = f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000)"
    return [
        f"{head}[{glog(seconds)} ProcessGroupNCCL.cpp:685] [Rank {rank}] Watchdog caught collective operation timeout: "
        f"{work} ran for 600{rank:03d} milliseconds before timing out.",
        f"{head}[{glog(seconds + 0.01)} ProcessGroupNCCL.cpp:2252] {group}  failure detected by watchdog at work sequence "
        f"id: {seq} PG status: last enqueued work: {enqueued}, last completed work: {completed}",
    ]


def nccl(host: str, gpu: int, text: str, level: str = "WARN", where: str = "transport/net_ib.cc:1296") -> str:
    pid = 5000 + gpu
    place = f"{where} " if level == "WARN" else ""
    return f"{host}:{pid}:{pid + 400} [{gpu}] {place}NCCL {level} {text}"


def completion(host: str, gpu: int, peer: str, status: int, vendor: int) -> str:
    return nccl(
        host, gpu, f"NET/IB : Got completion from peer {peer}<41022> with status={status} opcode=0 len=0 vendor err "
        f"{vendor} (Recv)", where="transport/net_ib.cc:1612",
    )  # fmt: skip


def init_lines(host: str, first_rank: int, world: int, gpus: int = 2, version: str = "2.21.5") -> list[str]:
    lines = [f"NCCL version {version}+cuda12.4"] if first_rank == 0 else []
    for gpu in range(gpus):
        rank = first_rank + gpu
        lines += [
            nccl(host, gpu, "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB eth0:10.1.0.7<0>", "INFO"),
            nccl(host, gpu, "Using network IB", "INFO"),
            nccl(host, gpu, f"ncclCommInitRank comm 0x55d0a0 rank {rank} nranks {world} cudaDev {gpu} nvmlDev {gpu} "
                 f"busId {gpu + 1}b000 commId 0x7fa1 - Init COMPLETE", "INFO"),
        ]  # fmt: skip
    return lines


def megatron(first: int, count: int, seconds: float, per_step: float = 5.0, loss: float = 2.41) -> list[str]:
    return [
        f" [{iso(seconds + i * per_step)}] iteration {first + i:8d}/  500000 | consumed samples: {(first + i) * 512:12d} | "
        f"elapsed time per iteration (ms): {per_step * 1000 + (i * 37) % 23:.1f} | learning rate: 1.500E-04 | "
        f"global batch size:   512 | lm loss: {loss + ((i * 7) % 5) / 250:.6E} | loss scale: 1.0 | grad norm: 0.412 | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |"
        for i in range(count)
    ]  # fmt: skip


def traceback(
    rank: int | None, error: str, file: str = "train.py", line: int = 211, call: str = "loss = model(batch)"
) -> list[str]:
    head = "" if rank is None else f"[rank{rank}]: "
    return [
        f"{head}Traceback (most recent call last):",
        f'{head}  File "/work/run/{file}", line {line}, in <module>',
        f"{head}    main()",
        f'{head}  File "/work/run/{file}", line {line - 40}, in main',
        f"{head}    {call}",
        f"{head}{error}",
    ]


def elastic(seconds: float, rank: int, local: int, host: str, code: int, others: tuple[int, ...] = ()) -> list[str]:
    """torchrun's last words: the others are reported to end, then a table with the first failure at its end."""
    stamp = at(seconds).strftime("%Y-%m-%d_%H:%M:%S")
    signal = {-9: "SIGKILL", -11: "SIGSEGV", -6: "SIGABRT", -7: "SIGBUS"}.get(code, "")
    why = f"Signal {-code} ({signal}) received by PID {3300 + rank}" if code < 0 else "To enable traceback see the docs"
    when = at(seconds)
    lines = [
        f"W{when.strftime('%m%d %H:%M:%S')}.120000 3100 torch/distributed/elastic/multiprocessing/api.py:897] Sending process "
        f"{3300 + other} closing signal SIGTERM"
        for other in others
    ]
    return [
        *lines,
        f"E{when.strftime('%m%d %H:%M:%S')}.480000 3100 torch/distributed/elastic/multiprocessing/api.py:869] failed "
        f"(exitcode: {code}) local_rank: {local} (pid: {3300 + rank}) of binary: /opt/venv/bin/python",
        *traceback(
            None, "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "torchrun", 8, "run(args)"
        ),
        "=" * 56,
        "train.py FAILED",
        "-" * 56,
        "Root Cause (first observed failure):",
        "[0]:",
        f"  time      : {stamp}",
        f"  host      : {host}",
        f"  rank      : {rank} (local_rank: {local})",
        f"  exitcode  : {code} (pid: {3300 + rank})",
        "  error_file: <N/A>",
        f"  traceback : {why}",
        "=" * 56,
    ]
