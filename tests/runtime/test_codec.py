"""Types are learned by one thread at a time: two that meet a type at once must not end the process."""

import ast
import subprocess
import sys
from pathlib import Path

import holdfast

ROOT = Path(holdfast.__file__).parent
# Nested types that were never met, by several threads that change at every step. With msgspec alone the process dies of
# a null pointer within a few rounds.
MEET = """
import dataclasses, sys, threading
import msgspec
from holdfast.runtime import codec
sys.setswitchinterval(1e-6)

def never_met():
    kind = int
    for depth in range(6):
        kind = dataclasses.make_dataclass(f"C{depth}", [(f"f{n}", kind if n == 3 else float) for n in range(12)])
    return kind

def filled(kind):
    return {f.name: filled(f.type) if dataclasses.is_dataclass(f.type) else 1 for f in dataclasses.fields(kind)}

def meet(kind, body, together):
    together.wait()
    codec.decode(body, kind)

for _ in range(20):
    kind, together = never_met(), threading.Barrier(4)
    body = msgspec.json.encode(filled(kind))
    threads = [threading.Thread(target=meet, args=(kind, body, together)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_that_meet_a_type_at_once_decode_it() -> None:
    done = subprocess.run([sys.executable, "-c", MEET], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_type_has_one_decoder() -> None:
    from holdfast.runtime import codec

    assert codec.decoder(list[int]) is codec.decoder(list[int])
    assert codec.decode(b"[1]", list[int]) == [1]
    assert codec.convert((1,), list[int]) == [1]


def test_code_that_runs_in_threads_learns_types_through_the_codec() -> None:
    """Elsewhere a module makes its decoder when it is imported."""
    bare = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for part in ("node", "fleet", "supervisor")
        for path in (ROOT / part).rglob("*.py")
        if "msgspec." in (text := path.read_text())
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and _learns(call)
    ]
    assert bare == []


def _learns(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    typed = any(word.arg == "type" for word in call.keywords)
    return name in ("msgspec.json.Decoder", "msgspec.convert") or (name == "msgspec.json.decode" and typed)
