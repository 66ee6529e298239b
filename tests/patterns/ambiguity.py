"""Whether a regular expression can take more than linear time, from its structure: no clock is involved.

A backtracking engine takes polynomial time where one text can be read in more ways the longer it is: a loop p, a
later loop q and a word w that is read as p to p, as p to q and as q to q (Weber and Seidl, "On the degree of ambiguity
of finite automata"). It takes exponential time where a word leads from p to p in two ways. The search for a match at
every place of a text is such a loop too. The word is repeated and followed by what makes all the ways fail.
"""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

from tests.patterns.automaton import DEAD, END, NOTHING, SCAN, START, Automaton

_ENDS = ("", "\n", "\x00", "\n\x00", "!", "x", "0", " ", "\n!", "~\x00")
_WORDS = 6  # words of one pair of loops that are tried
_MOST_STATES = 60_000


@dataclass(frozen=True)
class Attack:
    before: str
    word: str
    end: str
    exponential: bool = False

    def text(self, times: int) -> str:
        return self.before + self.word * times + self.end


def exponential(pattern: str, flags: int = 0) -> Attack | None:
    """A text that one loop reads in two ways each time it comes round."""
    judge = _Judge(Automaton(pattern, flags, True))
    return next((found for _, _, found in judge.doubled()), None)


def growth(pattern: str, flags: int = 0, *, searches: bool = True) -> tuple[float, Attack | None]:
    """The power of the length that the time grows with, and a text that shows it: infinity where it is exponential."""
    judge = _Judge(Automaton(pattern, flags, searches))
    pairs: dict[int, dict[int, Attack]] = {}
    for p, q, found in judge.attacks():
        if found.exponential:
            return inf, found
        pairs.setdefault(p, {})[q] = found
    chains: dict[int, list[Attack]] = {}

    def chain(p: int) -> list[Attack]:
        if p not in chains:
            chains[p] = []  # loops of one group lead back
            ways = [[found, *chain(q)] for q, found in pairs.get(p, {}).items()]
            chains[p] = max(ways, key=len, default=[])
        return chains[p]

    longest = max((chain(p) for p in pairs), key=len, default=[])
    if not longest:
        return 1, None
    return len(longest) + 1, longest[-1]


class _Judge:
    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        kinds = {one: frozenset(c for c in automaton.alphabet if one.fullmatch(c)) for one in automaton.letters if one}
        self.takes = [kinds[one] if one else frozenset() for one in automaton.letters]
        self.takes[SCAN] = frozenset(automaton.alphabet)
        self.conditional = any(conditions for one in automaton.follow for _, conditions, _ in one)
        self.kind = self._kinds()
        self.memory: dict[tuple[int, str, str], dict[int, int]] = {}
        compiled = re.compile(automaton.pattern, automaton.flags & ~re.DEBUG)
        self.matches: Any = compiled.search if automaton.searches else compiled.match
        self.after = [{end for end, _, _ in one if end not in (END, DEAD)} for one in automaton.follow]
        self.reach = [self._reach(one) for one in range(len(self.after))]

    def _kinds(self) -> dict[str, str]:
        """For each character the first one that the conditions cannot tell from it."""
        first: dict[tuple[bool, ...], str] = {}
        kinds = {NOTHING: NOTHING}
        for c in self.automaton.alphabet:
            seen = tuple(bool(one.fullmatch(c)) for one in self.automaton.looks) if self.conditional else ()
            kinds[c] = first.setdefault(seen, c)
        return kinds

    def attacks(self) -> Iterator[tuple[int, int, Attack]]:
        """(loop, later loop, what can be read by both); one loop twice where it reads one word in two ways."""
        yield from self.doubled()
        loops = self.loops()
        for p in loops:
            for q in loops:
                if p == q or q not in self.reach[p] or not self.takes[p] & self.takes[q]:
                    continue
                if found := next(self.confirmed(p, self.pumped(p, q, loops), exponential=False), None):
                    yield p, q, found

    def doubled(self) -> Iterator[tuple[int, int, Attack]]:
        for p, group in self.loops().items():
            if p != SCAN and (found := next(self.confirmed(p, self.twice(p, group), exponential=True), None)):
                yield p, p, found

    def steps(self, letter: int, before: str, character: str) -> dict[int, int]:
        key = (letter, before, character)
        if key not in self.memory:
            found: dict[int, int] = {}
            for end, conditions, ways in self.automaton.follow[letter]:
                if end in (END, DEAD) or character not in self.takes[end]:
                    continue
                if all(one(before, character) for one in conditions):
                    found[end] = found.get(end, 0) + ways
            self.memory[key] = found
        return self.memory[key]

    def _reach(self, letter: int) -> set[int]:
        seen, left = set(), [letter]
        while left:
            for end in self.after[left.pop()] - seen:
                seen.add(end)
                left.append(end)
        return seen

    def loops(self) -> dict[int, set[int]]:
        """Each letter that can come again, with those that come in between."""
        return {
            one: {other for other in ends if one in self.reach[other]}
            for one, ends in enumerate(self.reach)
            if one in ends
        }

    def pumped(self, p: int, q: int, loops: dict[int, set[int]]) -> Iterator[str]:
        """Words that lead from p to p, from p to q and from q to q."""
        middle = {one for one in self.reach[p] if one == q or q in self.reach[one]}
        for first in sorted({self.kind[c] for c in self.takes[p] & self.takes[q]}):
            yield from self.words((p, p, q, first), (p, q, q, first), (loops[p], middle, loops[q]))

    def words(self, start: Any, goal: Any, within: tuple[set[int], ...]) -> Iterator[str]:
        seen, left = {start}, deque([(start, "")])
        found = 0
        while left and len(seen) < _MOST_STATES:
            (x, y, z, before), word = left.popleft()
            for c in self.automaton.alphabet:
                xs = [one for one in self.steps(x, before, c) if one in within[0]]
                zs = xs and [one for one in self.steps(z, before, c) if one in within[2]]
                ys = zs and [one for one in self.steps(y, before, c) if one in within[1]]
                for y2 in ys or ():
                    for x2 in xs:
                        for z2 in zs:
                            state = (x2, y2, z2, self.kind[c])
                            if state == goal:
                                yield word + c
                                found += 1
                                if found >= _WORDS:
                                    return
                            elif state not in seen:
                                seen.add(state)
                                left.append((state, word + c))

    def twice(self, p: int, group: set[int]) -> Iterator[str]:
        """Words that lead from p to p in two ways."""
        for first in sorted({self.kind[c] for c in self.takes[p]}):
            start = (p, p, False, first)
            seen, left = {start}, deque([(start, "")])
            while left and len(seen) < _MOST_STATES:
                (x, y, split, before), word = left.popleft()
                for c in self.automaton.alphabet:
                    for x2, ways in self.steps(x, before, c).items():
                        for y2 in self.steps(y, before, c):
                            if x2 not in group or y2 not in group:
                                continue
                            apart = split or x2 != y2 or (x == y and ways > 1)
                            state = (x2, y2, apart, self.kind[c])
                            if state == (p, p, True, first):
                                yield word + c
                            elif state not in seen:
                                seen.add(state)
                                left.append((state, word + c))

    def confirmed(self, p: int, words: Iterator[str], exponential: bool) -> Iterator[Attack]:
        """Those that no match ends: a match ends the search for others."""
        for word in words:
            before = self.way_to(p, word)
            if before is None:
                continue
            for end in _ENDS:
                found = Attack(before, word, end, exponential)
                if not self.matches(found.text(3)):
                    yield found
                    break

    def way_to(self, p: int, word: str) -> str | None:
        """The shortest text that leads to p, from where the word goes on."""
        wanted = self.kind[word[-1]]
        if p == SCAN:
            return ""
        seen: set[Any] = {(START, NOTHING)}
        left: deque[tuple[int, str, str]] = deque([(START, NOTHING, "")])
        while left:
            letter, before, text = left.popleft()
            for c in self.automaton.alphabet:
                for end in self.steps(letter, before, c):
                    if end == p and self.kind[c] == wanted:
                        return text + c
                    if (end, self.kind[c]) not in seen:
                        seen.add((end, self.kind[c]))
                        left.append((end, self.kind[c], text + c))
        return None
