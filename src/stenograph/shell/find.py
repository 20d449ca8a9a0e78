"""The expressions of `find`: its paths, and the patterns that a file must have to be found.

A test that is not listed is not understood; those that run programs, delete or write are missing on purpose.
Source: the manual of GNU findutils 4, and the BSD options in front of the paths.
"""

from __future__ import annotations

from stenograph.shell.options import names
from stenograph.shell.words import LITERAL, Unclear, Word

_FLAGS = names("-H -L -P -E -X -s -x -d")
_NAMES = names("-name -iname")
_WHOLE_NAMES = names("-path -ipath -wholename -iwholename -regex -iregex -lname -ilname")
_VALUED = names(
    "-type -xtype -size -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -newermt "
    "-newerct -perm -user -group -uid -gid -maxdepth -mindepth -links -inum -samefile -fstype "
    "-printf -regextype -used -context"
)
_PLAIN = names(
    "-print -print0 -ls -depth -d -follow -mount -xdev -empty -executable -readable -writable "
    "-true -false -a -and -noleaf -nouser -nogroup -quit -daystart -ignore_readdir_race "
    "-noignore_readdir_race -warn -nowarn"
)


def split_find(words: list[Word]) -> tuple[list[Word], list[Word]]:
    """The paths, and the name patterns: without `-name` or `-iname` those of whole paths.

    Raises Unclear at a test that is not known.
    """
    begin = 0
    while begin < len(words) and words[begin].text in _FLAGS:
        begin += 1
    end = begin
    while end < len(words) and not words[end].text.startswith(("-", "(", ")", "!", ",")):
        end += 1
    of_names, of_paths = _name_patterns(words[end:])
    return words[begin:end], of_names or of_paths


class _Level:
    """One level of parentheses in a find expression."""

    def __init__(self, *, negated: bool) -> None:
        self.negated = negated
        self.kept: list[tuple[str, Word]] = []
        self.term: list[tuple[str, Word]] = []
        self.pruned = False

    def end_term(self) -> None:
        """Close what `-o` or a parenthesis ends: patterns that only prune are dropped."""
        self.kept.extend([] if self.pruned else self.term)
        self.term, self.pruned = [], False


def _name_patterns(words: list[Word]) -> tuple[list[Word], list[Word]]:
    """The patterns of an expression that are neither negated nor pruned: of names, of whole paths."""
    levels = [_Level(negated=False)]
    negated = False
    at = 0
    while at < len(words):
        test = words[at].text
        at += 1
        if test in ("!", "-not"):
            negated = not negated
            continue
        if test == "(":
            levels.append(_Level(negated=negated))
        elif test == ")":
            _close(levels)
        elif test in ("-o", "-or", ","):
            levels[-1].end_term()
        elif test == "-prune":
            levels[-1].pruned = True
        else:
            at += _test(words, at, levels[-1].term if not negated else [])
        negated = False
    if len(levels) != 1:
        raise Unclear
    levels[0].end_term()
    kept = levels[0].kept
    return (
        [word for test, word in kept if test in _NAMES],
        [word for test, word in kept if test in _WHOLE_NAMES],
    )


def _close(levels: list[_Level]) -> None:
    if len(levels) < 2:
        raise Unclear
    level = levels.pop()
    level.end_term()
    if not level.negated:
        levels[-1].term.extend(level.kept)


def _test(words: list[Word], at: int, term: list[tuple[str, Word]]) -> int:
    """Take the test in front of `at`, adding its pattern to the term; how many words belong to it."""
    test = words[at - 1].text
    if test in _PLAIN:
        return 0
    if at >= len(words):
        raise Unclear
    if test in _NAMES or test in _WHOLE_NAMES:
        term.append((test, words[at]))
        return 1
    if test in _VALUED and words[at].kind == LITERAL:
        return 1
    raise Unclear
