"""A session named on the command line: a path, or the beginning of an id."""

from __future__ import annotations

import os

from stenograph.corpus import Found, find
from stenograph.errors import NotRecognized, ReadError
from stenograph.stores import store_of

_SHOWN = 5


def told(found: Found, fault: object) -> str:
    """What went wrong with a session, its path in front unless the fault names it."""
    message = str(fault)
    return message if found.place in message else f"{found.path}: {message}"


def resolve(name: str, *, roots: tuple[str, ...] = ()) -> str:
    """The path of the session that is meant; raises ReadError for none, NotRecognized for several."""
    if os.path.lexists(name) and (store_of(name) or os.sep in name or os.path.isfile(name)):
        return name
    if os.sep in name:
        try:
            os.stat(name)
        except OSError as fault:
            raise ReadError.of(name, fault) from None
    found = sorted(
        {each.place for each in find(roots or None) if os.path.basename(each.place).startswith(name)}
    )
    exact = [path for path in found if os.path.basename(path) == name]
    if len(found) == 1 or len(exact) == 1:
        return (exact or found)[0]
    if not found:
        raise ReadError(f"no session {name!r}: steno ls lists them")
    names = ", ".join(os.path.basename(path) for path in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    raise NotRecognized(f"{name!r} begins the ids of {len(found)} sessions: {names}{more}")
