"""Print every regular expression of the product as JSON: what is compiled by importing all modules and filling all
caches, and what stands as text in a call. Run as a process of its own, before any module is imported."""

import ast
import importlib
import inspect
import json
import pkgutil
import re
import sys
from pathlib import Path
from typing import Any

import holdfast
from holdfast.catalog import regex_literals

ROOT = Path(holdfast.__file__).parent
CALLS = {"compile", "search", "match", "fullmatch", "sub", "subn", "findall", "finditer", "split"}
NOT_IMPORTED = {"holdfast.fleet.store.migrations.env"}  # runs inside Alembic
Found = dict[tuple[str, int], str]


def compiled() -> Found:
    found: Found = {}
    compile_one, init = re._compile, regex_literals.PrefilteredPattern.__init__  # type: ignore[attr-defined]

    def seen(pattern: Any, flags: Any) -> Any:
        frame = sys._getframe(1)
        while frame.f_back and frame.f_code.co_filename == re.__file__:
            frame = frame.f_back
        if isinstance(pattern, str | bytes) and frame.f_code.co_filename.startswith(str(ROOT)):
            place = f"{Path(frame.f_code.co_filename).relative_to(ROOT)}:{frame.f_lineno}"
            found.setdefault((pattern if isinstance(pattern, str) else pattern.decode("latin-1"), int(flags)), place)
        return compile_one(pattern, flags)

    def kept(self: Any, pattern: str, flags: int = 0) -> None:
        found.setdefault((pattern, int(flags)), "catalog")
        init(self, pattern, flags)

    re._compile, regex_literals.PrefilteredPattern.__init__ = seen, kept  # type: ignore[attr-defined, method-assign]
    for info in pkgutil.walk_packages(holdfast.__path__, "holdfast."):
        if info.name not in NOT_IMPORTED and not info.name.endswith("__main__"):
            importlib.import_module(info.name)
    for name in [one for one in sys.modules if one.startswith("holdfast.catalog")]:
        for value in list(vars(sys.modules[name]).values()):
            if hasattr(value, "cache_info") and not inspect.signature(value).parameters:
                value()
    re._compile = compile_one  # type: ignore[attr-defined]
    return found


def written() -> Found:
    found: Found = {}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                text = node.args[0]
                plain = ast.unparse(node.func.value) == "re" and node.func.attr in CALLS
                if plain and isinstance(text, ast.Constant) and isinstance(text.value, str):
                    found[text.value, _flags(node)] = f"{path.relative_to(ROOT)}:{node.lineno}"
    return found


def _flags(call: ast.Call) -> int:
    words = " ".join(ast.unparse(one) for one in (*call.args[1:], *(one.value for one in call.keywords)))
    return sum(int(getattr(re, flag)) for flag in ("IGNORECASE", "MULTILINE", "DOTALL") if f"re.{flag}" in words)


if __name__ == "__main__":
    every = compiled()
    for key, place in written().items():
        every.setdefault(key, place)
    print(json.dumps([[pattern, flags, place] for (pattern, flags), place in every.items()]))
