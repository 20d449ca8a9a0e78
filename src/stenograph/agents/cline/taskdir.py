"""The task directory as a record: its files read, joined into one, and written again.

Every fault of a file is recorded on the task, never fatal; `dump` gives the bytes back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import msgspec

from stenograph import jsonio
from stenograph.agents.cline.elements import (
    find_history,
    parse_context_history,
    parse_index,
    parse_messages,
    parse_ui,
)
from stenograph.agents.cline.folders import (
    FILE_API,
    FILE_CONTEXT_HISTORY,
    FILE_HISTORY_ITEM,
    FILE_LEGACY,
    FILE_METADATA,
    FILE_SETTINGS,
    FILE_TASK_HISTORY,
    FILE_UI,
    MAIN_FILES,
    MAX_SIZE,
    list_dir,
    read_bounded,
    storage_dir,
    task_dir,
)
from stenograph.agents.cline.types import (
    ContextUpdate,
    HistoryItem,
    Message,
    TaskMetadata,
    UIMessage,
    Variant,
)
from stenograph.agents.cline.variant import by_shape, by_storage
from stenograph.document import Array, Node, Object, Refused
from stenograph.errors import ReadError

_KNOWN = frozenset((*MAIN_FILES, FILE_METADATA, FILE_CONTEXT_HISTORY, FILE_SETTINGS, FILE_HISTORY_ITEM))
_INDEX = f"state/{FILE_TASK_HISTORY}"
_BOM = b"\xef\xbb\xbf"

N = TypeVar("N", bound=Node)
J = TypeVar("J", bound=Object)
Files = Mapping[str, bytes | ReadError]


class Task(msgspec.Struct, kw_only=True, frozen=True, eq=False):
    """One task directory as read.

    `variant_by` says what told the variant, `guessed` that it was a shape and not the storage directory's
    name. `history` is Roo's `history_item.json` or classic's element of `taskHistory.json`, `history_file`
    its place under the storage directory, `history_unit` whether it counts as a unit. `others` are files
    that are not read, `dirs` directories; `files` holds what was read, by name.
    """

    dir: str
    id: str
    variant: Variant
    variant_by: str
    guessed: bool
    api: Array[Message]
    ui: Array[UIMessage]
    context: Array[ContextUpdate]
    metadata: TaskMetadata | None
    metadata_error: str | None
    has_metadata: bool
    settings: Any
    settings_error: str | None
    has_settings: bool
    history: HistoryItem | None
    history_file: str
    history_error: str | None
    history_unit: bool
    others: list[str]
    dirs: list[str]
    files: dict[str, bytes]

    @property
    def units(self) -> int:
        """How many units the task accounts for: elements, faults, and one for each other file."""
        arrays = self.api.units + self.ui.units + self.context.units
        return arrays + self.has_metadata + self.has_settings + self.history_unit + len(self.others)

    def dump(self) -> dict[str, bytes]:
        """The bytes to write, by file name, of each file that was read: edits are spliced in."""
        nodes: dict[str, Node | None] = {array.name: array for array in (self.api, self.ui, self.context)}
        nodes[FILE_METADATA] = self.metadata
        nodes[FILE_HISTORY_ITEM] = self.history
        return {name: _dump(nodes.get(name), data) for name, data in self.files.items()}


def read_task(path: str | os.PathLike[str], *, without: Sequence[str] = ()) -> Task:
    """Read the task directory that a path names, or the directory of the file it names.

    Files named in `without` are left unread, as if they were not there. Raises ReadError when the directory
    cannot be listed or holds neither an API history nor UI messages; every other fault is recorded.
    """
    folder = task_dir(path)
    found = list_dir(folder)
    if not any(name in MAIN_FILES for name in found.files):
        raise ReadError(f"{folder} holds neither an API history nor UI messages")
    id = os.path.basename(os.path.abspath(folder))  # noqa: A001 - the wire's word
    wanted = _KNOWN.difference(without)
    files = {name: _try_read(os.path.join(folder, name)) for name in found.files if name in wanted}
    storage = storage_dir(folder)
    others = [name for name in found.files if name not in _KNOWN]
    return _assemble(id, files, folder=folder, storage=storage, others=others, dirs=found.dirs)


def parse_task(id: str, files: Mapping[str, bytes]) -> Task:  # noqa: A002 - the wire's word
    """Read a task from its files' contents by name, without a file system.

    The index beside the tasks is not looked at, and the variant is told by shape. Never raises.
    """
    known = {name: data for name, data in files.items() if name in _KNOWN}
    return _assemble(id, known, others=sorted(files.keys() - known.keys()))


class _History(NamedTuple):
    item: HistoryItem | None = None
    file: str = ""
    error: str | None = None
    unit: bool = False


def _assemble(
    id: str,  # noqa: A002 - the wire's word
    files: Files,
    *,
    folder: str = "",
    storage: str = "",
    others: list[str],
    dirs: list[str] | None = None,
) -> Task:
    api_name, ui_name = _main_names(files)
    api = _array(files, api_name, parse_messages)
    ui = _array(files, ui_name, parse_ui)
    unused = [name for name in (FILE_LEGACY,) if name in files and name not in (api_name, ui_name)]
    metadata, metadata_error = _object(files, FILE_METADATA, TaskMetadata)
    settings, settings_error = _settings(files)
    history = _history(id, files, storage)
    by_name = by_storage(os.path.basename(storage))
    variant, told = by_name or by_shape(
        id=id,
        files=[*files, os.path.basename(history.file)],
        metadata=metadata,
        history=history.item,
        api=api.elements,
        ui=ui.elements,
    )
    return Task(
        dir=folder,
        id=id,
        variant=variant,
        variant_by=told,
        guessed=by_name is None,
        api=api,
        ui=ui,
        context=_array(files, FILE_CONTEXT_HISTORY, parse_context_history),
        metadata=metadata,
        metadata_error=metadata_error,
        has_metadata=FILE_METADATA in files,
        settings=settings,
        settings_error=settings_error,
        has_settings=FILE_SETTINGS in files,
        history=history.item,
        history_file=history.file,
        history_error=history.error,
        history_unit=history.unit,
        others=sorted(others + unused),
        dirs=dirs or [],
        files={name: data for name, data in files.items() if isinstance(data, bytes)},
    )


def _array(files: Files, name: str, parse: Callable[..., Array[N]]) -> Array[N]:
    data = files.get(name)
    match data:
        case None:
            return Array(b"", [])
        case ReadError():
            return Refused(b"", [], name=name, error=str(data))
        case _ if len(data) > MAX_SIZE:
            return Refused(b"", [], name=name, error=f"larger than {MAX_SIZE} bytes: not parsed")
        case _:
            return parse(data, name=name)


def _main_names(files: Files) -> tuple[str, str]:
    """Which files are the API history and the UI messages: the oldest name has been given to both."""
    legacy = files.get(FILE_LEGACY)
    if isinstance(legacy, bytes):
        first = next((m for m in parse_messages(legacy).elements if not m.error), None)
        if first and "role" in first and FILE_API not in files:
            return FILE_LEGACY, FILE_UI
    return FILE_API, FILE_LEGACY if FILE_UI not in files and legacy is not None else FILE_UI


def _object(files: Files, name: str, make: Callable[[bytes], J]) -> tuple[J | None, str | None]:
    data = files.get(name)
    if data is None or isinstance(data, ReadError):
        return None, str(data) if data else None
    body = data.removeprefix(_BOM)
    try:
        jsonio.check(body)
    except ValueError as fault:
        return None, str(fault)
    found = make(body)
    return (None, found.error) if found.error else (found, None)


def _settings(files: Files) -> tuple[Any, str | None]:
    data = files.get(FILE_SETTINGS)
    if data is None or isinstance(data, ReadError):
        return None, str(data) if data else None
    try:
        return jsonio.loads(data.removeprefix(_BOM)), None
    except ValueError as fault:
        return None, str(fault)


def _history(id: str, files: Files, storage: str) -> _History:  # noqa: A002 - the wire's word
    if FILE_HISTORY_ITEM in files:
        item, error = _object(files, FILE_HISTORY_ITEM, HistoryItem)
        return _History(item, f"tasks/{id}/{FILE_HISTORY_ITEM}", error, unit=True)
    path = os.path.join(storage, *_INDEX.split("/"))
    if not storage or not os.path.exists(path):
        return _History()
    status = os.stat(path)
    index = _read_index(path, status.st_mtime_ns, status.st_size)
    raw = index.items.get(id)
    if raw is None:
        return _History(None, _INDEX if index.unread else "", index.fault)
    try:
        return _History(find_history(b"[" + raw + b"]", id), _INDEX, None, unit=True)
    except ReadError as fault:
        return _History(None, _INDEX, str(fault), unit=True)


class _Index(NamedTuple):
    items: Mapping[str, bytes] = {}
    fault: str | None = None
    unread: bool = False


@lru_cache(maxsize=2)
def _read_index(path: str, changed_ns: int, size: int) -> _Index:
    """An index file; it is one for all tasks of a storage, so it is kept while they are read."""
    data = _try_read(path)
    if isinstance(data, ReadError):
        return _Index(fault=str(data), unread=True)
    fault = Array.parse(data, HistoryItem).error
    return _Index(parse_index(data), f"{_INDEX}: {fault}" if fault else None)


def _try_read(path: str) -> bytes | ReadError:
    try:
        return read_bounded(path)
    except ReadError as fault:
        return fault


def _dump(node: Node | None, data: bytes) -> bytes:
    if node is None or not node.modified:
        return data
    mark = _BOM if data.startswith(_BOM) and isinstance(node, Object) else b""
    return mark + node.dump()
