"""How the programs that we understand take their options.

Only options are listed that leave a program what it is: one that runs another program, writes a file or
takes its pattern from a file is missing on purpose, and an option that is not listed is not understood.
Sources: the manuals of GNU coreutils 9, grep 3, sed 4, findutils 4, less, git 2, ripgrep 14, fd 10, bat 0.25.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from stenograph.shell.words import LITERAL, Unclear, Word


class Options(NamedTuple):
    """The options of a program: letters and long names, with and without a value.

    `optional` take a value only behind `=`; values of `patterns` may hold what the shell would expand;
    `digits` allows `-5`, which is given as the option `#`; `negatives` allows any `--no-…`.
    """

    flags: str = ""
    valued: str = ""
    long_flags: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    digits: bool = False
    negatives: bool = False


class Given(msgspec.Struct, frozen=True, gc=False):
    """The options that were given, in order, and the operands."""

    options: list[tuple[str, Word]]
    operands: list[Word]

    def values(self, *wanted: str) -> list[Word]:
        """The values of these options, in order."""
        return [value for name, value in self.options if name in wanted] if self.options else []

    def has(self, *wanted: str) -> bool:
        """Whether one of these options was given."""
        return bool(self.options) and any(name in wanted for name, _ in self.options)


_NONE = Word("")


def names(text: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(text.split())


def take(words: list[Word], known: Options) -> Given:
    """Options and operands of a command line, in any order; raises Unclear at an option not known."""
    given = Given([], [])
    at = 0
    while at < len(words):
        word = words[at]
        text = word.text
        at += 1
        if text[:1] != "-" or text == "-":
            given.operands.append(word)
        elif text == "--":
            given.operands.extend(words[at:])
            break
        elif text[1] == "-":
            at += _take_long(words, at, known, given)
        else:
            at += _take_letters(words, at, known, given)
    return given


def _take_long(words: list[Word], at: int, known: Options, given: Given) -> int:
    """Take the long option in front of `at`; how many words behind it belong to it."""
    word = words[at - 1]
    name, equals, text = word.text[2:].partition("=")
    if equals and (name in known.long_valued or name in known.optional):
        return _add(given, known, name, Word(text, word.kind), 0)
    if equals or word.kind != LITERAL:
        raise Unclear
    if name in known.long_valued:
        return _add(given, known, name, _value(words, at), 1)
    if name in known.long_flags or name in known.optional or (known.negatives and name.startswith("no-")):
        return _add(given, known, name, _NONE, 0)
    raise Unclear


def _take_letters(words: list[Word], at: int, known: Options, given: Given) -> int:
    """Take the cluster of letters in front of `at`; how many words behind it belong to it."""
    word = words[at - 1]
    letters = word.text[1:]
    if known.digits and letters.isascii() and letters.isdigit():
        return _add(given, known, "#", Word(letters), 0)
    for i, letter in enumerate(letters):
        if letter in known.valued:
            rest = letters[i + 1 :]
            if rest:
                return _add(given, known, letter, Word(rest, word.kind), 0)
            return _add(given, known, letter, _value(words, at), 1)
        if letter not in known.flags or word.kind != LITERAL:
            raise Unclear
        given.options.append((letter, _NONE))
    return 0


def _value(words: list[Word], at: int) -> Word:
    if at >= len(words):
        raise Unclear
    return words[at]


def _add(given: Given, known: Options, name: str, value: Word, taken: int) -> int:
    if value.kind != LITERAL and name not in known.patterns:
        raise Unclear
    given.options.append((name, value))
    return taken


CAT = Options(
    flags="AbeEnstTuv",
    long_flags=names("number number-nonblank squeeze-blank show-all show-ends show-tabs show-nonprinting"),
)
HEAD = Options(
    flags="qvz",
    valued="nc",
    long_flags=names("quiet silent verbose zero-terminated"),
    long_valued=names("lines bytes"),
    digits=True,
)
TAIL = Options(
    flags="qvzfF",
    valued="ncs",
    long_flags=names("quiet silent verbose zero-terminated retry"),
    long_valued=names("lines bytes pid sleep-interval max-unchanged-stats"),
    optional=names("follow"),
    digits=True,
)
NL = Options(
    flags="p",
    valued="bdfhilnsvw",
    long_flags=names("no-renumber"),
    long_valued=names(
        "body-numbering section-delimiter footer-numbering header-numbering line-increment join- "
        "blank-lines number-format number-separator starting-line-number number-width"
    ),
)
LESS = Options(
    flags="aAcCeEfFgGiIJKLmMnNqQrRsSuUwWX",
    valued="bhjpPxyz#",
    long_flags=names(
        "LINE-NUMBERS line-numbers RAW-CONTROL-CHARS raw-control-chars chop-long-lines quit-if-one- "
        "screen QUIT-AT-EOF quit-at-eof no-init ignore-case IGNORE-CASE squeeze-blank-lines"
    ),
    long_valued=names("pattern tabs window"),
)
MORE = Options(flags="cdeflpsu", valued="n", digits=True, long_valued=names("lines"))
BAT = Options(
    flags="AdnpPfuS",
    valued="rlHm",
    long_flags=names(
        "plain number show-all diff force-colorization unbuffered chop-long-lines squeeze-blank"
    ),
    long_valued=names(
        "line-range language highlight-line theme theme-dark theme-light style paging color "
        "decorations wrap tabs terminal-width file-name map-syntax italic-text diff-context squeeze- "
        "limit nonprintable-notation"
    ),
    negatives=True,
)
SED = Options(
    flags="nErsu",
    valued="el",
    long_flags=names("quiet silent regexp-extended separate unbuffered posix sandbox"),
    long_valued=names("expression line-length"),
)

WC = Options(
    flags="clLmw", long_flags=names("bytes chars lines max-line-length words"), long_valued=names("total")
)
SORT = Options(
    flags="bcCdfghiMmnrRsuVz",
    valued="kSt",
    long_flags=names(
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting "
        "month-sort human-numeric-sort numeric-sort random-sort reverse version-sort merge stable "
        "unique zero-terminated"
    ),
    long_valued=names("key field-separator buffer-size parallel"),
    optional=names("sort check"),
)
UNIQ = Options(
    flags="cdDiuz",
    valued="fsw",
    long_flags=names("count repeated ignore-case unique zero-terminated"),
    long_valued=names("skip-fields skip-chars check-chars"),
    optional=names("all-repeated group"),
)
CUT = Options(
    flags="nsz",
    valued="bcdf",
    long_flags=names("complement only-delimited zero-terminated"),
    long_valued=names("bytes characters delimiter fields output-delimiter"),
)
TR = Options(flags="cCdst", long_flags=names("complement delete squeeze-repeats truncate-set1"))
COLUMN = Options(
    flags="etxnJLd",
    valued="cosNRTHWEOl",
    long_flags=names("table fillrows table-noheadings json keep-empty-lines"),
    long_valued=names(
        "output-width output-separator separator table-columns table-right table-truncate table-hide "
        "table-wrap table-order table-columns-limit"
    ),
)

RG = Options(
    flags="0abcFHiIlLnNopPqsSuUvwxz.",
    valued="ABCdeEgjmMrtT",
    long_flags=names(
        "text auto-hybrid-regex binary block-buffered byte-offset case-sensitive column count count- "
        "matches crlf debug files files-with-matches files-without-match fixed-strings follow glob- "
        "case-insensitive heading hidden ignore ignore-case ignore-dot ignore-exclude ignore-files "
        "ignore-file-case-insensitive ignore-global ignore-messages ignore-parent ignore-vcs include- "
        "zero invert-match json line-buffered line-number line-regexp max-columns-preview messages "
        "mmap multiline multiline-dotall null null-data one-file-system only-matching passthru "
        "passthrough pcre2 pcre2-unicode pretty quiet require-git search-zip smart-case sort-files "
        "stats stop-on-nonmatch trace trim unicode unrestricted vimgrep with-filename word-regexp"
    ),
    long_valued=names(
        "after-context before-context context color colors context-separator dfa-size-limit encoding "
        "engine field-context-separator field-match-separator glob hyperlink-format iglob ignore-file "
        "max-columns max-count max-depth maxdepth max-filesize path-separator regexp regex-size-limit "
        "replace sort sortr threads type type-add type-clear type-not"
    ),
    patterns=names("e g regexp glob iglob"),
    negatives=True,
)
GREP = Options(
    flags="EFGPiyvwxclLqsbHhnoTZzaIrRU0123456789",
    valued="emABCdD",
    long_flags=names(
        "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case invert-match word-regexp "
        "line-regexp count files-with-matches files-without-match quiet silent byte-offset with- "
        "filename line-number line-buffered only-matching initial-tab null null-data text recursive "
        "dereference-recursive binary"
    ),
    long_valued=names(
        "regexp max-count after-context before-context context label directories devices exclude "
        "exclude-dir exclude-from include binary-files group-separator"
    ),
    optional=names("color colour"),
    patterns=names("e regexp include exclude exclude-dir"),
    negatives=True,
)
GIT_GREP = Options(
    flags="EFGPiIvwWclLqhHnoprza0123456789",
    valued="emABC",
    long_flags=names(
        "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case invert-match word-regexp "
        "count files-with-matches files-without-match name-only quiet line-number column full-name "
        "only-matching null text textconv recursive break heading show-function function-context all- "
        "match cached untracked exclude-standard recurse-submodules and or"
    ),
    long_valued=names("max-count after-context before-context context max-depth threads"),
    optional=names("color"),
    patterns=names("e"),
    negatives=True,
)
GIT_LS_FILES = Options(
    flags="cdmoisuktvzf",
    valued="x",
    long_flags=names(
        "cached deleted modified others ignored stage unmerged killed directory eol exclude-standard "
        "full-name error-unmatch recurse-submodules deduplicate resolve-undo sparse debug"
    ),
    long_valued=names("exclude format with-tree"),
    optional=names("abbrev"),
    patterns=names("x exclude"),
    negatives=True,
)
FD = Options(
    flags="HIusigFalLp01q",
    valued="EteSdcjo",
    long_flags=names(
        "hidden ignore unrestricted case-sensitive ignore-case glob regex fixed-strings absolute-path "
        "list-details follow full-path print0 prune quiet show-errors one-file-system relative-path"
    ),
    long_valued=names(
        "and exclude type extension size max-depth min-depth exact-depth color threads owner changed- "
        "within changed-before newer older change-newer-than change-older-than max-results path- "
        "separator ignore-file format"
    ),
    optional=names("strip-cwd-prefix hyperlink"),
    patterns=names("and E exclude"),
    negatives=True,
)
LS = Options(
    flags="aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1@eOP",
    valued="Iw",
    long_flags=names(
        "all almost-all author escape ignore-backups directory dired classify file-type group- "
        "directories-first no-group human-readable si dereference dereference-command-line inode "
        "kibibytes numeric-uid-gid literal hide-control-chars show-control-chars quote-name reverse "
        "recursive size context full-time zero"
    ),
    long_valued=names(
        "ignore hide width tabsize block-size sort time time-style format indicator-style quoting- style"
    ),
    optional=names("color classify hyperlink"),
    patterns=names("I ignore hide"),
)
TREE = Options(
    flags="adfishDFrtcUvCnpuglxJXASNqQ",
    valued="LPI",
    long_flags=names(
        "noreport dirsfirst filesfirst prune du inodes device gitignore matchdirs ignore-case "
        "metafirst si nolinks info"
    ),
    long_valued=names("filelimit charset timefmt level"),
    optional=names("sort"),
    patterns=names("P I"),
)
