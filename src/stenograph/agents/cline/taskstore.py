"""Task directories as a store; what is in one is loaded only when it is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stenograph.agents.cline.folders import (
    FILE_CONTEXT_HISTORY,
    FILE_HISTORY_ITEM,
    FILE_METADATA,
    FILE_SETTINGS,
    MAIN_FILES,
    iter_sessions,
    list_dir,
    task_dir,
)
from stenograph.model import Entry, Request, Sent, Session, Summary
from stenograph.notes import Report
from stenograph.store import Skipped, Store

if TYPE_CHECKING:
    from stenograph.projection import Projection

_SUMMED_UP = frozenset((*MAIN_FILES, FILE_METADATA, FILE_HISTORY_ITEM))
_BESIDE = frozenset((FILE_CONTEXT_HISTORY, FILE_HISTORY_ITEM, FILE_METADATA, FILE_SETTINGS))


class TaskStore(Store):
    """Task directories of classic Cline: the extension before 4.0, the 2.x command line.

    Those of Roo Code too, but for what its requests held.
    """

    format = "cline-task"
    agent = "cline"
    place = "…/saoudrizwan.claude-dev/tasks/ID"
    infers_cached = True

    def find(self, root: str, *, skipped: Skipped | None = None) -> Iterator[str]:
        """The main file of each task in a storage directory, its `tasks`, or one task directory."""
        return iter_sessions(root, skipped=skipped)

    def holds(self, path: str) -> bool:
        """Whether a path is a task directory, or a file in one that is read."""
        name = os.path.basename(path)
        if name in MAIN_FILES:
            return os.path.isfile(path)
        if name in _BESIDE and os.path.isfile(path):
            path = task_dir(path)
        return any(os.path.isfile(os.path.join(path, name)) for name in MAIN_FILES)

    def files(self, path: str) -> Sequence[str]:
        """The main files, the metadata and Roo's index entry.

        Classic's index is left out: it changes with every task, and with each its UI messages do.
        """
        folder = task_dir(path)
        return [os.path.join(folder, name) for name in list_dir(folder).files if name in _SUMMED_UP]

    def summary(self, path: str) -> Summary:
        """From the UI messages, metadata and index entry; from the API history where they tell no request."""
        from stenograph.agents.cline import summary

        return summary.of_task(task_dir(path))

    def load(self, path: str) -> Session:
        """The task as one timeline."""
        from stenograph.agents.cline import tasksession

        return tasksession.load(path, self.sent)

    def sent(self, task: Any, request: Request) -> list[Sent]:
        """The messages of a request, by classic Cline's rules."""
        from stenograph.agents.cline import requests

        return requests.sent(task, request)

    def live(self, path: str) -> Iterator[Entry]:
        """What the command line of that time printed."""
        from stenograph.agents.cline import tasksession

        return tasksession.live(path)

    def check(self, path: str) -> tuple[int, Report]:
        """Faults of files and elements; kinds, members and tools that are new."""
        from stenograph.agents.cline import tasksession

        return tasksession.check(path)

    def projection(self) -> type[Projection]:
        """Cline's."""
        from stenograph.agents.cline.projection import ClineProjection

        return ClineProjection
