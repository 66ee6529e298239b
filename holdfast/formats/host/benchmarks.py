"""Benchmarks of GPUs, network, memory and disks: recognised, and evaluated if they report an error of their own.

A result without a reference gives no verdict: `holdfast probe run` measures and compares.
"""

import re

from holdfast.formats.tool_output import NODE, ToolOutput

_TOOLS = (
    (
        "perftest",
        r"^\s*(?:RDMA_(?:Write|Read)|Send|Atomic\w*) (?:Post List )?(?:Bidirectional )?(?:BW|Latency) Test",
    ),
    ("OSU benchmarks", r"^# OSU (?:MPI|UPC|OpenSHMEM|XCCL|NCCL)\S* .*(?:Latency|Bandwidth|Test)"),
    ("nvbandwidth", r"^(?:nvbandwidth Version|Running \w*memcpy\w*\.$|memcpy \w+ \S+ (?:->|<-) .*bandwidth \(GB/s\))"),
    ("gpu-burn", r"proc'd: \d+ \(\d+ Gflop/s\)|^Tested \d+ GPUs:"),
    ("bandwidthTest", r"^\[CUDA Bandwidth Test\]|^ (?:Host to Device|Device to Host|Device to Device) Bandwidth"),
    ("rocm-bandwidth-test", r"RocmBandwidthTest Version|Unidirectional copy peak bandwidth"),
    ("TransferBench", r"^TransferBench v|\[Common\]\s*\nALWAYS_VALIDATE"),
    ("GPCNeT", r"^Network Tests v[\d.]+|Congestion Tests v[\d.]+"),
    ("HPL", r"^HPLinpack |HPL-NVIDIA|^=+\s*\nT/V +N +NB"),
    ("STREAM", r"^Function +(?:Best )?(?:Rate )?MB(?:yte)?s?/s|^STREAM version"),
    ("fio", r"^fio-\d\.\d+|\"fio version\"\s*:"),
    ("UCC perftest", r"^Collective:\s+\w+\nMemory type:\s+\w+"),
    ("mlperf storage or IOR", r"^IOR-\d\.\d|^MLPerf Storage"),
)
_ERROR = re.compile(
    r"^.*(?:Completion with error|Couldn't connect|Unable to Connect|Failed to modify QP|\[CUDA_ERROR_\w+\]"
    r"|CUDA error|HIP error|hipError\w+|Result = FAIL|FAILED residual|Validation (?:failed|error)).*$",
    re.MULTILINE | re.IGNORECASE,
)
_FAULTY = re.compile(r"^[^\S\n]*GPU (\d+): FAULTY\s*$", re.MULTILINE)
_DIED = re.compile(r"^(?=.*proc'd: ).*DIED!", re.MULTILINE)


def read(text: str) -> ToolOutput | None:
    tool = next((name for name, shape in _TOOLS if re.search(shape, text, re.MULTILINE)), "")
    if not tool:
        return None
    output = ToolOutput(tool)
    output.lines = text.count("\n")
    for gpu in dict.fromkeys(_FAULTY.findall(text)):
        output.complain(f"gpu/{int(gpu)}", "gpu-burn found wrong results", remedy="replace the GPU")
    if _DIED.search(text):
        output.complain(NODE, "a GPU stopped working during gpu-burn", remedy="look for an Xid in the kernel log")
    if error := _ERROR.search(text):
        output.complain(NODE, error[0], remedy="check the part or link that the message names")
    return output
