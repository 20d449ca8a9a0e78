"""The folders in which agents leave their sessions on this computer, by platform and environment.

The list of editors and servers beyond VS Code's own is general knowledge; a folder that is not there costs
one look.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from stenograph import jsonio

_APPS = (
    "Code",
    "Code - Insiders",
    "Code - OSS",
    "VSCodium",
    "VSCodium - Insiders",
    "Cursor",
    "Windsurf",
    "Windsurf - Next",
    "Positron",
    "Trae",
    "Kiro",
)
_SERVERS = (
    ".vscode-server",
    ".vscode-server-insiders",
    ".vscode-server-oss",
    ".vscodium-server",
    ".cursor-server",
    ".windsurf-server",
    ".positron-server",
    ".trae-server",
)
_FLATPAKS = {"com.visualstudio.code": "Code", "com.vscodium.codium": "VSCodium"}
_EXTENSIONS = frozenset(
    (
        "saoudrizwan.claude-dev",
        "saoudrizwan.cline-nightly",
        "rooveterinaryinc.roo-cline",
        "rooveterinaryinc.roo-code-nightly",
        "zoocodeorganization.zoo-code",
        "kilocode.kilo-code",
    )
)
_CUSTOM = re.compile(rb'^[^/\n]*"roo-cline\.customStoragePath"\s*:\s*("(?:[^"\\\n]|\\.)*")', re.MULTILINE)
_SETTINGS_LIMIT = 4 * 1024 * 1024


class System(NamedTuple):
    """What the places depend on: the user's home, `sys.platform`, the environment."""

    home: Path
    platform: str
    environ: Mapping[str, str]


def places(system: System) -> Iterator[Path]:
    """Every folder that may be a store, existing or not, each before the next is looked for."""
    for user in _user_folders(system):
        yield from _storages(user / "globalStorage")
        yield from _custom(user / "settings.json", system.home)
    yield from _cline(system)
    yield system.home / ".vscode-mock" / "global-storage"


def _user_folders(system: System) -> Iterator[Path]:
    """The `User` folders of the VS Code family, local, remote and in containers."""
    config = _config(system)
    yield from (config / app / "User" for app in _APPS)
    yield from (
        system.home / ".var" / "app" / name / "config" / app / "User" for name, app in _FLATPAKS.items()
    )
    portable = system.environ.get("VSCODE_PORTABLE")
    if portable:
        yield Path(portable) / "user-data" / "User"
    yield from (system.home / server / "data" / "User" for server in _SERVERS)
    yield system.home / ".vscode-remote" / "data" / "User"
    yield system.home / ".local" / "share" / "code-server" / "User"


def _config(system: System) -> Path:
    if system.platform == "darwin":
        return system.home / "Library" / "Application Support"
    if system.platform == "win32":
        return Path(system.environ.get("APPDATA") or system.home / "AppData" / "Roaming")
    return Path(system.environ.get("XDG_CONFIG_HOME") or system.home / ".config")


def _storages(folder: Path) -> Iterator[Path]:
    """The extensions' storage folders; VS Code lower-cases their names, copies may not."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
    except OSError:
        return
    yield from (folder / name for name in names if name.lower() in _EXTENSIONS)


def _custom(settings: Path, home: Path) -> Iterator[Path]:
    """Roo's own path from the editor's settings, which are JSON with comments."""
    try:
        if settings.stat().st_size > _SETTINGS_LIMIT:
            return
        data = settings.read_bytes()
    except OSError:
        return
    for found in _CUSTOM.finditer(data):
        try:
            told = jsonio.loads(found.group(1))
        except ValueError:
            continue
        if told:
            yield home / told.removeprefix("~/") if told.startswith("~/") else Path(told)


def _cline(system: System) -> Iterator[Path]:
    """The data folder of the CLI, JetBrains and standalone hosts, and where sessions were moved to."""
    yield Path(system.environ.get("CLINE_DIR") or system.home / ".cline") / "data"
    moved = system.environ.get("CLINE_SESSION_DATA_DIR")
    if moved:
        yield Path(moved)
