"""Records of classic Cline's and Roo Code's task directories, as views over the bytes they were read from.

A member reads as the empty value of its type when it is absent, null or of another type: `present`, `nulls`
and `misfits` tell these apart, and the bytes are kept in any case. A member of any type is the decoded JSON
value, to be read with the scalar rules of `scalars`. Members that Roo alone writes stand last.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec

from stenograph import jsonio
from stenograph.agents.cline.scalars import is_null, to_int, to_millis, to_range
from stenograph.document import Array, Bytes, Member, Node, Object
from stenograph.members import Bulk, Child, Children, Flag, Prose, Text, Texts, Value

Variant: TypeAlias = Literal["classic", "roo"]


class Content(Node):
    """What a message or a tool's result holds: a string, a list of blocks, or something that is neither."""

    _text: bytes | None = None
    _array: Array[Block] | None = None

    @property
    def is_absent(self) -> bool:
        """Whether there is no content at all."""
        return not self.size and self._text is None

    @property
    def is_text(self) -> bool:
        """Whether the content is a string."""
        return self._text is not None or self.opens(b'"')

    @property
    def text(self) -> str:
        """The string, empty when the content is none; set it to replace whatever stands there."""
        if not self.is_text:
            return ""
        found: str = jsonio.loads(self.raw if self._text is None else self._text)
        return found

    @text.setter
    def text(self, value: str) -> None:
        """Make the content this string."""
        self._text = jsonio.dumps(value)

    @property
    def blocks(self) -> list[Block]:
        """The blocks, none when the content is no list."""
        if self._text is not None or not self.opens(b"["):
            return []
        if self._array is None:
            self._array = Array.parse(self._raw, Block)
        return self._array.elements

    @property
    def error(self) -> str | None:
        """Why there is neither text nor blocks; None when there is, or the content is absent."""
        fine = self.is_absent or self.is_text or self.opens(b"[")
        return None if fine else "neither a string nor a list of blocks"

    @property
    def modified(self) -> bool:
        """Whether the text was set, or a block edited, added or removed."""
        return self._text is not None or bool(self._array and self._array.modified)

    def dump(self) -> bytes:
        """The JSON to write."""
        if self._text is not None:
            return self._text
        return self._array.dump() if self._array else self.raw


class ContentMember(Member[Content]):
    """The declared member `content`, which always reads as a Content."""

    def __init__(self) -> None:
        super().__init__("content", msgspec.Raw, lambda value: isinstance(value, str | list), get=self._view)

    def _view(self, owner: Object) -> Content:
        """The content as a view: its edits are edits of the owner."""
        found = owner.fields.content
        if not isinstance(found, Content):
            owner.fields.content = found = owner.keep(self.name, Content(found or b""))
        return found


class MediaSource(Object):
    """Where an image's or a document's bytes are."""

    type = Text("type")
    media_type = Text("media_type")
    data = Prose("data")
    url = Text("url")


class Block(Object):
    """One content block: Anthropic's, with the members Cline and Roo add; `type` says which apply."""

    type = Text("type")
    text = Prose("text")
    thinking = Prose("thinking")
    signature = Text("signature")
    data = Prose("data")
    id = Text("id")
    name = Text("name")
    input = Bulk("input")
    tool_use_id = Text("tool_use_id")
    content = ContentMember()
    is_error = Flag("is_error")
    source = Child("source", MediaSource)
    encrypted_content = Prose("encrypted_content")
    thought_signature = Text("thoughtSignature")


class ModelInfo(Object):
    """The model that a classic assistant message was written with."""

    model_id = Text("modelId")
    provider_id = Text("providerId")
    mode = Text("mode")


class MetricTokens(Object):
    """The counts of Metrics, as written."""

    prompt = Value("prompt")
    completion = Value("completion")
    cached = Value("cached")


class Metrics(Object):
    """A classic assistant message's usage.

    `prompt` is the provider's own input figure, so whether it holds cached tokens differs by provider;
    `cached` is cache writes and reads together. It repeats what the request's UI message says: add only one.
    """

    tokens = Child("tokens", MetricTokens)
    cost = Value("cost")


class Message(Object):
    """One element of the API history; Roo also writes reasoning items of their own, without a role."""

    role = Text("role")
    content = ContentMember()
    id = Text("id")
    ts = Value("ts")
    model_info = Child("modelInfo", ModelInfo)
    metrics = Child("metrics", Metrics)
    is_summary = Flag("isSummary")
    condense_id = Text("condenseId")
    condense_parent = Text("condenseParent")
    truncation_id = Text("truncationId")
    truncation_parent = Text("truncationParent")
    is_truncation_marker = Flag("isTruncationMarker")
    type = Text("type")
    encrypted_content = Prose("encrypted_content")
    summary = Bulk("summary")
    reasoning_details = Bulk("reasoning_details")
    reasoning_content = Bulk("reasoning_content")

    @property
    def time(self) -> datetime | None:
        """When it was written, by `ts`."""
        return to_millis(self.ts)

    @property
    def tool_uses(self) -> list[Block]:
        """The tool_use blocks that could be read, in order."""
        return [block for block in self.content.blocks if not block.error and block.type == "tool_use"]

    @property
    def is_standalone_reasoning(self) -> bool:
        """Whether this is Roo's reasoning item written as an element of its own."""
        return self.type == "reasoning" and not self.role


class ReqInfo(Object):
    """One request's usage, the JSON text of an `api_req_started` message; counts are kept as written."""

    request = Prose("request")
    tokens_in = Value("tokensIn")
    tokens_out = Value("tokensOut")
    cache_writes = Value("cacheWrites")
    cache_reads = Value("cacheReads")
    cost = Value("cost")
    cancel_reason = Text("cancelReason")
    streaming_failed_message = Prose("streamingFailedMessage")
    api_protocol = Text("apiProtocol")

    @property
    def has_usage(self) -> bool:
        """Whether any count or a cost is there."""
        told = (self.tokens_in, self.tokens_out, self.cache_writes, self.cache_reads, self.cost)
        return not all(is_null(value) for value in told)

    def embedded(self) -> bytes:
        """The JSON string that stands for it in its UI message."""
        return jsonio.dumps(self.dump().decode("utf-8", "replace"))


_REQ_INFO = ("api_req_started", "deleted_api_reqs")
USAGE = (*_REQ_INFO, "api_req_finished", "subagent_usage")
"""The kinds of UI messages whose text may tell what was paid."""


class UIMessage(Object):
    """One element of the UI messages: what the chat view shows, an ask or a say."""

    ts = Value("ts")
    type = Text("type")
    ask = Text("ask")
    say = Text("say")
    text = Prose("text")
    partial = Flag("partial")
    conversation_history_index = Value("conversationHistoryIndex")
    conversation_history_deleted_range = Value("conversationHistoryDeletedRange")
    api_protocol = Text("apiProtocol")
    context_condense = Bulk("contextCondense")
    context_truncation = Value("contextTruncation")

    @property
    def kind(self) -> str:
        """The ask or the say, whichever `type` names."""
        side = self.type
        if side == "say":
            return self.say
        return self.ask if side == "ask" else ""

    @property
    def time(self) -> datetime | None:
        """When it was written, by `ts`, which is no key: several messages may have one."""
        return to_millis(self.ts)

    @property
    def history_index(self) -> int | None:
        """The index of the last API message when this was written, -1 before the first; None if untold."""
        found = to_int(self.conversation_history_index)
        return found[0] if found else None

    @property
    def deleted_range(self) -> tuple[int, int] | None:
        """The API messages, both ends included, that requests left out when this was written."""
        return to_range(self.conversation_history_deleted_range)

    @property
    def req_info(self) -> ReqInfo | None:
        """The text of an `api_req_started` or `deleted_api_reqs` message; None when it is no JSON object."""
        return self._info() if self.kind in _REQ_INFO else None

    @property
    def usage(self) -> ReqInfo | None:
        """Usage that counts: `req_info`, Claude Dev's `api_req_finished`, late classic's `subagent_usage`."""
        return self._info() if self.kind in USAGE else None

    def _info(self) -> ReqInfo | None:
        known = self.seen("text")
        if isinstance(known, ReqInfo):
            return known
        info = ReqInfo(self.text.encode("utf-8", "backslashreplace"))
        return self.keep("text", info) if info.is_whole else None


class ContextUpdate(Node):
    """One update of a classic task's context edits.

    From `ts` on, every request sends `text` in place of that of block `block` of API message `message`; the
    last update of a block wins. A message or block entry that cannot be read is one update with `error`
    set, and `message` or `block` is -1.
    """

    def __init__(
        self,
        raw: Bytes,
        *,
        message: int = -1,
        edit_type: Any = None,
        block: int = -1,
        error: str | None = None,
    ) -> None:
        super().__init__(raw)
        self.message = message
        self.edit_type = edit_type
        self.block = block
        self.error = error

    def _part(self, at: int) -> Any:
        parts = None if self.error else jsonio.loads(self.raw)
        return parts[at] if parts and at < len(parts) else None

    @property
    def ts(self) -> Any:
        """When the edit was made, in ms since 1970, as written."""
        return self._part(0)

    @property
    def kind(self) -> str:
        """The kind of edit; Cline writes `text` alone."""
        kind = self._part(1)
        return kind if isinstance(kind, str) else ""

    @property
    def text(self) -> list[str]:
        """The new texts; Cline writes one."""
        return self._part(2) or []

    @property
    def new_text(self) -> str:
        """The text that is sent instead: the first."""
        return next(iter(self.text), "")

    @property
    def metadata(self) -> Any:
        """What else was kept, for file mentions the paths; None in early releases."""
        return self._part(3)

    @property
    def time(self) -> datetime | None:
        """When the edit was made."""
        return to_millis(self.ts)


class ModelUsage(Object):
    """One switch of the model."""

    ts = Value("ts")
    model_id = Text("model_id")
    model_provider_id = Text("model_provider_id")
    mode = Text("mode")


class Environment(Object):
    """One environment the task ran in: the only place where a classic task names Cline's version."""

    ts = Value("ts")
    cline_version = Text("cline_version")


class TaskMetadata(Object):
    """The task's metadata; Roo's holds `files_in_context` alone, a log in which paths repeat."""

    files_in_context = Bulk("files_in_context")
    model_usage = Children("model_usage", ModelUsage)
    environment_history = Children("environment_history", Environment)


class HistoryItem(Object):
    """A task's entry in an index: an element of classic's `taskHistory.json`, Roo's `history_item.json`."""

    id = Text("id")
    ts = Value("ts")
    task = Prose("task")
    conversation_history_deleted_range = Value("conversationHistoryDeletedRange")
    cwd_on_task_initialization = Text("cwdOnTaskInitialization")
    shadow_git_config_work_tree = Text("shadowGitConfigWorkTree")
    model_id = Text("modelId")
    root_task_id = Text("rootTaskId")
    parent_task_id = Text("parentTaskId")
    workspace = Text("workspace")
    mode = Text("mode")
    api_config_name = Text("apiConfigName")
    status = Text("status")
    child_ids = Texts("childIds")
    completion_result_summary = Prose("completionResultSummary")

    @property
    def time(self) -> datetime | None:
        """When the task was last written, by `ts`."""
        return to_millis(self.ts)

    @property
    def deleted_range(self) -> tuple[int, int] | None:
        """The API messages that requests leave out, both ends included."""
        return to_range(self.conversation_history_deleted_range)
