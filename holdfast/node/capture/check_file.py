"""`holdfast check --from FILE`: evaluates a file, folder or bundle like a live node."""

from pathlib import Path

from holdfast.formats.tool_output import NODE, ToolOutput
from holdfast.model.refusal import Refusal
from holdfast.model.settings import Settings
from holdfast.node.capture import advice, bundle, files, plain_text, readers, sysfs_tree
from holdfast.node.capture.judge import FileVerdict, judge_outputs, merged

UNRECOGNISED = 65  # sysexits.h: EX_DATAERR
NAME = "captured"


def check_file(path: str, settings: Settings, stage: str = "passive") -> FileVerdict:
    """Evaluates a file. Raises Refusal, in one sentence, if no reader recognises anything."""
    where = Path(path)
    if bundle.is_bundle(where):
        return bundle.judge(bundle.load(where), settings, stage)
    name = settings.node or NAME
    tree = list(sysfs_tree.outputs(where))
    outputs: dict[str, list[ToolOutput]] = {name: list(tree)}
    texts = list(files.texts(where))
    not_read: list[str] = []
    for file, text in texts:
        found_here = False
        for host, part in (plain_text.by_host(text) or {name: text}).items():
            found = _read(part)
            found_here = found_here or bool(found)
            outputs.setdefault(host, []).extend(found)
        not_read += readers.unread_commands(text) if found_here else [file]
    judged = [judge_outputs(found, host, settings) for host, found in outputs.items() if found]
    if not judged:
        raise Refusal(f"{path}: {advice.of([text for _, text in texts])}", UNRECOGNISED)
    answer = judged[0] if len(judged) == 1 else merged(judged)
    answer.not_read = [] if tree else not_read  # a copy of /sys has few files that readers use
    return answer


def _read(text: str) -> list[ToolOutput]:
    """Runs a reader. An exception is our bug; the user is told that the result is unknown."""
    try:
        return readers.read(text)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        output = ToolOutput("a reader that failed")
        output.doubt(NODE, f"a reader of this text failed ({type(error).__name__}: {error}): please report it")
        return [output]
