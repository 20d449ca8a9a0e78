"""Shell commands; for now each is one command."""

from __future__ import annotations

from typing import Any

from stenograph import event
from stenograph.event import Event


def events(
    command: str,
    *,
    base: str | None,
    workspace: str | None,
    ok: bool | None,
    exit_code: int | None,
    output: Any,
) -> list[Event]:
    """What a command line asks for."""
    return [event.Command(command=command, exit_code=exit_code, is_success=ok)]


def leading_cd(command: str) -> str | None:
    """The folder of a leading `cd`."""
    return command[3:].partition(" &&")[0].strip() if command.startswith("cd ") else None


def moves_directory(command: str) -> bool:
    """Whether another `cd` moves the folder."""
    return False
