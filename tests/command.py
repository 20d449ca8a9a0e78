"""Runs `steno` as a user does: as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

STENO = str(Path(sys.executable).with_name("steno"))
DATA = Path(__file__).with_name("data")
PLAIN = DATA / "claude" / "plain_text" / "plain_text.stdout.jsonl"
TOOLS = DATA / "claude" / "edit_ok" / "edit_ok.stdout.jsonl"
CLINE = DATA / "cline" / "command_ok" / "command_ok.stdout.jsonl"


class Done(NamedTuple):
    code: int
    out: bytes
    err: str


def steno(*arguments: object, given: bytes = b"", **environment: str) -> Done:
    """Run a command line to its end, with `given` on standard input."""
    done = subprocess.run(
        [STENO, *map(str, arguments)],
        check=False,
        input=given,
        capture_output=True,
        timeout=60,
        env={**os.environ, **environment},
    )
    return Done(done.returncode, done.stdout, done.stderr.decode())


@contextmanager
def started(*arguments: object, ahead: Sequence[str] = ()) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command line, behind `ahead`, whose three streams are pipes; the block's end kills it."""
    pipe = subprocess.PIPE
    command = [*ahead, STENO, *map(str, arguments)]
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()
