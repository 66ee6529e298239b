"""A regular expression as an automaton of its letters, for tests that judge how many ways it can read one text.

Every place of the expression that takes one character is a letter. `follow[a]` says which letters may come after
letter a, under which conditions on the character before and the character after, and in how many ways. Counted
repeats are shortened to few rounds: how often they can repeat does not change which texts can be read in two ways.
"""

import re
import re._compiler as re_compiler
import re._constants as op
import re._parser as re_parser
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

START, SCAN, END, DEAD = 0, 1, 2, 3  # before the text, any character before a match, matched, the end of a lookahead
ENDLESS = 1000  # rounds; a repeat of so many is as good as one without an end
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.ASCII | re.VERBOSE
_OTHERS = "\x00\x1c\x85\xa0éſßΣσ٣中\u2028İıK"
NOTHING = ""  # the character before the first and after the last

Condition = Callable[[str, str], bool]  # (character before, character after)


@dataclass
class Automaton:
    pattern: str
    flags: int
    searches: bool
    letters: list[re.Pattern[str] | None] = field(default_factory=lambda: [None] * 4)
    _edges: list[list[tuple[int, Condition | None]]] = field(default_factory=list)  # between points
    _takes: dict[int, int] = field(default_factory=dict)  # point -> the letter that is read there
    _after: dict[int, int] = field(default_factory=dict)  # letter -> the point after it
    looks: list[re.Pattern[str]] = field(default_factory=list)  # what is looked at and not read

    def __post_init__(self) -> None:
        tree = re_parser.parse(self.pattern, self.flags)
        self.flags |= tree.state.flags
        self._groups: dict[int, Any] = {}
        first, last = self._point(), self._point()
        self._after[START], self._takes[last] = first, END
        if self.searches:
            scan = self._point()
            self._takes[scan] = SCAN
            self._after[SCAN] = first
            self._edge(first, scan)
        begin = self._point()
        self._edge(first, begin)
        self._edge(self._sequence(tree, begin, self.flags), last)

    def _point(self) -> int:
        self._edges.append([])
        return len(self._edges) - 1

    def _edge(self, start: int, end: int, condition: Condition | None = None) -> None:
        self._edges[start].append((end, condition))

    def _sequence(self, parts: Any, at: int, flags: int) -> int:
        for kind, value in parts:
            at = self._part(kind, value, at, flags)
        return at

    def _part(self, kind: Any, value: Any, at: int, flags: int) -> int:
        if kind in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
            return self._letter(kind, value, at, flags)
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            return self._repeat(kind, *value, at, flags)
        if kind is op.SUBPATTERN:
            number, add, remove, body = value
            self._groups[number] = body
            return self._sequence(body, at, (flags | add) & ~remove)
        if kind is op.BRANCH:
            end = self._point()
            for body in value[1]:
                begin = self._point()
                self._edge(at, begin)
                self._edge(self._sequence(body, begin, flags), end)
            return end
        if kind is op.ATOMIC_GROUP:
            return self._sequence(value, at, flags)
        if kind is op.GROUPREF:
            return self._sequence(self._groups.get(value, ()), at, flags)
        end = self._point()
        if kind is op.AT:
            self._edge(at, end, _place(value, flags))
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            self._edge(at, end, self._look(kind is op.ASSERT, *value, at, flags))
        else:
            raise NotImplementedError(f"{kind} in {self.pattern!r}")
        return end

    def _letter(self, kind: Any, value: Any, at: int, flags: int) -> int:
        begin, end = self._point(), self._point()
        self._edge(at, begin)
        self._takes[begin] = len(self.letters)
        self._after[len(self.letters)] = end
        self.letters.append(_one(kind, value, flags))
        return end

    def _repeat(self, kind: Any, least: int, most: Any, body: Any, at: int, flags: int) -> int:
        for _ in range(min(least, 40)):
            at = self._sequence(body, at, flags)
        end = self._point()
        leave: Condition | None = None
        if (
            kind is op.POSSESSIVE_REPEAT
            and len(body) == 1
            and body[0][0] in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
        ):
            one = _one(*body[0], flags)
            self.looks.append(one)
            leave = lambda _, after: not (after and one.fullmatch(after))  # noqa: E731
        if most is op.MAXREPEAT or most >= ENDLESS:
            loop = self._point()
            self._edge(at, loop)
            self._edge(self._sequence(body, loop, flags), loop)
            self._edge(loop, end, leave)
            return end
        for _ in range(min(most - least, 2)):
            self._edge(at, end, leave)
            at = self._sequence(body, at, flags)
        self._edge(at, end)
        return end

    def _look(self, wanted: bool, direction: int, body: Any, at: int, flags: int) -> Condition | None:
        """What is seen of a look ahead or behind is one character; a longer one ahead is read besides, to its end."""
        parts = list(_plain(body))
        single = len(parts) == 1 and parts[0][0] in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
        if direction > 0 and not single:
            begin, dead = self._point(), self._point()
            self._edge(at, begin)
            self._takes[dead] = DEAD
            self._edge(self._sequence(body, begin, flags), dead)
        if not parts or (not single and not wanted):
            return None
        ends = parts[-1] if direction < 0 else parts[0]
        if ends[0] not in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
            return None
        one = _one(*ends, flags)
        self.looks.append(one)
        if direction < 0:
            return lambda before, _: bool(before and one.fullmatch(before)) == wanted
        return lambda _, after: bool(after and one.fullmatch(after)) == wanted

    @cached_property
    def follow(self) -> list[list[tuple[int, tuple[Condition, ...], int]]]:
        """For each letter: (letter after it, conditions, ways): two ways count as many."""
        found: list[list[tuple[int, tuple[Condition, ...], int]]] = []
        for letter in range(len(self.letters)):
            ways: dict[tuple[int, tuple[Condition, ...]], int] = {}
            if letter in self._after:
                for key in self._walks(self._after[letter], (), frozenset()):
                    ways[key] = ways.get(key, 0) + 1
            found.append([(after, conditions, many) for (after, conditions), many in ways.items()])
        return found

    def _walks(
        self, at: int, conditions: tuple[Condition, ...], seen: frozenset[int]
    ) -> Iterator[tuple[int, tuple[Condition, ...]]]:
        if at in self._takes:
            yield self._takes[at], conditions
            return
        for end, condition in self._edges[at]:
            if end not in seen:
                more = (*conditions, condition) if condition else conditions
                yield from self._walks(end, more, seen | {end})

    @cached_property
    def alphabet(self) -> list[str]:
        """One character of each kind that the expression tells apart."""
        kinds: dict[tuple[bool, ...], str] = {}
        self.looks += [re.compile(r"\w", self.flags & re.ASCII), re.compile("\n")]
        tests = list(dict.fromkeys([*(one for one in self.letters if one), *self.looks]))
        for character in (*map(chr, range(32, 127)), *map(chr, range(32)), "\x7f", *_OTHERS):
            kind = tuple(bool(one.fullmatch(character)) for one in tests)
            kinds.setdefault(kind, character)
        return list(kinds.values())


def _plain(body: Any) -> Iterator[Any]:
    for kind, value in body:
        if kind is op.SUBPATTERN:
            yield from _plain(value[3])
        else:
            yield kind, value


def _one(kind: Any, value: Any, flags: int) -> re.Pattern[str]:
    return _compiled(kind, tuple(value) if isinstance(value, list) else value, flags)


@cache
def _compiled(kind: Any, value: Any, flags: int) -> re.Pattern[str]:
    value = list(value) if isinstance(value, tuple) else value
    state = re_parser.State()
    state.flags = flags
    return re_compiler.compile(re_parser.SubPattern(state, [(kind, value)]), flags)


def _place(value: Any, flags: int) -> Condition | None:
    word = re.compile(r"\w", flags & re.ASCII)
    if value in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
        if flags & re.MULTILINE and value is op.AT_BEGINNING:
            return lambda before, _: before in (NOTHING, "\n")
        return lambda before, _: before == NOTHING
    if value is op.AT_END:
        return lambda _, after: after in (NOTHING, "\n")
    if value is op.AT_END_STRING:
        return lambda _, after: after == NOTHING
    if value in (op.AT_BOUNDARY, op.AT_NON_BOUNDARY):
        same = value is op.AT_NON_BOUNDARY
        return lambda before, after: (bool(word.match(before)) == bool(word.match(after))) == same
    raise NotImplementedError(str(value))
