"""`Agent`: the loop of requests and tool calls that emits layer 1, as the Agent of the Cline SDK does.

The order of its events is that of `@cline/agents` 0.0.86, recorded with scripted models. Left out are
compaction, approvals, plugins, steering, and the hooks other than `on_event`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple, NoReturn

from msgspec import UNSET

from stenograph import bus
from stenograph.agents.cline import javascript, runtime
from stenograph.agents.cline.ask import Questions, Recorded
from stenograph.agents.cline.models import AgentModel
from stenograph.agents.cline.runtime import (
    AgentMessage,
    AgentRunResult,
    AgentRuntimeEvent,
    AgentRuntimeStateSnapshot,
    AgentTextPart,
    AgentToolCallPart,
    AgentToolResultPart,
)
from stenograph.agents.cline.state import AgentState, ContextWindowOverflowError, Failed, Limits, said
from stenograph.agents.cline.tools import AgentTool, ToolRunner
from stenograph.errors import Place, UsageError
from stenograph.notes import Kind, Report

_GRACE_S = 5.0
_NUDGE = (
    "Your last answer ended at the limit of output tokens before it was complete. Go on in smaller steps: "
    "say less, and write long files or command outputs in several tool calls."
)


class AgentRuntimeHooks(NamedTuple):
    """Functions that the agent awaits; `on_event` is called for each event, behind the listeners."""

    on_event: Callable[[AgentRuntimeEvent], Awaitable[object] | None] | None = None


class Agent:
    """A conversation with one model and some tools; `run` works on it until the model is done.

    `now_ms` and `new_id(prefix)` are its clock and its source of names. What a listener or hook raises fails
    the run, but for `tool-updated`, which nothing waits for: that goes to `report` as `listener-raised`.
    """

    def __init__(
        self,
        *,
        model: AgentModel,
        tools: Iterable[AgentTool] = (),
        hooks: AgentRuntimeHooks | None = None,
        system_prompt: str = "",
        messages: Iterable[AgentMessage] = (),
        agent_id: str | None = None,
        limits: Limits | None = None,
        now_ms: Callable[[], float] | None = None,
        new_id: Callable[[str], str] | None = None,
        report: Report | None = None,
    ) -> None:
        self._state = AgentState(agent_id=agent_id, messages=messages, now_ms=now_ms, new_id=new_id)
        self._limits = limits or Limits()
        self._report = report if report is not None else Report()
        self._tools = {tool.name: tool for tool in tools}
        self._system_prompt = system_prompt
        self._questions = Questions(model, state=self._state, limits=self._limits, emit=self._emit)
        self._runner = ToolRunner(
            self._tools, state=self._state, emit=self._emit, progress=self._tell_progress
        )
        self._bus: bus.Bus[AgentRuntimeEvent] = bus.Bus(rule=bus.AGENT)
        self._hooked = hooks is not None and hooks.on_event is not None
        if hooks and hooks.on_event:
            self._bus.on_event(hooks.on_event)
        self._unwaited: set[asyncio.Task[None]] = set()
        self._nudged = 0

    @property
    def agent_id(self) -> str:
        """The agent's name."""
        return self._state.agent_id

    @property
    def running(self) -> bool:
        """Whether a run is going on."""
        return self._state.status == "running"

    def subscribe(self, listener: Callable[[AgentRuntimeEvent], object]) -> bus.Unsubscribe:
        """Call `listener` for each event; the returned function ends that."""
        return self._bus.subscribe(listener)

    def snapshot(self) -> AgentRuntimeStateSnapshot:
        """The whole state now."""
        return self._state.snapshot()

    def abort(self, reason: str = "Run aborted") -> None:
        """End the run that is going on: the model is let go of, tools are cancelled."""
        if self.running and self._state.signal.reason is None:
            self._state.last_error = reason
            self._state.signal.abort(reason)

    def restore(self, messages: Iterable[AgentMessage]) -> None:
        """Begin again from other messages; listeners stay. Raises UsageError during a run."""
        self._refuse_while_running()
        self._state.messages = list(messages)
        self._state.status = "idle"
        self._state.begin(run_id="")

    async def run(self, prompt: str | AgentMessage | Iterable[AgentMessage] = "") -> AgentRunResult:
        """Give the agent a prompt, or nothing to let it go on, and work to the end.

        A fault of the model gives a result with status `failed` and an `error`. Raises UsageError when a
        run is going on, and what a listener raises for the last event itself.
        """
        self._refuse_while_running()
        self._state.begin(run_id=self._state.new_id("run"))
        self._state.status = "running"
        self._nudged = 0
        try:
            return await self._work(prompt)
        except asyncio.CancelledError:
            self._bus.emit(self._event(runtime.RunFinished, result=self._broken_off("aborted")))
            raise
        except Exception as fault:
            return await self._end_badly(fault)
        finally:
            await self._settle()

    def _refuse_while_running(self) -> None:
        if self.running:
            raise UsageError("the agent is running already")

    async def _work(self, prompt: str | AgentMessage | Iterable[AgentMessage]) -> AgentRunResult:
        state, limit = self._state, self._limits.iterations
        definitions = [tool.definition() for tool in self._tools.values()]
        await self._emit(runtime.RunStarted)
        for message in self._prompted(prompt):
            await self._add(message)
        while limit is None or state.iteration < limit:
            state.signal.check()
            state.iteration += 1
            await self._emit(runtime.TurnStarted, iteration=state.iteration)
            result = await self._take(await self._questions.ask(self._system_prompt, definitions))
            if result is not None:
                return result
        raise Failed(f"The run took more than {limit} iterations")

    def _prompted(self, prompt: str | AgentMessage | Iterable[AgentMessage]) -> list[AgentMessage]:
        if isinstance(prompt, str):
            return [self._state.message("user", [AgentTextPart(text=prompt)])] if prompt else []
        return [prompt] if isinstance(prompt, AgentMessage) else list(prompt)

    async def _take(self, answer: Recorded) -> AgentRunResult | None:
        """Record an answer and do what it asks for; the run's result when there is nothing more to do."""
        reason = answer.given.finish_reason
        if reason == "aborted":
            raise Failed("Run aborted")
        overflow = self._state.last_error_class == "context_window_exceeded"
        if reason == "error" and overflow and not answer.given.calls:
            raise ContextWindowOverflowError(self._state.last_error)
        if answer.given.empty and reason != "max-tokens":
            self._refuse(reason)
        await self._add(answer.message)
        await self._emit(
            runtime.AssistantMessage,
            iteration=self._state.iteration,
            message=answer.message,
            finish_reason=reason,
        )
        if answer.given.calls:
            return await self._take_calls(answer)
        return await self._take_words(answer)

    def _refuse(self, reason: runtime.ModelFinishReason) -> NoReturn:
        """Fail the run for an answer that is none."""
        if reason != "error":
            raise Failed("Model returned empty response")
        message = self._state.last_error or "Model stream failed"
        raise Failed(message, error_class=self._state.last_error_class)

    async def _take_calls(self, answer: Recorded) -> AgentRunResult | None:
        calls = answer.given.calls
        self._nudged = 0
        self._state.pending = [call.tool_call_id for call in calls]
        results = await self._runner.run(calls)
        self._state.pending = []
        for message in results:
            await self._add(message)
        await self._end_turn(tool_calls=len(calls))
        final = self._completing(calls, results)
        return None if final is None else await self._finish(_output_text(final) or said(answer.message))

    def _completing(
        self, calls: list[AgentToolCallPart], results: list[AgentMessage]
    ) -> AgentToolResultPart | None:
        """The first result that ends the run."""
        for call, message in zip(calls, results, strict=True):
            tool = self._tools.get(call.tool_name)
            match message.content:
                case [AgentToolResultPart(is_error=failed) as result] if tool and tool.completes_run:
                    if failed is not True:
                        return result
        return None

    async def _take_words(self, answer: Recorded) -> AgentRunResult | None:
        reason = answer.given.finish_reason
        if reason == "error":
            self._refuse(reason)
        if reason == "max-tokens":
            await self._nudge()
        await self._end_turn(tool_calls=0)
        return None if reason == "max-tokens" else await self._finish(said(answer.message))

    async def _nudge(self) -> None:
        """Ask a model that was cut off for less at a time."""
        if self._nudged >= self._limits.nudges:
            raise Failed("The model came to the limit of output tokens again and again")
        self._nudged += 1
        await self._questions.notice(
            "max_tokens_recovery",
            "the answer was cut off at the limit of output tokens; asking for smaller steps",
            attempt=self._nudged,
            maxRetries=self._limits.nudges,
        )
        nudge = [AgentTextPart(text=_NUDGE)]
        await self._add(self._state.message("user", [*nudge], metadata={"userRunSpan": 0}))

    async def _end_turn(self, *, tool_calls: int) -> None:
        await self._emit(runtime.TurnFinished, iteration=self._state.iteration, tool_call_count=tool_calls)

    async def _finish(self, text: str) -> AgentRunResult:
        self._state.status = "completed"
        result = self._state.result("completed", text)
        await self._emit(runtime.RunFinished, result=result)
        return result

    async def _end_badly(self, fault: Exception) -> AgentRunResult:
        self._state.last_error = str(fault)
        self._state.last_error_class = getattr(fault, "error_class", UNSET)
        if self._state.signal.reason is not None:
            result = self._broken_off("aborted")
            await self._emit(runtime.RunFinished, result=result)
            return result
        result = self._broken_off("failed", fault=fault)
        error_class = self._state.last_error_class
        await self._emit(runtime.RunFailed, error=result.error, error_class=error_class)
        return result

    def _broken_off(self, status: runtime.RunStatus, *, fault: Exception | None = None) -> AgentRunResult:
        self._state.status = status
        return self._state.result(status, self._state.last_said(), fault=fault)

    async def _add(self, message: AgentMessage) -> None:
        self._state.messages.append(message)
        await self._emit(runtime.MessageAdded, message=message)

    async def _emit(self, event: type[runtime.RuntimeEvent], /, **members: Any) -> None:
        await self._bus.publish(self._event(event, **members))

    def _event(self, event: type[runtime.RuntimeEvent], /, **members: Any) -> Any:
        return event(snapshot=self._state.snapshot(), **members)

    def _tell_progress(self, call: AgentToolCallPart, update: Any) -> None:
        """Emit a `tool-updated` without waiting for its hooks."""
        event = self._event(
            runtime.ToolUpdated, iteration=self._state.iteration, tool_call=call, update=update
        )
        try:
            self._bus.emit(event)
        except Exception as fault:
            self._note(fault)
        if not self._hooked:
            return
        task = asyncio.create_task(self._run_hooks(event))
        self._unwaited.add(task)
        task.add_done_callback(self._unwaited.discard)

    async def _run_hooks(self, event: AgentRuntimeEvent) -> None:
        try:
            await self._bus.run_hooks(event)
        except Exception as fault:
            self._note(fault)

    def _note(self, fault: Exception) -> None:
        place = Place(source="bus", line=self._bus.sequence)
        self._report.add(Kind.DROPPED, "listener-raised", place, f"{type(fault).__name__}: {fault}")

    async def _settle(self) -> None:
        """Leave no task behind: hooks may finish after a run that did, for a while."""
        if self._unwaited and self._state.status == "completed":
            await asyncio.wait(self._unwaited, timeout=_GRACE_S)
        for task in self._unwaited:
            task.cancel()
        if self._unwaited:
            await asyncio.wait(self._unwaited, timeout=_GRACE_S)


def _output_text(result: AgentToolResultPart) -> str:
    output = result.output
    return output if isinstance(output, str) else javascript.stringify(output)
