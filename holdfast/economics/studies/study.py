"""One study of a scenario: replicas alone, a comparison, a sweep, or the aggregated model."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from holdfast.config.text_file import read_text
from holdfast.economics import simulation
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.economics.studies import calibrate
from holdfast.economics.studies.replicas import Results, replicate
from holdfast.economics.studies.sweep import parse_change, parse_sweep, refuse_text_axis
from holdfast.economics.studies.tasks import Changes, Setting, workers
from holdfast.model.refusal import Refusal

Progress = Callable[[int], AbstractContextManager[Callable[[int], None]]]
"""Takes the number of replicas, and yields a function that is called with each number of finished ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """The options of `holdfast simulate`, not yet checked."""

    scenario: str
    replicas: int = 20
    seed: int = 1
    precision: str = ""
    compare: str = ""
    changes: tuple[str, ...] = ()
    sweep: str = ""
    on: str = "processes"
    calibrate: str = ""
    aggregated: bool = False
    plot: str = ""

    def refuse_contradictions(self) -> None:
        kinds = [name for name in ("compare", "sweep", "aggregated") if getattr(self, name)]
        if len(kinds) > 1:
            raise Refusal(f"--{kinds[0]} and --{kinds[1]} are two different studies: expected one of them")
        if self.plot and (self.compare or self.aggregated):
            raise Refusal(f"--plot: --{kinds[0]} has no chart; expected it with --sweep, or with a scenario alone")
        if self.aggregated and (self.precision or self.on != "processes"):
            raise Refusal("--aggregated: expected neither --precision nor --on, because it takes only a moment")


class Study:
    """Reads the scenario and its changes, and refuses errors before it simulates anything."""

    def __init__(self, options: StudyOptions, note: Callable[[str], None]) -> None:
        options.refuse_contradictions()
        self._options = options
        changes: Changes = tuple(parse_change(text) for text in options.changes)
        if options.calibrate:
            fitted, sentence = calibrate.changes(options.calibrate)
            note(sentence)
            changes = (*fitted, *changes)
        self.setting = setting_of(options.scenario, changes)

    def replicas(self, progress: Progress) -> Results:
        (results,) = self._run([self.setting], progress)
        return results

    def comparison(self, progress: Progress) -> tuple[Results, Results]:
        first, second = self._run([self.setting, setting_of(self._options.compare, self.setting.changes)], progress)
        return first, second

    def sweep(self, progress: Progress) -> list[Results]:
        base = self.setting
        settings = [replace(base, changes=(*base.changes, *one)) for one in parse_sweep(self._options.sweep)]
        for one in settings:
            one.parsed()
        if self._options.plot:
            refuse_text_axis(settings[0].changes[len(base.changes)])
        swept = self._run(settings, progress)
        for one, found in zip(settings, swept, strict=True):
            found.setting = replace(one, changes=one.changes[len(base.changes) :])
        return swept

    def _run(self, settings: list[Setting], progress: Progress) -> list[Results]:
        options = self._options
        precision = PlanInputs().share("precision", options.precision) if options.precision else 0.0
        number = options.replicas * len(settings)
        with workers(options.on, number) as work, progress(number) as advanced:
            return replicate(settings, options.replicas, options.seed, precision, work, advanced)


def setting_of(name: str, changes: Changes) -> Setting:
    """A file, or a shipped scenario."""
    shipped = resources.files(simulation).joinpath("scenarios", f"{name}.toml")
    if not Path(name).exists() and "/" not in name and shipped.is_file():
        setting = Setting(shipped.read_text(encoding="utf-8"), f"{name}.toml", changes)
    else:
        setting = Setting(read_text(name), name, changes)
    setting.parsed()
    return setting
