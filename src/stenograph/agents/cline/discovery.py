"""Where Cline's hub says that it runs: the discovery file, its record, and the token as a sub-protocol.

Written by the hub of `cline` 3.0.65 (`@cline/core` 0.0.86). The file outlives a hub that was killed, so what
it says is true only when something answers at its url.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from stenograph import jsonio
from stenograph.errors import HubError

VERSION = "v1"
"""The version of the hub's protocol that this client speaks."""

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_NUMBER = re.compile(r"v([0-9]{1,9})")


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    """What a hub writes about itself; its token stands in no text form of this record."""

    hub_id: str
    url: str
    token: str
    pid: int | None = None
    core_version: str | None = None
    started_at: str = ""
    protocol: str = VERSION
    oldest_client: str | None = None
    newest_client: str | None = None

    def __repr__(self) -> str:
        return f"Discovery(hub_id={self.hub_id!r}, url={self.url!r}, pid={self.pid!r})"

    def check(self) -> None:
        """Raise HubError when this hub does not take clients of version v1."""
        spoken, ours = _number(self.protocol), 1
        if spoken is None:
            raise HubError(f"the hub speaks {self.protocol!r}; this client speaks {VERSION}")
        oldest = _number(self.oldest_client) or spoken
        newest = _number(self.newest_client) or spoken
        if not oldest <= ours <= newest:
            raise HubError(f"the hub takes clients from v{oldest} to v{newest}; this one speaks {VERSION}")


def parse_discovery(data: bytes) -> Discovery | None:
    """The record in a discovery file, or None when it is none: a hub without it counts as absent."""
    try:
        found = jsonio.loads(data)
    except ValueError:
        return None
    match found:
        case {
            "hubId": str(hub_id),
            "protocolVersion": str(protocol),
            "authToken": str(token),
            "host": str(),
            "port": int(),
            "url": str(url),
            "startedAt": str(started_at),
            "updatedAt": str(),
        }:
            return Discovery(
                hub_id=hub_id,
                url=url,
                token=token,
                pid=pid if isinstance(pid := found.get("pid"), int) else None,
                core_version=_text(found.get("coreVersion")),
                started_at=started_at,
                protocol=protocol,
                oldest_client=_text(found.get("minClientProtocolVersion")),
                newest_client=_text(found.get("maxClientProtocolVersion")),
            )
    return None


def data_folder(environ: Mapping[str, str], *, home: Path) -> Path:
    """Cline's data folder under these environment variables."""
    if given := environ.get("CLINE_DATA_DIR", "").strip():
        return Path(given)
    if given := environ.get("CLINE_DIR", "").strip():
        return Path(given) / "data"
    return home / ".cline" / "data"


def discovery_path(environ: Mapping[str, str], *, home: Path, owner: str | None = None) -> Path:
    """Where a hub's discovery file stands: the released program's, or that of another `owner` text."""
    if given := environ.get("CLINE_HUB_DISCOVERY_PATH", "").strip():
        return Path(given)
    folder = data_folder(environ, home=home) / "locks" / "hub"
    if owner is None:
        return folder / "production.json"
    return folder / "owners" / f"hub-{hashlib.sha256(owner.encode()).hexdigest()[:12]}.json"


def subprotocol(token: str) -> str:
    """The WebSocket sub-protocol that shows a hub's token; HubError when no header can hold it."""
    if not _TOKEN.fullmatch(token):
        raise HubError("the hub's token has characters that no WebSocket header can hold")
    return "cline-hub-auth." + token


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(version: str | None) -> int | None:
    found = _NUMBER.fullmatch((version or "").strip())
    return int(found[1]) if found else None
