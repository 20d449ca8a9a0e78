"""Sessions of the Cline SDK on disk, as CLI 3.0.65 left them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stenograph.agents.cline.sessionfolders import find_stored
from stenograph.agents.cline.sessions import (
    Manifest,
    StoredSession,
    parse_manifest,
    parse_transcript,
    read_session,
    unwrap,
)
from stenograph.errors import NotExact, ReadError
from taskdirs import DATA

STORE = DATA / "cline-store"
NAMES = sorted(path.name for path in STORE.iterdir() if (path / "sessions").is_dir())
FILES = {
    str(path.relative_to(STORE)): path.read_bytes() for path in sorted(STORE.glob("*/sessions/*/*.json"))
}
TRANSCRIPTS = {name: data for name, data in FILES.items() if name.endswith(".messages.json")}
SMALL = min(TRANSCRIPTS.values(), key=len)


def load(name: str) -> StoredSession:
    (main,) = find_stored(STORE / name)
    return read_session(main)


@pytest.mark.parametrize("name", NAMES)
def test_every_stored_session_is_read_without_fault(name: str) -> None:
    session = load(name)
    assert session.manifest
    assert session.lead
    assert session.manifest.session_id == session.id == session.lead.header.session_id
    assert (session.manifest_error, session.lead.error, session.rows_error) == (None, None, None)
    assert session.others + session.dirs == []
    assert session.rows[session.id]["prompt"] == session.manifest.prompt
    assert not session.manifest.undeclared
    assert not session.lead.header.undeclared
    for message in session.lead.messages:
        assert message.error is None
        assert message.time
        assert not message.undeclared


@pytest.mark.parametrize("name", FILES)
def test_load_then_save_gives_the_same_bytes(name: str) -> None:
    data = FILES[name]
    if name in TRANSCRIPTS:
        transcript = parse_transcript(data)
        assert [data[start:end] for start, end in transcript.spans] == [m.raw for m in transcript.messages]
        assert [block.type for message in transcript.messages for block in message.blocks]
        assert transcript.dump() == data
    else:
        manifest, error = parse_manifest(data)
        assert manifest
        assert (manifest.dump(), error) == (data, None)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_one_edited_member_leaves_every_other_byte_the_same(name: str) -> None:
    data = TRANSCRIPTS[name]
    for at in range(len(parse_transcript(data).messages)):
        transcript = parse_transcript(data)
        message = transcript.messages[at]
        start, end = transcript.spans[at]
        old = bytes(message.cells["role"])
        message.role = "edited"
        assert transcript.dump() == data[:start] + data[start:end].replace(old, b'"edited"', 1) + data[end:]


def test_the_manifest_of_a_local_run_has_the_plain_prompt() -> None:
    manifest = load("read_missing").manifest
    assert manifest
    assert (manifest.prompt, manifest.plain_prompt) == ("please do the task", "please do the task")
    assert (manifest.is_hub, manifest.mode, manifest.system_prompt) == (False, "", "")
    assert (manifest.status, manifest.exit_code, manifest.cwd, manifest.model) == (
        "completed",
        0,
        "/home/dev/app",
        "fake-model",
    )


def test_the_manifest_of_a_hub_run_has_it_wrapped_and_more_in_its_metadata() -> None:
    manifest = load("hub_tools").manifest
    assert manifest
    assert manifest.prompt == '<user_input mode="act">please do the task</user_input>'
    assert (manifest.plain_prompt, manifest.mode, manifest.is_hub) == ("please do the task", "act", True)
    assert manifest.system_prompt == "(system prompt removed)"
    assert manifest.metadata["usage"]["cacheReadTokens"] == 220


def test_a_failed_run_has_a_message_that_is_shown_and_was_never_said() -> None:
    session = load("api_401")
    assert session.manifest
    assert (session.manifest.status, session.manifest.exit_code) == ("failed", 1)
    assert session.lead
    error = session.lead.messages[-1]
    assert (error.is_display_only, error.is_error, error.blocks[0].text) == (
        True,
        True,
        "scripted failure 401",
    )
    assert [message.role for message in session.lead.conversation] == ["user"]


def test_a_sub_agent_has_a_file_and_a_row_of_its_own() -> None:
    session = load("spawn_agent")
    (agent,) = session.agents
    assert (agent.header.agent, agent.header.task_type) == ("subagent", "subagent_task")
    origin = agent.header.origin
    assert origin
    assert (origin.parent_thread_id, origin.subagent) == (session.id, "agent_1796040015882_hvyk7h")
    row = session.row_of(agent)
    assert row
    assert (row["is_subagent"], row["parent_session_id"], row["status"]) == (1, session.id, "completed")
    assert session.units == 4 + 4 + 1
    assert [m.metrics.input_tokens for m in agent.messages if m.metrics] == [200, 300]


def test_a_teammate_has_a_file_and_a_row_of_its_own() -> None:
    session = load("team")
    (mate,) = session.agents
    assert (mate.name, mate.header.agent) == ("scout__rzAxeq.messages.json", "teammate")
    assert mate.header.session_id == f"{session.id}__teamtask__scout__rzAxeq"
    row = session.row_of(mate)
    assert row
    assert row["parent_agent_id"] == "lead"


def test_results_are_a_list_a_string_of_json_or_a_string() -> None:
    session = load("hub_tools")
    assert session.lead
    results = [
        block for message in session.lead.messages for block in message.blocks if block.type == "tool_result"
    ]
    assert [block["content"][0]["success"] for block in results[:2]] == [True, True]
    assert results[1]["content"][1]["error"] == "Command exited with code 4"
    assert json.loads(results[2].content.text)["query"] == "edit:/home/dev/app/hub.txt"


def test_sessions_are_found_from_the_data_folder_its_sessions_and_one_session() -> None:
    data = STORE / "plain_text"
    found = [str(data / "sessions" / "1796039948224_lqzj1" / "1796039948224_lqzj1.json")]
    assert (
        find_stored(data)
        == find_stored(data / "sessions")
        == find_stored(data / "sessions" / "1796039948224_lqzj1")
    )
    assert find_stored(data) == found
    assert find_stored(STORE / "legacy_read") == find_stored(STORE / "nowhere") == []


def test_rows_are_read_from_a_given_database_and_a_missing_one_is_no_fault(tmp_path: Path) -> None:
    folder = Path(find_stored(STORE / "spawn_agent")[0]).parent
    alone = shutil.copytree(folder, tmp_path / folder.name)
    assert (read_session(alone).rows, read_session(alone).rows_error) == ({}, None)
    assert len(read_session(alone, db=str(STORE / "spawn_agent" / "db" / "sessions.db")).rows) == 2
    (tmp_path / "broken.db").write_bytes(b"no database")
    session = read_session(alone, db=str(tmp_path / "broken.db"))
    assert session.rows == {}
    assert "cannot be read" in (session.rows_error or "")


def test_rows_of_another_session_with_the_same_beginning_are_not_taken() -> None:
    assert set(load("spawn_agent").rows) == {
        "1796040014278_q425o",
        "1796040014278_q425o__agent_1796040015882_hvyk7h",
    }


def test_a_broken_manifest_is_recorded_and_the_messages_are_read(tmp_path: Path) -> None:
    folder = shutil.copytree(
        Path(find_stored(STORE / "plain_text")[0]).parent, tmp_path / "1796039948224_lqzj1"
    )
    (folder / "1796039948224_lqzj1.json").write_bytes(b'{"version":1')
    session = read_session(folder)
    assert (session.manifest, session.has_manifest) == (None, True)
    assert session.manifest_error
    assert session.lead
    assert len(session.lead.messages) == 2
    (folder / "1796039948224_lqzj1.json").unlink()
    assert find_stored(folder) == [str(folder / "1796039948224_lqzj1.messages.json")]
    assert read_session(folder).units == 2
    (folder / "1796039948224_lqzj1.messages.json").unlink()
    with pytest.raises(ReadError, match="neither a manifest nor messages"):
        read_session(folder)


def test_a_message_file_that_cannot_be_loaded_is_recorded_and_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "s1"
    folder.mkdir()
    (folder / "s1.messages.json").symlink_to(tmp_path / "nowhere")
    session = read_session(folder)
    assert session.lead
    assert session.lead.error == "cannot be read: No such file or directory"
    with pytest.raises(NotExact):
        session.lead.dump()


def test_a_bare_list_is_accepted() -> None:
    transcript = parse_transcript(b'[{"role":"user","content":"x"}, 5]')
    assert [message.error for message in transcript.messages] == [None, "not an object"]
    assert (transcript.error, transcript.header.cells) == (None, {})
    transcript.messages[0].content.text = "y"
    assert transcript.dump() == b'[{"role":"user","content":"y"}, 5]'


@pytest.mark.parametrize("data", [b"{}", b'{"messages":{}}', b"5", b"null"])
def test_a_file_without_messages_is_recorded(data: bytes) -> None:
    transcript = parse_transcript(data)
    assert transcript.error
    assert (transcript.messages, transcript.units, transcript.dump()) == ([], 1, data)


def test_of_broken_json_what_is_whole_is_kept() -> None:
    data = b'{"version":1,"agent":"lead","messages":[{"role":"user"},{"role":@},{"role":"assistant"}],"x":1}'
    transcript = parse_transcript(data)
    assert transcript.header.agent == "lead"
    assert [(m.role, m.recovered) for m in transcript.messages] == [("user", False), ("assistant", True)]
    assert transcript.error
    transcript.messages[1].role = "user"
    assert transcript.dump() == data.replace(b"assistant", b"user")


def test_a_file_cut_at_every_byte_keeps_a_prefix_and_comes_back() -> None:
    whole = [message.raw for message in parse_transcript(SMALL).messages]
    counts = []
    for end in range(len(SMALL)):
        transcript = parse_transcript(SMALL[:end])
        found = [message.raw for message in transcript.messages]
        assert found == whole[: len(found)]
        assert transcript.dump() == SMALL[:end]
        counts.append(len(found))
    assert counts == sorted(counts)
    assert counts[-1] == len(whole)


@given(at=st.integers(0, len(SMALL)), gone=st.integers(0, 4), put=st.binary(max_size=4))
@settings(max_examples=150, deadline=None)
def test_random_mutation_never_raises_and_comes_back(at: int, gone: int, put: bytes) -> None:
    data = SMALL[:at] + put + SMALL[at + gone :]
    transcript = parse_transcript(data)
    assert transcript.dump() == data
    assert all(block.raw in data for message in transcript.messages for block in message.blocks)
    manifest, error = parse_manifest(data)
    assert (manifest is None) == (error is not None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<user_input mode="act">do it</user_input>', ("act", "do it")),
        ('<user_input mode="plan">a\n</user_input>\n', ("plan", "a\n")),
        ("do it", ("", "do it")),
        ('say <user_input mode="act">x</user_input>', ("", 'say <user_input mode="act">x</user_input>')),
    ],
)
def test_unwrap(text: str, found: tuple[str, str]) -> None:
    assert unwrap(text) == found


def test_members_of_another_type_make_no_manifest_bad() -> None:
    odd: dict[str, Any] = {name: [1] for name in Manifest.declared}
    manifest, error = parse_manifest(json.dumps(odd).encode())
    assert manifest
    assert (error, manifest.plain_prompt, manifest.mode, manifest.is_hub) == (None, "", "", False)
