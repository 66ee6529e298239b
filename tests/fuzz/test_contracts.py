"""What must hold of every reader of the outside, seen in the source."""

import ast
import re
import re._constants as re_constants
import re._parser as re_parser
import string
from collections.abc import Iterator
from typing import Any

import pytest

from tests.source import modules

DECODING = (
    "json.loads",
    "json.load",
    "tomllib.loads",
    "tomllib.load",
    "msgspec.json.decode",
    "codec.decode",
    "yaml.safe_load",
)
DECODING_ENDS = (".json", "_decoder.decode")
ENOUGH = {"RecursionError", "Exception", "BaseException", "RuntimeError", "NOT_OURS"}
OWN = {
    "fleet/controller/seams/intake.py", "fleet/controller/seams/loop.py",  # documents of our own store
    "catalog", "lab", "fleet/store/text.py",  # package data, columns we filled
    "fleet/controller/commands.py",  # a document of our own store
    "fleet/controller/operators/drill_player.py", "fleet/facility/storage.py", "node/agent/suite.py",
    "node/probes/active/source.py", "node/probes/active/suite.py", "node/probes/stress/run.py",
    "node/probes/stress/worker.py",
    "node/probes/sweep/slots.py", "training/launch/worker.py",  # a child of ours, or its parent
    "node/probes/sweep/worker.py", "node/probes/sweep/elastic.py",  # whoever leads it has proved that it knows the key
    "supervisor/nodes/admission.py", "supervisor/nodes/c10d.py",  # signed with the job's secret
    "training/checkpoint/storage/foreign.py",  # a job's own files, in its own process
    "formats/pytorch/flight_recorder.py", "client/watch.py", "cli/gate/admission.py",  # the caller catches it
}  # fmt: skip


def _catches(handler: ast.expr | None) -> set[str]:
    if handler is None:
        return {"BaseException"}
    parts = handler.elts if isinstance(handler, ast.Tuple) else [handler]
    return {ast.unparse(one).rpartition(".")[2].lstrip("*") for one in parts}


def _is_decoding(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func)
    return name in DECODING or name.endswith(DECODING_ENDS)


def unguarded(tree: ast.Module) -> Iterator[int]:
    """Lines that decode where a text of many brackets would end whoever reads it."""

    def walk(node: ast.AST, guarded: bool) -> Iterator[int]:
        if isinstance(node, ast.Try):
            safe = guarded or any(ENOUGH & _catches(one.type) for one in node.handlers)
            for part in node.body:
                yield from walk(part, safe)
            for other in (*node.handlers, *node.orelse, *node.finalbody):
                yield from walk(other, guarded)
            return
        if isinstance(node, ast.With):
            for item in node.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("suppress"):
                    guarded = guarded or bool(ENOUGH & {found for one in call.args for found in _catches(one)})
        if _is_decoding(node) and not guarded:
            yield node.lineno  # type: ignore[attr-defined]
        for child in ast.iter_child_nodes(node):
            yield from walk(child, guarded)

    yield from walk(tree, False)


def _owned(path: str) -> bool:
    return path in OWN or path.partition("/")[0] in OWN


def test_whoever_decodes_takes_deep_nesting_for_a_bad_text() -> None:
    found = {
        f"{path}:{line}"
        for path, tree in modules(holding=(*DECODING, *DECODING_ENDS))
        if not _owned(path)
        for line in unguarded(tree)
    }
    assert found == set(), "catch RecursionError beside ValueError: '[' * 100_000 is a text that anybody can send"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("json.loads(x)", [1]),
        ("try:\n    json.loads(x)\nexcept ValueError:\n    pass", [2]),
        ("try:\n    json.loads(x)\nexcept (ValueError, RecursionError):\n    json.loads(y)", [4]),
        ("with suppress(ValueError, RecursionError):\n    reply.json()", []),
        ("with suppress(ValueError):\n    reply.json()", [2]),
    ],
)
def test_the_rule_sees_what_it_must(text: str, lines: list[int]) -> None:
    assert list(unguarded(ast.parse(text))) == lines


# A person's own benchmark, whose Ctrl-C has to reach mpirun or ssh; a compiler; our own worker.
WHOLE = {
    "node/probes/runs/nccl_tests.py", "node/probes/runs/stress.py", "lab/twin/shared_library.py",
    "node/agent/orders/probe_session.py",
}  # fmt: skip


def test_no_command_may_print_without_an_end() -> None:
    found = {
        path
        for path, tree in modules(holding=("capture_output", "communicate", "check_output"))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (
            ast.unparse(node.func).endswith((".communicate", ".check_output"))
            or any(one.arg == "capture_output" for one in node.keywords)
        )
    }
    assert found == WHOLE, "use holdfast.runtime.process: it reads a limited output"


SCANNING = ("search", "sub", "subn", "findall", "finditer", "split")
# Bounded by who calls it: the comment of a node in Slurm.
SHORT = {"fleet/actions/slurm/preference.py: _MEMORY"}


def quadratic(pattern: str, flags: int = 0) -> bool:
    """Whether a scan tries every place of a long run anew: a repeat without end comes first, and more must follow."""
    tree = re_parser.parse(pattern, flags)
    parsed = list(_flat(tree))
    if tree.state.flags & re.MULTILINE and parsed[:1] == [(re_constants.AT, re_constants.AT_BEGINNING)]:
        return len(parsed) > 2 and _endless(parsed[1]) and any(_takes(one, "\n") for one in parsed[1][1][2])
    if len(parsed) > 2 and _endless(parsed[1]) and _share(parsed[0], parsed[1]):  # as a name: a letter, then letters
        return True
    return len(parsed) > 1 and _endless(parsed[0])


def _flat(parsed: Any) -> Iterator[Any]:
    """The parts in order; of a group that captures, its own."""
    for one in parsed:
        if one[0] is re_constants.SUBPATTERN:
            yield from _flat(one[1][3])
        else:
            yield one


def _endless(part: Any) -> bool:
    repeats = part[0] in (re_constants.MAX_REPEAT, re_constants.MIN_REPEAT)
    return bool(repeats and part[1][1] is re_constants.MAXREPEAT)


def _share(first: Any, repeat: Any) -> bool:
    """Whether one character can be the first and go on in the repeat."""
    body = list(repeat[1][2])
    return len(body) == 1 and any(_takes(first, one) and _takes(body[0], one) for one in string.printable)


def _takes(part: Any, character: str) -> bool:
    kind, value = part
    match kind:
        case re_constants.ANY:
            return character != "\n"
        case re_constants.LITERAL:
            return ord(character) == value
        case re_constants.NOT_LITERAL:
            return ord(character) != value
        case re_constants.RANGE:
            return value[0] <= ord(character) <= value[1]
        case re_constants.CATEGORY:
            return bool(re.match(CATEGORIES[value], character))
        case re_constants.IN:
            negated = value[0][0] is re_constants.NEGATE
            return negated != any(_takes(one, character) for one in value[negated:])
    return False


CATEGORIES = {
    re_constants.CATEGORY_WORD: r"\w", re_constants.CATEGORY_NOT_WORD: r"\W",
    re_constants.CATEGORY_DIGIT: r"\d", re_constants.CATEGORY_NOT_DIGIT: r"\D",
    re_constants.CATEGORY_SPACE: r"\s", re_constants.CATEGORY_NOT_SPACE: r"\S",
}  # fmt: skip


def scans(tree: ast.Module) -> Iterator[str]:
    """Names of the module's own patterns that a long run of one character makes quadratic."""
    known: dict[str, tuple[str, int]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and node.value.args:
            text, flags = node.value.args[0], _flags(node.value)
            if ast.unparse(node.value.func) == "re.compile" and isinstance(text, ast.Constant):
                known |= {ast.unparse(one): (text.value, flags) for one in node.targets if isinstance(text.value, str)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SCANNING:
            name = ast.unparse(node.func.value)
            if name in known and quadratic(*known[name]):
                yield name


def _flags(call: ast.Call) -> int:
    """MULTILINE alone matters here: a scan begins anew in each line, and a white space goes on into the next."""
    words = " ".join(ast.unparse(one) for one in (*call.args[1:], *(one.value for one in call.keywords)))
    return re.MULTILINE if re.search(r"\bre\.(?:M|MULTILINE)\b", words) else 0


def test_no_pattern_is_tried_at_every_place_of_a_long_run() -> None:
    found = {f"{path}: {name}" for path, tree in modules(holding=("re.compile",)) for name in scans(tree)}
    assert found - SHORT == set(), r"begin with (?<!\s) or ^, or do it without a pattern: 1 MB of spaces is a line too"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r"_A = re.compile(r'\s+x$')" + "\n_A.sub('', y)", ["_A"]),
        (r"_A = re.compile(r'\s+x$')" + "\n_A.match(y)", []),
        (r"_A = re.compile(r'(?<!\s)\s+x$')" + "\n_A.sub('', y)", []),
        (r"_A = re.compile(r'([a-z]\w*)=')" + "\n_A.findall(y)", ["_A"]),
        (r"_A = re.compile(r'[:=]\s*$')" + "\n_A.search(y)", []),
        (r"_A = re.compile(r'(?<!\w)([a-z]\w*)=')" + "\n_A.findall(y)", []),
        (r"_A = re.compile(r'\s+')" + "\n_A.sub('', y)", []),
        (r"_A = re.compile(r'^\s*x:', re.M)" + "\n_A.search(y)", ["_A"]),
        (r"_A = re.compile(r'^\s*x:')" + "\n_A.search(y)", []),
        (r"_A = re.compile(r'^[^\S\n]*x:', re.IGNORECASE | re.MULTILINE)" + "\n_A.search(y)", []),
    ],
)
def test_the_rule_sees_such_patterns(text: str, found: list[str]) -> None:
    assert list(scans(ast.parse(text))) == found


def test_no_command_line_of_ours_carries_a_token() -> None:
    """Every user of a machine can read the command lines of all processes."""
    found = {
        f"{path}:{node.lineno}"
        for path, tree in modules(holding=("-token",))
        for node in ast.walk(tree)
        if isinstance(node, ast.List | ast.Tuple)
        for one in node.elts
        if isinstance(one, ast.Constant) and one.value in ("--token", "--admin-token", "--join-token", "--site-token")
    }
    assert found == set(), "give it in the environment or in a file"
