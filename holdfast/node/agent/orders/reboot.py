"""Reboots the node by its configured command, and recognises the reboot afterwards."""

import os
import time
from pathlib import Path

from holdfast.model.settings import Settings
from holdfast.model.wire.report import LONGEST_TEXT, OrderOutcome
from holdfast.node.agent.orders.handler import Order, OrderAction, refused
from holdfast.runtime import process
from holdfast.runtime.errors import NoAnswer

COMMAND_SECONDS = 60.0
GOES_DOWN_SECONDS = 300.0
BOOT_ID = "sys/kernel/random/boot_id"


def boot_id(proc: str) -> str:
    """The id of this boot; '' if it cannot be read."""
    try:
        return (Path(proc) / BOOT_ID).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def reboot(settings: Settings, goes_down_seconds: float = GOES_DOWN_SECONDS) -> OrderAction:
    """The agent of the next boot answers the order, because this one ends with the machine."""

    def boot() -> str:
        return boot_id(settings.roots.proc)

    def perform(order: Order, now: float) -> OrderOutcome:
        try:
            answer = process.run(settings.controller.reboot_command, os.environ, COMMAND_SECONDS)
        except NoAnswer as error:
            return refused(order, f"the restart failed: {error}"[:LONGEST_TEXT])
        if answer.code != 0:
            return refused(order, f"the restart failed, exit code {answer.code}: {answer.message}")
        time.sleep(goes_down_seconds)
        return refused(order, f"{goes_down_seconds:g} s after the command to restart, the node is still up")

    def settle(order: Order, boot_before: str) -> OrderOutcome | None:
        if not boot_before or boot() in ("", boot_before):
            return None
        return OrderOutcome(order=order.id, verb=order.verb, ok=True, reason="the node was restarted")

    return OrderAction(perform=perform, repeatable=False, mark=boot, settle=settle)
