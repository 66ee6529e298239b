"""Real NVML clients look at the twin: each must see what the state file says."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.lab.twin import TwinNode, clear, inject, make_node

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> TwinNode:
    return make_node(tmp_path_factory.mktemp("twin") / "n01")


def _ask(node: TwinNode, script: str) -> Any:
    """Run a script with pynvml as `p` in a process of its own, because pynvml keeps one library per process."""
    text = f"import json, pynvml as p\np.nvmlInit()\nh = p.nvmlDeviceGetHandleByIndex\n{script}"
    done = subprocess.run(
        [sys.executable, "-c", text], env=_environment(node), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def _environment(node: TwinNode) -> dict[str, str]:
    return {**os.environ, "LD_LIBRARY_PATH": str(node.library.parent)}


def test_pynvml_sees_eight_gpus_with_the_identities_of_the_state(shared: TwinNode) -> None:
    seen = _ask(
        shared,
        "print(json.dumps([[p.nvmlDeviceGetName(h(i)), p.nvmlDeviceGetUUID(h(i)), p.nvmlDeviceGetSerial(h(i)),"
        " p.nvmlDeviceGetPciInfo(h(i)).busId.lower(), p.nvmlDeviceGetIndex(p.nvmlDeviceGetHandleByUUID("
        "p.nvmlDeviceGetUUID(h(i)))), p.nvmlDeviceGetIndex(p.nvmlDeviceGetHandleByPciBusId("
        "p.nvmlDeviceGetPciInfo(h(i)).busId))] for i in range(p.nvmlDeviceGetCount())]))",
    )
    assert len(seen) == 8
    for index, (name, uuid, serial, bus, by_uuid, by_bus) in enumerate(seen):
        gpu = shared.state.gpu[index]
        assert [name, uuid, serial] == [gpu.name.decode(), gpu.uuid.decode(), gpu.serial.decode()]
        assert bus == f"0000{shared.gpu_functions()[index].address}"
        assert by_uuid == by_bus == index


def test_fields_and_records_carry_what_was_set(tmp_path: Path) -> None:
    node = make_node(tmp_path / "n01")
    gpu = node.state.gpu[2]
    gpu.memory_temperature, gpu.pcie_replays, gpu.recovery_action = 71, 42, 2
    gpu.link[4].replay_errors = 1234
    gpu.volatile_uncorrected.count[2] = 7
    gpu.remapped_corrected, gpu.banks_low = 3, 9
    seen = _ask(
        node,
        "v = p.nvmlDeviceGetFieldValues(h(2), [82, 94, 230, 194, (161, 4), 301])\n"
        "f = p.c_nvmlGpuFabricInfo_v3_t()\n"
        "p.nvmlDeviceGetGpuFabricInfoV(h(2), p.byref(f))\n"
        "print(json.dumps([v[0].value.uiVal, v[1].value.uiVal, v[2].value.uiVal, v[3].value.siVal, v[4].value.ullVal,"
        " v[5].nvmlReturn, p.nvmlDeviceGetNvLinkErrorCounter(h(2), 4, 0), p.nvmlDeviceGetTotalEccErrors(h(2), 1, 0),"
        " list(p.nvmlDeviceGetRemappedRows(h(2))), p.nvmlDeviceGetRowRemapperHistogram(h(2)).low, f.state,"
        " f.healthSummary, p.nvmlDeviceGetMarginTemperature(h(2)), p.nvmlDeviceGetMemoryInfo(h(2)).total]))",
    )
    not_supported = 3
    assert seen[:6] == [71, 42, 2, -2, 1234, not_supported]
    assert seen[6:8] == [1234, 7]
    assert seen[8:10] == [[3, 0, 0, 0], 9]
    assert seen[10:] == [3, 1, gpu.margin, gpu.memory_total]


def test_a_lost_gpu_is_lost_in_every_call_and_the_others_are_not(tmp_path: Path) -> None:
    node = make_node(tmp_path / "n01")
    inject(node, "gpu_lost", gpu=5)
    script = (
        "out = []\nfor i in range(8):\n"
        "    try: out.append(p.nvmlDeviceGetTemperature(h(i), 0))\n"
        "    except p.NVMLError as e: out.append(str(e))\nprint(json.dumps(out))"
    )
    seen = _ask(node, script)
    assert seen[5] == "GPU is lost" and [isinstance(x, int) for x in seen].count(True) == 7
    clear(node, "gpu_lost", gpu=5)
    assert isinstance(_ask(node, script)[5], int)


def test_a_gpu_that_is_lost_between_two_calls_is_lost_on_a_handle_already_held(tmp_path: Path) -> None:
    node = make_node(tmp_path / "n01")
    lose = f"from holdfast.lab.twin import inject; inject({str(node.directory)!r}, 'gpu_lost', gpu=1)"
    script = (
        f"held = h(1)\nfirst = p.nvmlDeviceGetTemperature(held, 0)\n{lose}\n"
        "try: p.nvmlDeviceGetTemperature(held, 0)\nexcept p.NVMLError as e: print(json.dumps([first, str(e)]))"
    )
    assert _ask(node, script) == [node.state.gpu[1].temperature, "GPU is lost"]


def test_not_supported_is_reported_so_and_not_zero(tmp_path: Path) -> None:
    node = make_node(tmp_path / "l40s", model="l40s")
    seen = _ask(
        node,
        "v = p.nvmlDeviceGetFieldValues(h(0), [82])\n"
        "try: p.nvmlDeviceGetNvLinkState(h(0), 0)\n"
        "except p.NVMLError as e: print(json.dumps([str(e), v[0].nvmlReturn]))",
    )
    assert seen == ["Not Supported", 3]


def test_a_process_is_seen_with_its_memory(tmp_path: Path) -> None:
    node = make_node(tmp_path / "n01")
    inject(node, "gpu_process", gpu=6)
    seen = _ask(
        node,
        "print(json.dumps([[(x.pid, x.usedGpuMemory) for x in p.nvmlDeviceGetComputeRunningProcesses(h(i))]"
        " for i in range(8)]))",
    )
    pid, used = seen[6][0]
    assert (node.proc.root / str(pid) / "environ").exists() and used == node.state.gpu[6].memory_used
    assert [len(one) for one in seen] == [0, 0, 0, 0, 0, 0, 1, 0]


def test_a_hanging_driver_hangs_until_cleared(tmp_path: Path) -> None:
    node = make_node(tmp_path / "n01")
    inject(node, "driver_hang")
    child = subprocess.Popen(
        [sys.executable, "-c", "import pynvml as p; p.nvmlInit(); print(p.nvmlDeviceGetCount())"],
        env=_environment(node),
        stdout=subprocess.PIPE,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(timeout=1.0)
    clear(node, "driver_hang")
    assert child.communicate(timeout=30)[0].strip() == b"8"


def test_every_function_of_the_installed_binding_is_exported(shared: TwinNode) -> None:
    import ctypes
    import re

    spec = importlib.util.find_spec("pynvml")
    assert spec and spec.origin
    wanted = set(re.findall(r'"(nvml[A-Z]\w+)"', Path(spec.origin).read_text(encoding="utf-8"))) - {"nvmlReturn"}
    library = ctypes.CDLL(str(shared.library))
    assert len(wanted) > 300
    assert [name for name in sorted(wanted) if not hasattr(library, name)] == []


@pytest.mark.parametrize("tool", ["gpustat", "nvitop"])
def test_other_tools_see_the_same_eight_gpus(shared: TwinNode, tool: str) -> None:
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed (the `bench` extra has it)")
    script = {
        "gpustat": "import gpustat; print('\\n'.join(g.uuid for g in gpustat.new_query().gpus))",
        "nvitop": "from nvitop import Device; print('\\n'.join(d.uuid() for d in Device.all()))",
    }[tool]
    done = subprocess.run([sys.executable, "-c", script], env=_environment(shared), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [shared.state.gpu[i].uuid.decode() for i in range(8)]
