"""What is taken from a process, and what is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.nccl import settings as nccl_settings


def test_only_nccl_variables_are_kept() -> None:
    environ = b"AWS_SECRET=hunter2\0NCCL_IB_TIMEOUT=22\0PATH=/bin\0XNCCL_A=1\0NCCL_IB_HCA==mlx5_0,mlx5_1\0NCCL_BROKEN"
    assert nccl_settings.nccl_settings(environ) == {"NCCL_IB_TIMEOUT": "22", "NCCL_IB_HCA": "=mlx5_0,mlx5_1"}


def test_what_pytorch_says_of_nccl_is_kept_too() -> None:
    environ = b"TORCH_NCCL_TRACE_BUFFER_SIZE=2000\0TORCH_FR_BUFFER_SIZE=10\0TORCH_HOME=/x\0WANDB_API_KEY=x"
    found = nccl_settings.nccl_settings(environ)
    assert found == {"TORCH_NCCL_TRACE_BUFFER_SIZE": "2000", "TORCH_FR_BUFFER_SIZE": "10"}


@pytest.mark.parametrize("name", ["TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE"])
def test_the_flight_recorder_has_two_names(name: str) -> None:
    assert nccl_settings.recorder_setting({name: "2000"}) == name
    assert nccl_settings.recorder_setting({name: "1", "TORCH_FR_BUFFER_SIZE": "2"}) == "TORCH_FR_BUFFER_SIZE"
    assert nccl_settings.recorder_setting({}) == "TORCH_NCCL_TRACE_BUFFER_SIZE"


def test_a_configuration_file_is_read_like_an_environment_without_its_comments() -> None:
    assert nccl_settings.nccl_conf("# NCCL_A=1\n NCCL_IB_TIMEOUT=22\nPATH=/\n") == {"NCCL_IB_TIMEOUT": "22"}


@pytest.mark.parametrize(
    ("path", "version"),
    [
        ("/usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5", "2.21.5"),
        ("/opt/nccl/lib/libnccl.so.2", ""),
        ("/x/libnccl-net.so.2.21.5", ""),
    ],
)
def test_version_from_the_librarys_name(path: str, version: str) -> None:
    assert nccl_settings.version_in_path(path) == version


def test_version_from_the_package_that_brought_the_library() -> None:
    assert nccl_settings.version_in_wheel("nvidia_nccl_cu12-2.27.3.dist-info") == "2.27.3"
    assert nccl_settings.version_in_wheel("nvidia_nccl_cu12") == ""


def test_the_mapped_library_is_found_among_others() -> None:
    maps = (
        "7f00-7f01 r-xp 00000000 08:01 11 /usr/lib/libc.so.6\n"
        "7f02-7f03 rw-p 00000000 00:00 0\n"
        "7f04-7f05 r-xp 00000000 08:01 12 /a b/nvidia/nccl/lib/libnccl.so.2 (deleted)\n"
    )
    assert nccl_settings.mapped_library(maps) == "/a b/nvidia/nccl/lib/libnccl.so.2"


@pytest.mark.parametrize(
    ("hca", "device", "number", "used"),
    [
        ("", "mlx5_0", "1", True),
        ("mlx5", "mlx5_3", "1", True),
        ("mlx5_1", "mlx5_10", "1", True),
        ("=mlx5_1", "mlx5_10", "1", False),
        ("=mlx5_0,mlx5_1", "mlx5_1", "1", True),
        ("mlx5_0:1", "mlx5_0", "2", False),
        ("mlx5_0:1", "mlx5_0", "1", True),
        ("^mlx5_2", "mlx5_2", "1", False),
        ("^mlx5_2", "mlx5_3", "1", True),
        ("^=mlx5_3,mlx5_4", "mlx5_40", "1", True),
        ("^mlx5_2:2", "mlx5_2", "1", True),
        ("bnxt", "mlx5_0", "1", False),
    ],
)
def test_which_ports_a_setting_lets_a_job_use(hca: str, device: str, number: str, used: bool) -> None:
    assert nccl_settings.may_use_port(hca, device, number) is used


@pytest.mark.parametrize(
    ("text", "number"), [("22", 22), ("0x16", 22), (" 7 ", 7), ("x", None), ("", None), (None, None)]
)
def test_numbers_as_nccl_reads_them(text: str | None, number: int | None) -> None:
    assert nccl_settings.whole_number(text) == number


@pytest.mark.parametrize(
    ("settings", "may"),
    [
        ({}, True),
        ({"NCCL_IB_DISABLE": "0", "NCCL_NET": "IB"}, True),
        ({"NCCL_IB_DISABLE": "1"}, False),
        ({"NCCL_IB_DISABLE": "yes"}, True),
        ({"NCCL_NET": "Socket"}, False),
        ({"NCCL_NET": "SOCKET"}, False),
        ({"NCCL_NET": "AWS Libfabric"}, True),
    ],
)
def test_a_job_reported_to_keep_to_sockets_uses_no_rdma(settings: dict[str, str], may: bool) -> None:
    assert nccl_settings.may_use_rdma(settings) is may


@given(st.binary(max_size=400), st.text(max_size=100))
def test_nothing_makes_a_parser_raise_or_leak(raw: bytes, text: str) -> None:
    assert all(name.startswith("NCCL_") for name in nccl_settings.nccl_settings(raw))
    (
        nccl_settings.nccl_conf(text),
        nccl_settings.mapped_library(text),
        nccl_settings.whole_number(text),
        nccl_settings.may_use_port(text, "mlx5_0", "1"),
        nccl_settings.may_use_rdma({"NCCL_IB_DISABLE": text, "NCCL_NET": text}),
    )
    nccl_settings.version_in_path(text), nccl_settings.version_in_wheel(text)
