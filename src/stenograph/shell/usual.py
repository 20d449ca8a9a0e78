"""The commands that agents give most, each read with one pattern.

The general way says the same of them, which a test holds, by many more steps.
"""

from __future__ import annotations

import re

from stenograph.shell.programs import Act, Found
from stenograph.shell.words import WORD

_PATH = rf"(?!-)[{WORD}./:@%+,=-]+"
_TEXT = rf"(?!-)(?:[{WORD}./:@%+,=-]+|'(?!-)[^'\n]+'|\"(?!-)[^\"\\$`\n]+\")"
_NUMBER = r"[1-9]\d{0,8}"
_USUAL = re.compile(
    rf"""cat[ ](?P<cat>{_PATH})(?:[ ]\|[ ]head[ ]-(?:n[ ]?)?(?P<lines>{_NUMBER}))?
      | sed[ ]-n[ ](?P<quote>['"]?)(?P<first>{_NUMBER}),(?P<last>{_NUMBER})p(?P=quote)[ ](?P<sed>{_PATH})
      | ls(?:[ ]-[alhtrR1A]+)*(?:[ ](?P<ls>{_PATH}))?
      | (?P<search>rg(?:[ ]-[niwlF]+)*|grep(?:[ ]-[niwlFrE]+)*)
        [ ](?P<query>{_TEXT})(?:[ ](?P<scope>{_PATH}))?
      | find[ ](?P<folder>(?!,){_PATH})(?:[ ]-type[ ][dfl])?[ ]-name[ ](?P<name>{_TEXT})
        (?:[ ]-type[ ][dfl]|[ ]-not[ ]-path[ ]{_TEXT})*""",
    re.VERBOSE | re.ASCII,
)


def usual(command: str) -> tuple[str, Act] | None:
    """The last program of a usual command and what it does; None for any other command."""
    told = _USUAL.fullmatch(command)
    if told is None:
        return None
    if path := told["cat"]:
        end = told["lines"]
        return "head" if end else "cat", _read(path, 1 if end else None, int(end) if end else None)
    if path := told["sed"]:
        return "sed", _read(path, int(told["first"]), int(told["last"]))
    if query := told["query"]:
        return told["search"].partition(" ")[0], _search(query, told["scope"])
    if name := told["name"]:
        return "find", _search(name, told["folder"])
    return "ls", Act(found=[Found(kind="list", path=told["ls"])])


def _read(path: str, start: int | None, end: int | None) -> Act:
    if start and end and end < start:
        end = None
    return Act(found=[Found(kind="read", path=path, start=start, end=end)])


def _search(query: str, scope: str | None) -> Act:
    if query[0] in "'\"":
        query = query[1:-1]
    elsewhere = scope is not None and (scope[0] == "/" or ".." in scope.split("/"))
    return Act(found=[Found(kind="search", query=query, path=scope, baseless=elsewhere)])
