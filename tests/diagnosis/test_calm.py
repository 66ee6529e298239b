"""Nothing is found in a text of a run that is well, and an error that was not overcome is still found."""

import tomllib
from pathlib import Path

import pytest

from holdfast.diagnosis.rules.diagnose import diagnose
from holdfast.formats.job.aside import tries_again
from holdfast.formats.job.log import JobLog

LITTLE = "Error in memory profiling. The memory of the GPU is taken."
MODULE = """Error loading script: foo.py
    Traceback (most recent call last):
      File "/w/scripts.py", line 515, in load
    ModuleNotFoundError: No module named 'foo'
"""
TRACED = """ERROR: the request failed
Traceback (most recent call last):
  File "/w/serve.py", line 88, in main
    run()
OSError: [Errno 28] No space left on device: '/w/out'
"""
CASES = {
    case["name"]: case["text"]
    for case in tomllib.loads(Path(__file__).with_name("calm.toml").read_text(encoding="utf-8"))["case"]
}
RESET = "ERROR uploader: write of /ckpt/7 failed: OSError: [Errno 5] Input/output error"


def first_cause(text: str) -> str:
    log = JobLog()
    log.feed(text.encode())
    found = diagnose(log.finish()).causes
    return found[0].name if found else ""


@pytest.mark.parametrize("name", CASES)
def test_a_text_without_a_failure_has_no_cause(name: str) -> None:
    assert first_cause(CASES[name]) == ""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"{RESET}\nRetrying in 5 s (attempt 2 of 3)\nepoch 3 begins\n", ""),
        (f"{RESET}\nRetrying in 5 s (attempt 2 of 3)\n", "storage.stall"),  # nothing shows that it went on
        (f"{RESET}\nattempt 3 of 3 failed, giving up\nthe run ends\n", "storage.stall"),
        (f"{RESET}\nRetrying in 5 s\nsrun: error: n1: task 0: Exited with exit code 1\n", "storage.stall"),
        (f"{RESET}\nthis message can be safely ignored\n", ""),
        (f"{RESET}\n/w/a.py:3: FutureWarning: this warning can be safely ignored\n", "storage.stall"),
        (f"{RESET}\n2026-01-02 10:11:12 INFO the next message can be ignored\n", "storage.stall"),
        ("ImportError: No module named 'apex', using the native optimizer\n", ""),
        ("ImportError: No module named 'apex'\n", "job.exception"),
        ("INFO: Application startup complete.\nRuntimeError: CUDA out of memory. Tried to allocate 1 GiB\n", "job.cuda_oom"),
        ("=== 3 failed, 2 passed in 1.2s ===\nRuntimeError: CUDA out of memory. Tried to allocate 1 GiB\n", "job.cuda_oom"),
        ("#0 0x7f1 in foo ()\n#1 0x7f2 in main (argc=1)\n", "job.exception"),
        ("#0 building\n#1 exporting layers\n", ""),
    ],
)  # fmt: skip
def test_what_was_overcome_and_what_was_not(text: str, cause: str) -> None:
    assert first_cause(text) == cause


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("Process exited with code 137", "host.killed"),
        ("E1101 launcher: worker-3 exited with status 137", "host.killed"),
        ("main process ended (exit status: 137)", "host.killed"),
        ("pod trainer-0 container pytorch terminated: reason=Error, exitCode=137", "host.killed"),
        ("job 1221 completed with return code 137", "host.killed"),
        ("make: *** [train] Error 137", "host.killed"),
        ("[launcher] rank 3 (pid 2231) terminated, rc=137", "host.killed"),
        ("State: FAILED ExitCode 137:0", "host.killed"),
        ("trainer exited: 137", "host.killed"),
        ("worker 4 returned status=139", "job.exception"),
        ("trainer exited: 0", ""),
        ("GET /metrics HTTP/1.1 status 137", ""),
        ("step 137 of the task, exit code 0", ""),
    ],
)
def test_an_exit_code_of_a_signal_in_any_form(line: str, cause: str) -> None:
    assert first_cause(f"{line}\n") == cause


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("Retrying in 1s [Retry 1/5].", True),
        ("attempt 5 of 5", False),
        ("will retry in 10 s (1/10)", True),
        ("giving up after 3 attempts, not retrying", False),
        ("Maximum number of retries reached", False),
        ("please retry the download", False),
    ],
)
def test_another_attempt_is_announced(text: str, again: bool) -> None:
    assert tries_again(text) is again


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("application called MPI_Abort(MPI_COMM_WORLD, -1) - process 16\n", "job.exception"),
        ("warning: failed to lock the buffer: Cannot allocate memory\nlistening\n", ""),
        ("error: failed to read the buffer: Cannot allocate memory\n", "host.oom"),
        ("nanny - WARNING - Worker process 56 was killed by signal 15\nnanny - WARNING - Restarting worker\nregistered\n", ""),
        ("libfabric:1:17::core:core:ofi_hmem_init():421<warn> ibv_query_gid failed: No data available\nhello\n", ""),
        ("requires torch==2.0.0, but you have torch 2.3.0 which is incompatible.\nSuccessfully installed torch-2.3.0\n", ""),
        ("[ 8812.101] nfs: server 10.0.0.9 not responding, still trying\n[ 8841.221] nfs: server 10.0.0.9 OK\n", ""),
        ("[ 8812.101] nfs: server 10.0.0.9 not responding, still trying\n", "storage.stall"),
        ("W local_rendezvous.cc:4] Local rendezvous is aborting with status: OUT_OF_RANGE: End of sequence\n", ""),
    ],
)  # fmt: skip
def test_a_pause_a_warning_and_a_restart_are_no_failure(text: str, cause: str) -> None:
    assert first_cause(text) == cause


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("slurmstepd: error: unable to create cgroup '/sys/fs/cgroup/x' : No space left on device\n", "launcher.setup"),
        ("slurmstepd: error: unable to create cgroup '/sys/fs/cgroup/x' : No space left on device\nloading\nsrun: error: n1: task 0: Exited with exit code 1\nloading\nmore words\nand more\n", "launcher.setup"),
        ("slurmstepd: error: Exceeded job memory limit at some point.\n", "host.oom"),
        ("(raylet) file_system_monitor.cc:1: /tmp/ray is over 95% full. Object creation fails\n", "storage.full"),
        ("ValueError: Free memory on device (0.88/23.56 GiB) on startup is less than desired GPU memory utilization (0.9, 21.2 GiB).\n", "job.cuda_oom"),
        ("the mission of the worker failed\n", "unknown"),
        ("ReplicaType=Worker expected=2, running=0, failed=2\n", "unknown"),
        ('connect() failed (111: Connection refused) while connecting to upstream\n10.0.0.9 - - "GET /v1 HTTP/1.1" 502 157\n10.0.0.9 - - "GET /metrics HTTP/1.1" 200 15\n10.0.0.9 - - "POST /v1 HTTP/1.1" 500 15\n', "launcher.setup"),
        ("W0522 00:52:15.231487 99 util.cc:256] unable to create StreamExecutor for CUDA:0: failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory\nFatal Python error: Aborted\n", "job.cuda_oom"),
        ("Fatal Python error: Aborted\n", "job.exception"),
        ("the run ended with error code : 12\n", "launcher.setup"),
        ("Failed to mount /data: access denied by server\n", "storage.stall"),
        ("[3]<stderr>:Horovod has been shut down. This was caused by an exception on one of the ranks\n" + "".join(f"epoch 3 batch {n} loss 0.9\n" for n in range(4)), "unknown"),
        ("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 262144, Hardware limit: 232448. Reducing block sizes or `num_stages` may help.\n", "job.exception"),
        ("{'train_runtime': 812.1, 'epoch': 3.0}\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n", "job.cuda_oom"),
        ("ERROR No space left on device: write of /w/out failed\n", "storage.full"),
        ("fatal: Could not resolve host: example.org\nhome is 100% full\nscratch a 100 % used\nqueue of b 100% usage\nlink c 100% packet loss\n", "launcher.setup"),
        ('Error response from daemon: Get "https://mirror.local/v2/": dial tcp 10.0.0.9:443: connect: connection refused\nlatest: Pulling from library/python\n', "launcher.setup"),
        ("error: Kill task failed on n031\n", "host.other"),
        ("kex_exchange_identification: read: Connection reset by peer\n", "launcher.setup"),
        ("Error: the index of the runs has no entry\nserving the board\n", "launcher.setup"),
        ("distributed.nanny - WARNING - Worker process 22204 was killed by signal 9\ndistributed.nanny - WARNING - Restarting worker\n", "host.killed"),
        ("distributed.nanny - WARNING - Worker process 22204 was killed by signal 9\ndistributed.nanny - WARNING - Restarting worker\n" * 3, "host.killed"),
        ("WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 41 closing signal SIGTERM\nEpoch: [1][ 10/100]\tTime 1.2 Loss 6.7\n", "unknown"),
        ("STATUS OF THE RUN\nE0101 10:11:12.123456 99 run.cc:1] failed to open the shard\n", "launcher.setup"),
        ("Uncorrectable Error occurred : Yes, it failed\n", "launcher.setup"),
        ("26/07/15 20:00:14 INFO DAGScheduler: Job 12 finished: save, took 8.1 s\n26/07/15 20:00:15 ERROR YarnScheduler: Lost executor 7 on h: Container killed by YARN for exceeding memory limits. 5.6 GB of 5.5 GB physical memory used.\n", "host.oom"),
    ],
)  # fmt: skip
def test_the_same_words_of_a_job_that_failed(text: str, cause: str) -> None:
    assert first_cause(text) == cause


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        (f"```\n{RESET}\n```\n", True),
        (f"## Disks\n## Memory\n```\n{RESET}\n```\n", False),  # the text shows more than one thing
        (f"## Disks\n## Memory\n{RESET}\n", True),  # a program prints such lines too
        (f"## Disks\n## Memory\n```\n{RESET}\nsrun: error: n1: task 0: Exited with exit code 1\n```\n", True),
        (f"ERROR core: {LITTLE}\n", True),
        (f"INFO core: {LITTLE}\n", False),  # the program itself calls it a piece of information
        (TRACED, True),
        (MODULE, True),  # nothing follows
        (MODULE + "and the rest of it\n", False),
        (MODULE.replace("    ", "") + "and the rest of it\n", True),  # at the margin: nobody caught it
        (TRACED + 'GET "/health" 200\n', False),
    ],
)
def test_what_is_quoted_or_was_caught_is_not_sure(text: str, sure: bool) -> None:
    log = JobLog()
    log.feed(text.encode())
    assert (diagnose(log.finish()).causes[0].confidence >= 0.8) is sure
