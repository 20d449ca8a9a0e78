"""`steno hub`: what a running Cline hub sends, printed as it happens, and how the hub is."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

import click
import msgspec

from stenograph import jsonio
from stenograph.agents.cline import wire
from stenograph.agents.cline.client import HubClient
from stenograph.agents.cline.hub import HubEvent, runtime_event
from stenograph.agents.cline.receive import HubEventTranslator
from stenograph.agents.cline.session import CoreAgentEvent
from stenograph.cli import terminal
from stenograph.cli.seconds import Seconds
from stenograph.event import encode
from stenograph.notes import Kind, Report
from stenograph.parser import EventParser

_F = TypeVar("_F", bound=Callable[..., Any])

_KINDS = [kind.word for kind in Kind]

_EXAMPLES = """\b
Examples:
  steno hub status
  steno hub watch
  steno hub watch --since 0 --layer hub > everything-kept.jsonl
  steno hub watch --session 1796040521569_zl4py | jq .message
  steno hub watch --layer agent --for 60 --fail-on dropped
  steno hub watch --url ws://127.0.0.1:25463/hub --token "$TOKEN"
"""

_CODES = """\b
Exit codes:
  0    done
  1    no hub, or it refused, or it was lost for longer than --wait
  2    wrong usage
  3    done, with notes at or above --fail-on
  130  interrupted
"""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Which hub, and how long to wait for it."""

    url: str | None
    token: str | None
    discovery: Path | None
    timeout: float


def _target(command: _F) -> _F:
    """The options that name a hub."""
    seconds = Seconds(from_zero=False)
    for option in (
        click.option(
            "--timeout", type=seconds, default=10.0, show_default=True, help="Seconds for the hub to answer."
        ),
        click.option(
            "--discovery",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="The hub's discovery file; else it is looked for where Cline puts it.",
        ),
        click.option("--token", envvar="STENO_HUB_TOKEN", show_envvar=True, help="The token for --url."),
        click.option("--url", help="The hub's address, instead of a discovery file."),
    ):
        command = option(command)
    return command


@click.group(epilog=_EXAMPLES)
def hub() -> None:
    """Watch a running Cline hub. Needs the extra: pip install 'stenograph[hub]'.

    Read-only: no command that acts is sent, and no run waits for an answer of ours.
    """


@hub.command(epilog=_EXAMPLES + "\n" + _CODES)
@click.option("--session", metavar="ID", help="Only this session.")
@click.option(
    "--since",
    type=click.IntRange(min=0),
    metavar="N",
    help="First what the hub has kept behind its event N (0: all); else from now on.",
)
@click.option(
    "--layer",
    type=click.Choice(["events", "agent", "core", "hub", "runtime"]),
    default="events",
    show_default=True,
    help="Normalized events, the SDK's layer 2 or 3, the hub's own envelopes, or layer 1 as far as shown.",
)
@click.option(
    "--profile",
    type=click.Choice(["standard", "extended"]),
    default="standard",
    show_default=True,
    help="For events: the core vocabulary only, or all that today's versions tell.",
)
@click.option("--detail", is_flag=True, help="For events: add origin, call id, tool, subagent, duration.")
@click.option(
    "--wait",
    type=Seconds(),
    default=30.0,
    show_default=True,
    help="Seconds to look for a hub that was lost.",
)
@click.option("--for", "seconds", type=Seconds(from_zero=False), help="End after so many seconds.")
@click.option("--report", type=click.Choice(["text", "json"]), help="Tell on standard error what was amiss.")
@click.option(
    "--fail-on",
    type=click.Choice(_KINDS),
    metavar="KIND",
    help=f"Exit with 3 when a note is of this kind or a graver one: {', '.join(_KINDS)}.",
)
@_target
def watch(
    *,
    session: str | None,
    since: int | None,
    layer: Literal["events", "agent", "core", "hub", "runtime"],
    profile: Literal["standard", "extended"],
    detail: bool,
    wait: float,
    seconds: float | None,
    report: str | None,
    fail_on: str | None,
    **target: Any,
) -> int:
    """Print a hub's events as they happen, one JSON object per line, until interrupted.

    A hub that is lost is looked for again, and goes on where it stopped.
    """
    notes = Report()
    show = _Events(profile=profile, detail=detail, report=notes) if layer == "events" else _LAYERS[layer]()
    client = _named(target, wait=wait, report=notes)
    code = 0
    try:
        asyncio.run(_watch(client, show, session=session, since=since, seconds=seconds))
    except KeyboardInterrupt:
        code = 130
    finally:
        if isinstance(show, _Events):
            _print(show.close())
        _tell(notes, report)
    worst = notes.worst
    return code or (3 if fail_on and worst is not None and worst >= Kind[fail_on.upper()] else 0)


@hub.command(epilog=_EXAMPLES + "\n" + _CODES)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines for people.")
@_target
def status(*, as_json: bool, **target: Any) -> None:
    """Tell whether a hub runs here, and what it is at."""
    found = asyncio.run(_status(_named(target, wait=0.0, report=Report())))
    if as_json:
        click.echo(jsonio.dumps(found).decode())
        return
    for name, value in found.items():
        told = ", ".join(f"{n} {what}" for what, n in value.items()) if isinstance(value, dict) else value
        click.echo(f"{name:15} {terminal.clean(str('-' if told in (None, '') else told))}")


def _named(target: dict[str, Any], *, wait: float, report: Report) -> HubClient:
    which = msgspec.convert(target, Target)
    return HubClient(
        url=which.url,
        token=which.token,
        discovery=which.discovery,
        timeout_s=which.timeout,
        reconnect_s=wait,
        report=report,
    )


async def _watch(
    client: HubClient,
    show: Callable[[HubEvent], Iterable[bytes]],
    *,
    session: str | None,
    since: int | None,
    seconds: float | None,
) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds), client:
            async for event in client.events(session_id=session, since=since):
                _print(show(event))


async def _status(client: HubClient) -> dict[str, Any]:
    """What a hub says of itself; a member that it does not tell is None."""
    async with client:
        told = await client.command("hub.status")
        listed = await client.command("session.list")
        found = client.hub
    told = told if isinstance(told, dict) else {}
    sessions = listed.get("sessions") if isinstance(listed, dict) else None
    states = Counter(str(each.get("status")) for each in sessions or () if isinstance(each, dict))
    log = told.get("eventLog")
    return {
        "url": found.url if found else None,
        "hubId": told.get("hubId"),
        "pid": found.pid if found else None,
        "coreVersion": found.core_version if found else None,
        "startedAt": found.started_at if found else None,
        "draining": told.get("draining"),
        "activeRpcTurns": told.get("activeRpcTurns"),
        "pendingRuns": told.get("pendingRuns"),
        "lastSequence": log.get("lastSequence") if isinstance(log, dict) else None,
        "sessions": dict(states),
    }


def _print(lines: Iterable[bytes]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    if data:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _tell(report: Report, form: str | None) -> None:
    if form == "json":
        click.echo(jsonio.dumps(report.to_json()), err=True)
    elif form == "text":
        click.echo(report.to_text(), nl=False, err=True)


class _Events:
    """Envelopes to normalized events, with the hub's own times: what is replayed happened earlier."""

    def __init__(self, *, profile: Literal["standard", "extended"], detail: bool, report: Report) -> None:
        self._parser = EventParser("cline-hub", now="record", profile=profile, detail=detail)
        self._report = report

    def __call__(self, event: HubEvent) -> Iterator[bytes]:
        return map(encode, self._parser.feed(jsonio.compact(event.raw) + b"\n"))

    def close(self) -> Iterator[bytes]:
        """The calls that never got their answer."""
        events = self._parser.close()
        self._report.merge(self._parser.report)
        return map(encode, events)


class _Core:
    """Envelopes to layer 3, as Cline's own hub client gives it."""

    def __init__(self) -> None:
        self._translator = HubEventTranslator(now_ms=lambda: time.time() * 1000)

    def __call__(self, event: HubEvent) -> Iterator[bytes]:
        return map(wire.encode, self._translator.translate(event.envelope))


class _Agent(_Core):
    """Envelopes to layer 2: what layer 3 wraps."""

    def __call__(self, event: HubEvent) -> Iterator[bytes]:
        for found in self._translator.translate(event.envelope):
            if isinstance(found, CoreAgentEvent) and isinstance(found.payload.event, wire.Wire):
                yield wire.encode(found.payload.event)


class _Hub:
    """Envelopes as they came."""

    def __call__(self, event: HubEvent) -> Iterator[bytes]:
        yield jsonio.compact(event.raw)


class _Runtime:
    """Envelopes to layer 1, where a client with hooks owns the run."""

    def __call__(self, event: HubEvent) -> Iterator[bytes]:
        found = runtime_event(event.envelope)
        if found is not None:
            yield jsonio.dumps(found)


_LAYERS: dict[str, type[_Core | _Hub | _Runtime]] = {
    "agent": _Agent,
    "core": _Core,
    "hub": _Hub,
    "runtime": _Runtime,
}
