"""The back end that changes nothing: it remembers what it was asked, and says so."""

from collections import OrderedDict
from collections.abc import Callable

from holdfast.fleet.actions.backend import Outcome, would
from holdfast.model.lifecycle import Action, Verb

_REMEMBERED = 10_000


class DryRun:
    """Stands in for any back end while the policy is being watched; `say` gets every sentence, once per action."""

    name = "dry_run"
    verbs = frozenset(Verb)

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self.asked: OrderedDict[str, Action] = OrderedDict()
        """The latest actions by their key."""

    looks_first = True

    def did_run(self, action: Action) -> bool | None:
        return False

    def perform(self, action: Action, dry_run: bool) -> Outcome:
        cause = f" ({action.cause})" if action.cause else ""
        outcome = would(f"{action.verb.value} {action.node}: {action.reason}{cause}")
        if action.key not in self.asked:
            self.asked[action.key] = action
            self._say(outcome.said)
        while len(self.asked) > _REMEMBERED:
            self.asked.popitem(last=False)
        return outcome
