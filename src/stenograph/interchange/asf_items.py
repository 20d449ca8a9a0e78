"""Entries as Open Responses items and back, for the Agent Session Format.

`to_item` gives the item that says an entry best, `from_item` what a reader makes of an item. What differs
between an entry and what comes back is kept beside the item, so nothing here has to be exact.
"""

from __future__ import annotations

from typing import Any

from stenograph import jsonio
from stenograph.model import Entry, Noticed, Part, Prompted, Said, Thought, ToolCalled, ToolReturned, Unread

REDACTED = "anthropic.redacted_thinking"


def message(role: str, text: str) -> dict[str, Any]:
    """A message of one text."""
    part: dict[str, Any] = {"type": "input_text", "text": text}
    if role == "assistant":
        part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": role, "content": [part]}


def to_item(entry: Entry, call_id: str = "") -> dict[str, Any] | None:
    """The item for an entry; `call_id` is the session's own id of a call. None when there is none."""
    match entry:
        case Prompted(text=text):
            return message("user", text)
        case Said(text=text):
            return message("assistant", text)
        case Thought():
            return _reasoning(entry)
        case ToolCalled(tool=tool, input=given):
            arguments = jsonio.dumps(given).decode("utf-8", "replace")
            return {"type": "function_call", "call_id": call_id, "name": tool, "arguments": arguments}
        case ToolReturned(output=output):
            return {"type": "function_call_output", "call_id": call_id, "output": output_parts(output)}
        case Noticed(kind="block/image" | "block/document" | "block/file", raw=raw):
            media = media_part(raw.value())
            return {"type": "message", "role": "user", "content": [media]} if media else None
    return None


def from_item(item: dict[str, Any]) -> Entry:
    """The entry that an item says."""
    match item:
        case {"type": "message", "role": str(role), "content": list(content)}:
            return _from_message(role, content, item)
        case {"type": "reasoning"}:
            signature = item.get("encrypted_content")
            return Thought(
                text=texts(item.get("content")) or texts(item.get("summary")),
                signature=signature if isinstance(signature, str) else None,
            )
        case {"type": "anthropic.redacted_thinking", "block": dict(block)}:
            data = block.get("data")
            return Thought(text="", redacted=data if isinstance(data, str) else None)
        case {"type": "function_call", "call_id": str(call), "name": str(name)}:
            return ToolCalled(id=call, tool=name, input=_loads(item.get("arguments")))
        case {"type": "function_call_output", "call_id": str(call)}:
            return ToolReturned(id=call, ok=None, output=from_output(item.get("output")))
    return Unread(raw=jsonio.raw(item))


def block_of(entry: ToolCalled | ToolReturned) -> Part:
    """The content block that stands for a call or a result of another writer's file."""
    block = {"type": "tool_result", "tool_use_id": entry.id}
    if isinstance(entry, ToolCalled):
        return Part(
            jsonio.dumps({"type": "tool_use", "id": entry.id, "name": entry.tool, "input": entry.input})
        )
    return Part(jsonio.dumps(block | {"content": entry.output}))


def output_parts(output: Any) -> Any:
    """A result as a string or a list of content parts; anything else as its JSON text."""
    value = jsonio.value(output)
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value:
        parts = [_part(block) for block in value]
        if None not in parts and [_block(part) for part in parts] == value:
            return parts
    return "" if value is None else jsonio.dumps(value).decode("utf-8", "replace")


def from_output(output: Any) -> Any:
    """A result as the blocks or the text that it was written from."""
    return [_block(part) for part in output] if isinstance(output, list) else output


def media_part(block: Any) -> dict[str, Any] | None:
    """The content part for a picture or a document, None when the block holds neither data nor a URL."""
    match block:
        case {"type": "image", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            return {"type": "input_image", "image_url": f"data:{kind};base64,{data}", "detail": "auto"}
        case {"type": "image", "source": {"type": "url", "url": str(url)}}:
            return {"type": "input_image", "image_url": url, "detail": "auto"}
        case {"type": "image", "data": str(data), "mediaType": str(kind)}:
            return {"type": "input_image", "image_url": f"data:{kind};base64,{data}", "detail": "auto"}
        case {"type": "document", "source": {"type": "base64", "data": str(data)}}:
            name = block.get("title") or block.get("name") or "document"
            return {"type": "input_file", "filename": str(name), "file_data": data}
    return None


def _part(block: Any) -> dict[str, Any] | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
    return media_part(block)


def _block(part: Any) -> Any:
    match part:
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "input_image", "image_url": str(url)}:
            kind, mark, data = url.removeprefix("data:").partition(";base64,")
            if mark and url.startswith("data:"):
                return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
            return {"type": "image", "source": {"type": "url", "url": url}}
    return part


def _reasoning(entry: Thought) -> dict[str, Any]:
    if entry.redacted is not None and not entry.text:
        return {"type": REDACTED, "block": {"type": "redacted_thinking", "data": entry.redacted}}
    summary = [{"type": "summary_text", "text": entry.text}] if entry.text else []
    item: dict[str, Any] = {"type": "reasoning", "summary": summary}
    return item | {"encrypted_content": entry.signature} if entry.signature else item


def _from_message(role: str, content: list[Any], item: dict[str, Any]) -> Entry:
    text = texts(content)
    media = [part for part in content if isinstance(part, dict) and part.get("type") == "input_image"]
    if media and not text and len(content) == 1:
        return Noticed(kind="block/image", raw=Part(jsonio.dumps(_block(media[0]))))
    if role == "assistant":
        return Said(text=text)
    return Prompted(text=text, synthetic=role in ("system", "developer"))


def texts(parts: Any) -> str:
    """The texts of content parts, joined by blank lines."""
    if isinstance(parts, str):
        return parts
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _loads(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return jsonio.loads(text.encode("utf-8", "backslashreplace"))
    except ValueError:
        return text
