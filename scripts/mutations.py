"""Small wrong changes of Python source: changed limits, inverted comparisons, removed conditions."""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
CALLS = {"max": "min", "min": "max", "any": "all", "all": "any", "maximum": "minimum", "minimum": "maximum"}
LOGS = {"debug", "info", "warning", "error", "exception"}
TEXTS = {"__repr__", "__str__"}
SMALL = 10  # an int up to this value is a count: the mutation adds one
FIELDS = ("decorator_list", "annotation", "returns", "bases", "keywords")


@dataclass(frozen=True, slots=True)
class Mutant:
    path: str
    function: str
    line: int
    lines: range  # of the statement, or of the head of a compound one: tests that run these lines can detect the change
    old: str
    new: str
    inside: bool  # in a function body, whose code can be replaced; otherwise the module must be loaded again
    node: int  # its index in the walk over the tree
    change: int  # index of the change of this node

    @property
    def text(self) -> str:
        """What an excuse names; lines move, this does not."""
        return f"{self.function}: {self.old} -> {self.new}"


def mutants(root: Path, path: str) -> list[Mutant]:
    """Every change of a file, in the order of its lines."""
    tree = ast.parse((root / path).read_text())
    found = []
    for place, (node, (function, inside), statement, around) in enumerate(_walk(tree)):
        for number, change in enumerate(_changes(node)):
            old = _text(around)
            undo = change()
            new = _text(around)
            undo()
            if old != new:
                lines = _lines(statement)
                line = getattr(node, "lineno", lines.start)
                found.append(Mutant(path, function, line, lines, _short(old), _short(new), inside, place, number))
    return _numbered(found)


def mutate(source: str, mutant: Mutant) -> ast.Module:
    tree = ast.parse(source)
    node = next(node for place, (node, *_) in enumerate(_walk(tree)) if place == mutant.node)
    list(_changes(node))[mutant.change]()
    return ast.fix_missing_locations(tree)


def _numbered(found: list[Mutant]) -> list[Mutant]:
    """The same change twice in one function is distinguished by a number."""
    seen: Counter[str] = Counter()
    numbered = []
    for one in found:
        seen[one.text] += 1
        numbered.append(one if seen[one.text] == 1 else replace(one, new=f"{one.new} #{seen[one.text]}"))
    return numbered


def _text(node: ast.AST) -> str:
    match node:
        case ast.If(test=test) | ast.While(test=test):
            return f"if {_text(test)}"
        case ast.BoolOp(values=[one, other]) if one is other:
            return _text(one)
        case ast.FunctionDef(name=name, args=args):
            return f"def {name}({ast.unparse(args)})"
    return ast.unparse(node)


def _short(text: str) -> str:
    return text if len(text) <= 160 else text[:157] + "..."


def _lines(statement: ast.stmt) -> range:
    last = statement.end_lineno or statement.lineno
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        last = max(statement.lineno, body[0].lineno - 1)
    return range(statement.lineno, last + 1)


_Where = tuple[str, bool]
_Seen = tuple[ast.AST, _Where, ast.stmt, ast.AST]


def _walk(tree: ast.Module) -> Iterator[_Seen]:
    """Nodes that may change, with the function and statement they are in and the expression to show."""
    for statement in tree.body:
        yield from _within(statement, ("module", False), statement, statement)


def _within(node: ast.AST, where: _Where, statement: ast.stmt, around: ast.AST) -> Iterator[_Seen]:
    if _text_only(node):
        return
    if isinstance(node, ast.stmt):
        statement, around = node, node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        where = node.name if where[0] == "module" else f"{where[0]}.{node.name}", where[1]
        _mark_answers(node)
    if isinstance(node, ast.expr) and not isinstance(node, ast.Constant | ast.Slice):
        around = node
    yield node, where, statement, around
    for name, value in ast.iter_fields(node):
        if name in FIELDS and not (name == "keywords" and isinstance(node, ast.Call)):
            continue
        within = where[0], where[1] or (name == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _within(child, within, statement, around)


def _mark_answers(node: ast.AST) -> None:
    """What a function that answers yes or no returns may be turned round."""
    if isinstance(node, ast.FunctionDef) and isinstance(node.returns, ast.Name) and node.returns.id == "bool":
        for one in ast.walk(node):
            if isinstance(one, ast.Return):
                one.answer = True  # type: ignore[attr-defined]


def _text_only(node: ast.AST) -> bool:
    """What a person reads and no decision hangs on."""
    match node:
        case ast.JoinedStr() | ast.Raise() | ast.Assert() | ast.Import() | ast.ImportFrom():
            return True
        case ast.FunctionDef(name=name):
            return name in TEXTS
        case ast.Call(func=ast.Attribute(attr=attr, value=ast.Name(id=name))):
            return attr in LOGS and "log" in name.lower()
        case ast.keyword(arg=arg):
            return arg == "strict"
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
    return False


_Undo = Callable[[], None]


_Changes = Iterator[Callable[[], _Undo]]


def _changes(node: ast.AST) -> _Changes:
    yield from _conditions(node)
    yield from _arithmetic(node)
    yield from _shapes(node)


def _conditions(node: ast.AST) -> _Changes:
    match node:
        case ast.Compare(ops=ops):
            for place, op in enumerate(ops):
                for other in COMPARISONS[type(op)]:
                    yield _put(node, "ops", [*ops[:place], other(), *ops[place + 1 :]])
        case ast.BoolOp(op=op, values=values):
            yield _put(node, "op", ast.Or() if isinstance(op, ast.And) else ast.And())
            for place in range(len(values)):
                left = values[:place] + values[place + 1 :]
                yield _put(node, "values", left if len(left) > 1 else [left[0], left[0]])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _put(node, "operand", ast.UnaryOp(ast.Not(), operand))
        case ast.If(test=test) | ast.IfExp(test=test):
            for always in (True, False):
                yield _put(node, "test", ast.copy_location(ast.Constant(always), test))


def _arithmetic(node: ast.AST) -> _Changes:
    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield _put(node, "op", ARITHMETIC[type(op)]())
        case ast.UnaryOp(op=ast.USub()):
            yield _put(node, "op", ast.UAdd())
        case ast.Constant(value=value):
            for other in _numbers(value):
                yield _put(node, "value", other)


def _shapes(node: ast.AST) -> _Changes:
    match node:
        case ast.Call(func=ast.Name(id=name) as func) if name in CALLS:
            yield _put(func, "id", CALLS[name])
        case ast.Call(func=ast.Attribute(attr=name) as method) if name in CALLS:
            yield _put(method, "attr", CALLS[name])
        case ast.comprehension(ifs=ifs):
            for place in range(len(ifs)):
                yield _put(node, "ifs", ifs[:place] + ifs[place + 1 :])
        case ast.Slice():
            for end in ("lower", "upper"):
                if getattr(node, end) is not None:
                    yield _put(node, end, None)
        case ast.Return(value=ast.Call() | ast.Name() | ast.Attribute() as value) if hasattr(node, "answer"):
            yield _put(node, "value", ast.UnaryOp(ast.Not(), value))


def _numbers(value: object) -> Iterator[object]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1,) if abs(value) <= SMALL else (round(value * 1.2), value // 2)
        if value:
            yield 0
    elif isinstance(value, float):
        yield from (round(value * 1.2, 12), value * 0.5, 0.0) if value else (1.0,)


def _put(node: ast.AST, name: str, value: object) -> Callable[[], _Undo]:
    def change() -> _Undo:
        before = getattr(node, name)
        setattr(node, name, value)
        return lambda: setattr(node, name, before)

    return change
