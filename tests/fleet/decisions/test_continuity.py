"""Whether reports follow on what is stored: the store is asked only where the numbers do not simply go on."""

from holdfast.fleet.decisions.continuity import Continuity
from holdfast.model.wire.report import Report


class Asked:
    """Stands in for the store's one question, and remembers it."""

    def __init__(self, has: bool) -> None:
        self.has, self.questions = has, []  # type: ignore[var-annotated]

    def has_all_before(self, node: str, session: str, number: int) -> bool:
        self.questions.append((node, session, number))
        return self.has


def reports(*numbers: int, session: str = "a", node: str = "n1") -> list[Report]:
    return [Report(node=node, session=session, seq=number, at=0.0) for number in numbers]


def broken(known: Continuity, sent: list[Report], has: bool = False) -> bool | None:
    """None where the store was not even asked."""
    store = Asked(has)
    found = known.broken(sent, store.has_all_before)
    return found if store.questions else (None if not found else True)


def test_a_life_that_starts_or_simply_goes_on_asks_nothing() -> None:
    known = Continuity()
    assert broken(known, reports(1)) is None
    assert broken(known, reports(2)) is None
    assert broken(known, reports(3, 4, 5)) is None
    assert broken(known, reports(5)) is None  # sent again
    assert broken(known, reports(4)) is None


def test_a_gap_is_broken_if_the_store_does_not_have_what_is_missing() -> None:
    for has in (True, False):
        known = Continuity()
        broken(known, reports(1))
        assert broken(known, reports(3), has) is not has
    first = Continuity()
    store = Asked(False)
    assert first.broken(reports(8, 7), store.has_all_before)
    assert store.questions == [("n1", "a", 7)]


def test_another_life_or_another_node_goes_on_by_itself() -> None:
    known = Continuity()
    broken(known, reports(1, 2, 3))
    assert broken(known, reports(4, session="b")) is True
    assert broken(known, reports(4, node="n2")) is True
    assert broken(known, reports(5, session="b")) is None
    assert broken(known, reports(1, session="c")) is None


def test_only_reports_of_the_latest_life_count() -> None:
    known = Continuity()
    assert broken(known, [*reports(9, session="a"), *reports(1, session="b")]) is None
    assert broken(known, [*reports(1, session="a"), *reports(9, session="b")]) is True


def test_a_late_report_does_not_make_newer_ones_forgotten() -> None:
    known = Continuity()
    broken(known, reports(1))
    broken(known, reports(2, 3, 4))
    broken(known, reports(2))
    assert broken(known, reports(5)) is None
