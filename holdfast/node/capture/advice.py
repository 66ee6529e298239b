"""Advice for a file that no reader recognises: its probable type, and the command to run instead."""

import re
from collections.abc import Sequence
from typing import NamedTuple


class Lookalike(NamedTuple):
    pattern: str
    looks_like: str
    instead: str


LOOKALIKES = (
    Lookalike(r"\A\s*\Z", "an empty file", "run the tool again and look at its exit code"),
    Lookalike(r"\A(?:\x89PNG|.?JFIF|%PDF|GIF8|\x7fELF)", "a picture or a program", "save the tool's text"),
    Lookalike(r"(?i)\A\s*(?:<!doctype html|<html)", "a web page", "save the tool's own output"),
    Lookalike(
        r"NCCL (?:INFO|WARN)|Traceback \(most recent|ProcessGroupNCCL|torch\.distributed|Watchdog caught collective"
        r"|(?i:\b(?:iteration|step|epoch)[ :=]*\d+ ?[/|,: ].*\bloss\b)|\[Rank \d+\]",
        "a job's log",
        "run holdfast diagnose FILE",
    ),
    Lookalike(r"(?m)^# ?gpu +(?:pid|idx).*\bcommand\b", "nvidia-smi pmon: processes", "run nvidia-smi -q"),
    Lookalike(r"MIG devices:|GPU instances:|GI +CI|MIG \d+g\.\d+gb", "nvidia-smi mig", "run nvidia-smi -q"),
    Lookalike(
        r"(?m)^\s*\d+, .*(?:NVIDIA|Tesla|GeForce|GPU-|[0-9A-F]{2}:00\.0)",
        "nvidia-smi CSV without its header",
        "run nvidia-smi --query-gpu=... --format=csv",
    ),
    Lookalike(r"(?m)^\s*Name:\s+gfx|HSA Agents|HSA System Attributes", "rocminfo", "run amd-smi metric --json"),
    Lookalike(
        r"(?m)^node_\w+|# TYPE \w+ (?:gauge|counter)",
        "metrics of an exporter that is not known",
        "scrape node_exporter, dcgm-exporter or AMD's device-metrics-exporter",
    ),
    Lookalike(
        r"npu-smi|Ascend|hl-smi|Habana|Gaudi|xpu-smi",
        "a tool of an accelerator that is not supported",
        "run nvidia-smi -q or amd-smi metric --json",
    ),
    Lookalike(r"(?m)^\s*\"?(?:apiVersion|kind)\"?:", "a Kubernetes object", "run kubectl describe node NAME"),
    Lookalike(
        r"(?m)^Device Type:|^PCI devices:|mlx\w+.*PSID", "mst or mlxfwmanager: firmware", "run mlxlink -d DEVICE"
    ),
    Lookalike(
        r"(?m)^\s*DCGM_FI_\w+\s*,\s*(?:gauge|counter|label)",
        "the list of fields that dcgm-exporter shall export",
        "save what it exports: curl HOST:9400/metrics",
    ),
    Lookalike(
        r"\A\s*(?:\{\s*[\"}]|\[\s*(?:[\[{\"\]]|\d+\s*[,\]]))",
        "JSON of a tool that is not known",
        "save the tool's text output",
    ),
)
KNOWN = (
    "read are outputs of nvidia-smi, dcgmi, dcgm-exporter, nvidia-bug-report, amd-smi, rocm-smi, the kernel log, "
    "lspci, InfiniBand tools, mlxlink, ethtool, rdma, NVOS and NMX, fabric manager, IMEX, ipmitool, Redfish, "
    "nvme, smartctl, files of /sys, Slurm, kubectl, nccl-tests, benchmarks and bundles of `holdfast capture`; "
    "docs/formats.md has all"
)
MOST_CHARACTERS = 200_000


def of(texts: Sequence[str]) -> str:
    text = "\n".join(texts)[:MOST_CHARACTERS]
    for one in LOOKALIKES:
        if re.search(one.pattern, text):
            return f"not recognised: it looks like {one.looks_like}; {one.instead} ({KNOWN})"
    return f"not recognised: {KNOWN}"
