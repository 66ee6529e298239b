"""`holdfast check --from FILE`: judges a file, folder or bundle like a live node."""

from pathlib import Path

from holdfast.formats.tool_output import ToolOutput
from holdfast.model.refusal import Refusal
from holdfast.model.settings import Settings
from holdfast.node.capture import advice, bundle, files, plain_text, readers, sysfs_tree
from holdfast.node.capture.judge import FileVerdict, judge_outputs, merged

UNRECOGNISED = 65  # sysexits.h: EX_DATAERR
NAME = "captured"


def check_file(path: str, settings: Settings, stage: str = "passive") -> FileVerdict:
    """Raises Refusal in one sentence where no reader recognises anything."""
    where = Path(path)
    if bundle.is_bundle(where):
        return bundle.judge(bundle.load(where), settings, stage)
    name = settings.node or NAME
    outputs: dict[str, list[ToolOutput]] = {name: list(sysfs_tree.outputs(where))}
    texts = [text for _, text in files.texts(where)]
    for text in texts:
        for host, part in (plain_text.by_host(text) or {name: text}).items():
            outputs.setdefault(host, []).extend(readers.read(part))
    judged = [judge_outputs(found, host, settings) for host, found in outputs.items() if found]
    if not judged:
        raise Refusal(f"{path}: {advice.of(texts)}", UNRECOGNISED)
    return judged[0] if len(judged) == 1 else merged(judged)
