"""Tools of an `Agent`: what they are told, how their input is checked, and how they are run.

A fault of a tool is never an exception for the agent: its result is {error} and marked as such.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import UNSET

from stenograph import jsonio
from stenograph.agents.cline import runtime, schema
from stenograph.agents.cline.ask import Emit
from stenograph.agents.cline.models import ToolDefinition
from stenograph.agents.cline.runtime import AgentMessage, AgentToolCallPart, AgentToolResultPart
from stenograph.agents.cline.state import AgentState

Progress: TypeAlias = Callable[[AgentToolCallPart, Any], None]
"""Tells a tool's progress: its call and any JSON value."""

TIMEOUT_S = 30.0


class AgentToolContext(NamedTuple):
    """What a tool knows of its call; `emit_update` tells progress, as any JSON value."""

    agent_id: str
    run_id: str
    iteration: int
    tool_call_id: str
    emit_update: Callable[[Any], None]


class AgentTool(NamedTuple):
    """A tool that the model may call.

    `execute` gets the checked input and returns any JSON value, or an awaitable of one; it must not block.
    Tools that are `parallel` run beside each other when they are called in a row. `timeout_s` is in seconds,
    None is no limit. When one that `completes_run` succeeds, the run is over and its output the answer.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    execute: Callable[[Any, AgentToolContext], Any]
    execution_mode: Literal["sequential", "parallel"] = "sequential"
    timeout_s: float | None = TIMEOUT_S
    completes_run: bool = False

    def definition(self) -> ToolDefinition:
        """The tool as the model is told of it."""
        return ToolDefinition(self.name, self.description, self.input_schema)


class ToolCall(NamedTuple):
    """A call with its tool, if there is one, and what speaks against running it."""

    part: AgentToolCallPart
    tool: AgentTool | None
    fault: str | None

    @property
    def parallel(self) -> bool:
        """Whether it may run beside others."""
        return self.tool is not None and self.tool.execution_mode == "parallel"


class ToolOutcome(NamedTuple):
    """What a call gave: a JSON value, and whether that value is an error."""

    output: Any
    failed: bool


def prepare(part: AgentToolCallPart, tools: Mapping[str, AgentTool]) -> ToolCall:
    """The call, checked: its tool is known, its JSON could be read and fits the tool's schema."""
    tool = tools.get(part.tool_name)
    if tool is None:
        return ToolCall(part, None, f"Unknown tool: {part.tool_name}")
    unread = part.metadata.get("inputParseError") if isinstance(part.metadata, dict) else None
    if isinstance(unread, str):
        return ToolCall(part, tool, unread)
    wrong = schema.find_fault(part.input, tool.input_schema)
    return ToolCall(part, tool, f"Invalid input for tool {tool.name}: {wrong}" if wrong else None)


async def execute(call: ToolCall, context: AgentToolContext) -> ToolOutcome:
    """Run the tool within its time, or say why not. Only a cancellation gets out."""
    if call.tool is None or call.fault is not None:
        return failure(call.fault or "")
    try:
        async with asyncio.timeout(call.tool.timeout_s):
            output = call.tool.execute(call.part.input, context)
            return ToolOutcome(_as_json(await output if inspect.isawaitable(output) else output), False)
    except TimeoutError as fault:
        return failure(
            str(fault) or f"Tool {call.tool.name} was stopped after {call.tool.timeout_s:g} seconds"
        )
    except Exception as fault:
        return failure(str(fault) or type(fault).__name__)


def failure(message: str) -> ToolOutcome:
    """The outcome of a call that went wrong."""
    return ToolOutcome({"error": message}, True)


def _as_json(output: Any) -> Any:
    """The output as JSON values; what has no JSON is given as text."""
    try:
        return jsonio.loads(jsonio.dumps(output))
    except (TypeError, ValueError, RecursionError):
        return str(output)


class ToolRunner:
    """Runs the tool calls of one answer: one after another, and parallel ones in a row together."""

    def __init__(
        self, tools: Mapping[str, AgentTool], *, state: AgentState, emit: Emit, progress: Progress
    ) -> None:
        self._tools = tools
        self._state = state
        self._emit = emit
        self._progress = progress

    async def run(self, parts: Iterable[AgentToolCallPart]) -> list[AgentMessage]:
        """The results as messages, in the order of the calls."""
        calls = [prepare(part, self._tools) for part in parts]
        results: list[AgentMessage] = []
        for parallel, row in groupby(calls, key=lambda call: call.parallel):
            if parallel:
                results += await self._together(row)
            else:
                results += [await self._one(call) for call in row]
        return results

    async def _together(self, calls: Iterable[ToolCall]) -> list[AgentMessage]:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._one(call)) for call in calls]
        except BaseExceptionGroup as faults:
            raise faults.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _one(self, call: ToolCall) -> AgentMessage:
        iteration = self._state.iteration
        await self._emit(runtime.ToolStarted, iteration=iteration, tool_call=call.part)
        outcome = await self._outcome(call)
        result = AgentToolResultPart(
            tool_call_id=call.part.tool_call_id,
            tool_name=call.part.tool_name,
            output=outcome.output,
            is_error=True if outcome.failed else UNSET,
        )
        message = self._state.message("tool", [result])
        await self._emit(runtime.ToolFinished, iteration=iteration, tool_call=call.part, message=message)
        return message

    async def _outcome(self, call: ToolCall) -> ToolOutcome:
        """Run the tool in a task of its own, which an abort of the run cancels; not at all after one."""
        signal = self._state.signal
        if signal.reason is not None:
            return failure(signal.reason)
        context = AgentToolContext(
            agent_id=self._state.agent_id,
            run_id=self._state.run_id,
            iteration=self._state.iteration,
            tool_call_id=call.part.tool_call_id,
            emit_update=lambda update: self._progress(call.part, update),
        )
        task = asyncio.create_task(execute(call, context))
        # a tool that aborts the run itself, and then returns, keeps its outcome
        forget = signal.add(lambda: task.get_loop().call_soon(task.cancel))
        try:
            return await task
        except asyncio.CancelledError:
            aborted = self._state.signal.reason
            if aborted is None or not task.cancelled() or _is_cancelled():
                raise
            return failure(aborted)
        finally:
            forget()


def _is_cancelled() -> bool:
    """Whether the task that runs this is to end, as against one that it waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
