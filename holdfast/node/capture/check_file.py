"""`holdfast check --from FILE`: judges a file, folder or bundle like a live node."""

from pathlib import Path

from holdfast.model.refusal import Refusal
from holdfast.model.settings import Settings
from holdfast.node.capture import bundle, files, readers, sysfs_tree
from holdfast.node.capture.judge import FileVerdict, judge_outputs

UNRECOGNISED = 65  # sysexits.h: EX_DATAERR
NAME = "captured"


def check_file(path: str, settings: Settings, stage: str = "passive") -> FileVerdict:
    """Raises Refusal in one sentence where no reader recognises anything."""
    where = Path(path)
    if bundle.is_bundle(where):
        return bundle.judge(bundle.load(where), settings, stage)
    found = [output for _, text in files.texts(where) for output in readers.read(text)]
    found += sysfs_tree.outputs(where)
    if not found:
        known = ", ".join(dict.fromkeys(one.name for one in readers.FORMATS))
        raise Refusal(
            f"{path}: not recognised; expected a bundle of `holdfast capture` or output of {known}", UNRECOGNISED
        )
    return judge_outputs(found, settings.node or NAME, settings)
