"""Stored SDK sessions as a store; what is in one is loaded only when it is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from stenograph.agents.cline.folders import list_dir
from stenograph.agents.cline.sessionfolders import MESSAGES, iter_stored, main_file
from stenograph.model import Entry, Session, Summary
from stenograph.notes import Report
from stenograph.store import Skipped, Store

if TYPE_CHECKING:
    from stenograph.projection import Projection


class SessionStore(Store):
    """Session folders of the Cline SDK: CLI 3.x, the extension from 4.0."""

    format = "cline-session"
    agent = "cline"
    place = "~/.cline/data/sessions/ID"

    def find(self, root: str, *, skipped: Skipped | None = None) -> Iterator[str]:
        """The main file of each session in a data folder, its `sessions`, or one session folder."""
        return iter_stored(root, skipped=skipped)

    def holds(self, path: str) -> bool:
        """Whether a path is a session folder, or a manifest or message file in one."""
        if path.endswith(MESSAGES):
            return os.path.isfile(path)
        if path.endswith(".json"):
            return os.path.isfile(path.removesuffix(".json") + MESSAGES)
        return main_file(path) is not None

    def files(self, path: str) -> Sequence[str]:
        """The manifest and every message file."""
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        return [os.path.join(folder, name) for name in list_dir(folder).files if name.endswith(".json")]

    def summary(self, path: str) -> Summary:
        """From the manifest and the metrics of the messages."""
        from stenograph.agents.cline import sdksession
        from stenograph.agents.cline.sessions import read_session

        return sdksession.summed_up(read_session(path, rows=False))

    def load(self, path: str) -> Session:
        """The session as one timeline, sub-agents inside."""
        from stenograph.agents.cline import sdksession

        return sdksession.load(path)

    def live(self, path: str) -> Iterator[Entry]:
        """The entries of the run, told as its stream told them."""
        from stenograph.agents.cline import sdksession

        return sdksession.live(path)

    def check(self, path: str) -> tuple[int, Report]:
        """Faults of files and messages; members, blocks and tools that are new."""
        from stenograph.agents.cline import sdksession

        return sdksession.check(path)

    def projection(self) -> type[Projection]:
        """Cline's."""
        from stenograph.agents.cline.projection import ClineProjection

        return ClineProjection
