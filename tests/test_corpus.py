"""Sessions in the default places and under given folders, and their summaries, kept while nothing changes."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from stenograph import find
from stenograph.corpus import catalog as catalogs
from stenograph.corpus.catalog import Catalog, cache_path
from stenograph.corpus.places import System, places
from stenograph.corpus.search import Found
from stenograph.errors import ReadError
from stenograph.stores import STORES, store, store_of
from taskdirs import DATA, TASKDIRS, lay_out

UI = b'[{"ts":1,"type":"say","say":"text","text":"x"}]'
STORE = DATA / "cline-store"


def task(folder: Path, name: str = "ui_messages.json") -> Path:
    folder.mkdir(parents=True)
    (folder / name).write_bytes(UI)
    return folder


def linux(home: Path, **environ: str) -> System:
    return System(home, "linux", environ)


def names(found: Iterator[Found]) -> list[str]:
    return [os.path.basename(os.path.dirname(each.path)) for each in found]


@pytest.mark.parametrize(
    ("platform", "environ", "folder"),
    [
        ("linux", {}, ".config/Code/User/globalStorage/saoudrizwan.claude-dev"),
        ("linux", {}, ".config/VSCodium/User/globalStorage/rooveterinaryinc.roo-cline"),
        ("linux", {}, ".config/Cursor/User/globalStorage/SaoudRizwan.Claude-Dev"),
        ("linux", {"XDG_CONFIG_HOME": "HOME/conf"}, "conf/Code/User/globalStorage/kilocode.kilo-code"),
        ("linux", {}, ".vscode-server/data/User/globalStorage/saoudrizwan.claude-dev"),
        ("linux", {}, ".vscode-remote/data/User/globalStorage/zoocodeorganization.zoo-code"),
        ("linux", {}, ".local/share/code-server/User/globalStorage/saoudrizwan.cline-nightly"),
        ("linux", {}, ".vscode-server-insiders/data/User/globalStorage/rooveterinaryinc.roo-code-nightly"),
        ("linux", {}, ".cursor-server/data/User/globalStorage/saoudrizwan.claude-dev"),
        (
            "linux",
            {},
            ".var/app/com.visualstudio.code/config/Code/User/globalStorage/kilocode.kilo-code",
        ),
        ("linux", {"VSCODE_PORTABLE": "HOME/p"}, "p/user-data/User/globalStorage/saoudrizwan.claude-dev"),
        ("linux", {}, ".cline/data"),
        ("linux", {"CLINE_DIR": "HOME/own"}, "own/data"),
        ("linux", {}, ".vscode-mock/global-storage"),
        ("darwin", {}, "Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev"),
        ("win32", {"APPDATA": "HOME/Roaming"}, "Roaming/Code/User/globalStorage/saoudrizwan.claude-dev"),
        ("darwin", {}, "Library/Application Support/Windsurf/User/globalStorage/rooveterinaryinc.roo-cline"),
        ("darwin", {}, ".cline/data"),
        ("win32", {}, ".cline/data"),
        ("win32", {}, ".vscode-server/data/User/globalStorage/saoudrizwan.claude-dev"),
        ("win32", {"APPDATA": "HOME/R"}, "R/Cursor/User/globalStorage/rooveterinaryinc.roo-cline"),
        ("win32", {}, "AppData/Roaming/Code - Insiders/User/globalStorage/saoudrizwan.claude-dev"),
    ],
)
def test_tasks_are_found_in_the_default_places(
    platform: str, environ: dict[str, str], folder: str, tmp_path: Path
) -> None:
    task(tmp_path / folder / "tasks" / "17")
    told = {name: value.replace("HOME", str(tmp_path)) for name, value in environ.items()}
    assert names(find(system=System(tmp_path, platform, told))) == ["17"]


def test_sdk_sessions_are_found_in_clines_data_and_where_they_were_moved_to(tmp_path: Path) -> None:
    shutil.copytree(STORE / "plain_text", tmp_path / ".cline" / "data")
    shutil.copytree(STORE / "team" / "sessions", tmp_path / "moved")
    system = linux(tmp_path, CLINE_SESSION_DATA_DIR=str(tmp_path / "moved"))
    assert [(each.format, names(iter([each]))) for each in find(system=system)] == [
        ("cline-session", ["1796039948224_lqzj1"]),
        ("cline-session", ["1796040407154_59kea"]),
    ]


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ('{"roo-cline.customStoragePath": "HOME/own"}', ["17"]),
        ('// mine\n{\n  "a": 1, // x\n  "roo-cline.customStoragePath" : "HOME\\u002fown",\n}', ["17"]),
        ('{"roo-cline.customStoragePath": "~/own"}', ["17"]),
        ('{\n// "roo-cline.customStoragePath": "HOME/own"\n}', []),
        ('{"roo-cline.customStoragePath": ""}', []),
        ('{"roo-cline.customStoragePath": 5}', []),
        ("{", []),
    ],
)
def test_roos_own_path_is_read_from_the_editors_settings(
    settings: str, found: list[str], tmp_path: Path
) -> None:
    task(tmp_path / "own" / "tasks" / "17")
    user = tmp_path / ".config" / "Code" / "User"
    user.mkdir(parents=True)
    (user / "settings.json").write_text(settings.replace("HOME", str(tmp_path)))
    assert names(find(system=linux(tmp_path))) == found


def test_a_place_that_is_not_there_gives_nothing(tmp_path: Path) -> None:
    assert list(find(system=linux(tmp_path))) == []
    assert len(set(places(linux(tmp_path)))) > 1


def test_a_store_reached_twice_counts_once(tmp_path: Path) -> None:
    storage = tmp_path / ".config" / "Code" / "User" / "globalStorage" / "saoudrizwan.claude-dev"
    task(storage / "tasks" / "17")
    other = tmp_path / ".config" / "Cursor" / "User" / "globalStorage"
    other.mkdir(parents=True)
    (other / "saoudrizwan.claude-dev").symlink_to(storage)
    assert names(find(system=linux(tmp_path))) == ["17"]
    path = storage / "tasks" / "17" / "ui_messages.json"
    assert names(find([storage, storage / "tasks", other / "saoudrizwan.claude-dev", path, tmp_path])) == [
        "17"
    ]


def test_a_session_is_found_before_the_next_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        task(tmp_path / "tasks" / str(number))
    listed: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(str(path)) or scandir(path))
    found = find(tmp_path)
    next(found)
    assert not any(path.endswith(("/1", "/2")) for path in listed)


def test_exports_in_any_folder_are_found_and_checkpoints_are_never_walked(tmp_path: Path) -> None:
    task(tmp_path / "exports" / "a" / "deep")
    task(tmp_path / "exports" / "b", "api_conversation_history.json")
    for name in ("checkpoints", "node_modules", ".git"):
        task(tmp_path / "exports" / name / "x" / "y")
    task(tmp_path / "exports" / "b" / "checkpoints" / "tasks" / "9")
    (tmp_path / "exports" / "loop").symlink_to(tmp_path)
    assert sorted(names(find(tmp_path))) == ["b", "deep"]


def test_a_folder_with_a_file_of_its_own_name_is_no_session(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.json").write_text("{}")
    assert list(find(tmp_path)) == []
    (tmp_path / "sessions" / "s1").mkdir(parents=True)
    (tmp_path / "sessions" / "s1" / "s1.json").write_text("{}")
    assert names(find(tmp_path)) == ["s1"]


def test_a_root_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no such file or directory"):
        list(find(tmp_path / "nowhere"))


def test_a_file_that_is_no_session_gives_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    assert list(find(tmp_path / "x.json")) == []


@pytest.mark.parametrize("name", STORES)
def test_each_store_says_what_it_is(name: str) -> None:
    assert store(name).format == name


def test_a_path_tells_its_store(tmp_path: Path) -> None:
    (session,) = (STORE / "plain_text" / "sessions").iterdir()
    for path in (session, session / f"{session.name}.json", session / f"{session.name}.messages.json"):
        assert getattr(store_of(path), "format", None) == "cline-session"
    folder = task(tmp_path / "17")
    assert getattr(store_of(folder), "format", None) == "cline-task"
    assert getattr(store_of(folder / "ui_messages.json"), "format", None) == "cline-task"
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / "nowhere" / "ui_messages.json"):
        assert store_of(path) is None


@pytest.fixture
def many(tmp_path: Path) -> Path:
    for name, case in TASKDIRS.items():
        lay_out(case, tmp_path / "wild" / name)
    shutil.copytree(STORE / "spawn_agent", tmp_path / "wild" / "spawn_agent")
    return tmp_path / "wild"


def test_what_has_not_changed_is_not_read_again(many: Path, tmp_path: Path) -> None:
    file = tmp_path / "cache" / "catalog.json"
    first = Catalog(file)
    listed = list(first.listed(find(many)))
    assert len(listed) == len(TASKDIRS) + 1 == first.read
    first.save()
    second = Catalog(file)
    assert list(second.listed(find(many))) == listed
    assert second.read == 0
    changed = Path(listed[-1].found.path)
    changed.write_bytes(changed.read_bytes() + b" ")
    third = Catalog(file)
    list(third.listed(find(many)))
    assert third.read == 1


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"version":0,"rows":{}}', b'{"version":1,"rows":{"a":{}}}']
)
def test_a_catalog_that_cannot_be_read_is_made_anew(data: bytes, many: Path, tmp_path: Path) -> None:
    file = tmp_path / "catalog.json"
    file.write_bytes(data)
    catalog = Catalog(file)
    assert len(list(catalog.listed(find(many)))) == catalog.read
    catalog.save()
    assert json.loads(file.read_bytes())["version"] == 1


def test_a_catalog_that_cannot_be_written_is_no_fault(many: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    catalog = Catalog(tmp_path / "file" / "catalog.json")
    assert list(catalog.listed(find(many)))
    catalog.save()
    assert (tmp_path / "file").read_bytes() == b""


def test_a_session_that_cannot_be_read_is_listed_with_its_fault(many: Path) -> None:
    (listed,) = Catalog().listed([Found(str(many / "nowhere" / "ui_messages.json"), "cline-task")])
    assert listed.summary is None
    assert "no such file or directory" in (listed.fault or "")


@pytest.mark.parametrize(
    ("platform", "environ", "path"),
    [
        ("linux", {}, "/home/dev/.cache/stenograph/catalog.json"),
        ("linux", {"XDG_CACHE_HOME": "/c"}, "/c/stenograph/catalog.json"),
        ("darwin", {}, "/home/dev/Library/Caches/stenograph/catalog.json"),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/stenograph/catalog.json"),
    ],
)
def test_the_catalog_stands_where_the_platform_keeps_caches(
    platform: str, environ: dict[str, str], path: str
) -> None:
    assert cache_path(environ, Path("/home/dev"), platform) == Path(path)
    assert catalogs.__doc__


def test_a_summary_is_what_the_loaded_session_says(many: Path) -> None:
    for found in find(many):
        kind = store(found.format)
        quick, whole = kind.summary(found.path), kind.load(found.path).summary
        for name in ("path", "id", "requests", "totals", "started", "agent", "format", "cwd"):
            assert getattr(quick, name) == getattr(whole, name), (found.path, name)


def test_sessions_that_are_files_are_found_each_by_itself(tmp_path: Path) -> None:
    document = {"schema_version": "ATIF-v1.5", "agent": {"name": "a", "version": "1"}, "steps": []}
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps({**document, "session_id": name}))
    task(tmp_path / "tasks" / "17")
    found = list(find(tmp_path))
    assert [(each.format, each.place) for each in found] == [
        ("cline-task", str(tmp_path / "tasks" / "17")),
        ("atif", str(tmp_path / "one.json")),
        ("atif", str(tmp_path / "two.json")),
    ]
    assert [each.path for each in find(tmp_path / "two.json")] == [str(tmp_path / "two.json")]
    assert len(list(find([tmp_path / "two.json", tmp_path]))) == 3
