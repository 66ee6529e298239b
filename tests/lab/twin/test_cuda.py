"""The twin of the CUDA runtime beside the vendor's own header and library, where the machine has them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.lab.twin import TwinError, cuda
from holdfast.training.checkpoint.device.runtime import CudaError, open_runtime

TOOLKITS = sorted(Path("/usr/local").glob("cuda*")) + [Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))]
HEADERS = [home / "include" for home in TOOLKITS if (home / "include/cuda_runtime_api.h").exists()]
LIBRARIES = [path for home in TOOLKITS for path in sorted(home.glob("lib*/libcudart.so.*"))]


@pytest.mark.slow
@pytest.mark.skipif(not HEADERS, reason="no CUDA toolkit with its headers here")
@pytest.mark.parametrize("unit", ["runtime.c", "memory.c"])
def test_every_function_and_number_is_as_the_vendor_declares_it(tmp_path: Path, unit: str) -> None:
    """The compiler refuses a function that is declared otherwise than it is defined."""
    for name, text in cuda.sources().items():
        (tmp_path / name).write_text(text)
    command = ["gcc", "-std=gnu11", "-Wall", "-Werror", "-fsyntax-only", f"-I{HEADERS[0]}"]
    output = subprocess.run(
        [*command, "-DNVIDIA_HEADER", unit], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert output.returncode == 0, output.stderr
    numbers = (tmp_path / "abi.h").read_text().partition("typedef enum cudaError {")[2].partition("}")[0]
    claims = [row.strip(" ,\n").split(" = ") for row in numbers.strip().split("\n")]
    asserts = "".join(f'_Static_assert({name} == {value}, "{name}");\n' for name, value in claims)
    asserts += '_Static_assert(sizeof(cudaIpcMemHandle_t) == 64 && cudaMemcpyDefault == 4, "flags");\n'
    asserts += '_Static_assert(cudaIpcMemLazyEnablePeerAccess == 1 && cudaHostRegisterPortable == 1, "flags");\n'
    (tmp_path / "numbers.c").write_text("#include <cuda_runtime_api.h>\n" + asserts)
    output = subprocess.run([*command, "numbers.c"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert output.returncode == 0, output.stderr
    assert len(claims) > 10


@pytest.mark.skipif(not LIBRARIES, reason="no CUDA runtime of the vendor's here")
@pytest.mark.skipif(Path("/proc/driver/nvidia").exists(), reason="this machine has a GPU: nothing is missing")
def test_the_vendors_library_has_all_we_call_and_says_that_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_CUDART", str(LIBRARIES[0]))
    with pytest.raises(CudaError, match="cudaGetDeviceCount: "):
        open_runtime()


@pytest.mark.slow
def test_gpu_memory_is_counted_and_ends_with_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_CUDART", str(cuda.make(tmp_path, gpus=2, memory_bytes=8 << 20)))
    program = "\n".join(
        (
            "from holdfast.training.checkpoint.device.runtime import open_runtime",
            "gpu = open_runtime()",
            "gpu.use(1)",
            "print(gpu.handle(gpu.allocate(6 << 20)).hex(), flush=True)",
            "input()",
        )
    )
    words = [sys.executable, "-c", program]
    runtime = open_runtime()
    runtime.use(1)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None and other.stdout is not None
        handle = bytes.fromhex(other.stdout.readline())
        assert runtime.free_bytes() == 2 << 20
        with pytest.raises(CudaError, match=r"out of memory \(2\)"):
            runtime.allocate(4 << 20)
        pointer = runtime.open(handle)
        assert runtime.open(handle) == pointer, "opened twice, it is one"
        with pytest.raises(CudaError, match="invalid argument"):
            runtime.copy(pointer + (6 << 20) - 1, pointer, 2)
        runtime.close(pointer)
        runtime.close(pointer)
        other.communicate("\n")
    assert runtime.free_bytes() == 8 << 20
    with pytest.raises(CudaError, match="invalid resource handle"):
        runtime.open(handle)


def test_a_number_of_gpus_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(TwinError, match="17 GPUs: expected 1 to 16"):
        cuda.make(tmp_path, gpus=17)
    with pytest.raises(TwinError, match="has no simulated GPU memory"):
        cuda.attach(tmp_path)
