"""Many sessions at once: where they are, what they hold in total."""

from __future__ import annotations

from stenograph.corpus.search import Found, find

__all__ = ["Found", "find"]
