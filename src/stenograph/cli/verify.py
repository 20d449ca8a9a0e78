"""`steno verify`: whether files of the Agent Session Format keep its rules."""

from __future__ import annotations

import click

from stenograph import jsonio
from stenograph.cli.main import complain
from stenograph.cli.terminal import clean, counted
from stenograph.errors import ReadError
from stenograph.interchange.asf_verify import verify_file

_EXAMPLES = """\b
Examples:
  steno verify session.asf.jsonl
  steno convert run.jsonl -o sessions --to asf && steno verify sessions/*/*.jsonl

\b
Exit codes:
  0  every file is valid; warnings do not count
  1  a file breaks a rule, or cannot be read
  2  wrong usage
"""


@click.command(epilog=_EXAMPLES)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per violation.")
def verify(*, files: tuple[str, ...], as_json: bool) -> int:
    """Check files of the Agent Session Format against every rule of the format.

    Hashes are computed again from each line. Subsessions and media beside a file are looked at.
    """
    failed = False
    for path in files:
        try:
            found = verify_file(path)
        except ReadError as fault:
            complain(str(fault))
            failed = True
            continue
        errors = sum(each.level == "error" for each in found)
        failed = failed or errors > 0
        for each in found:
            if as_json:
                click.echo(jsonio.dumps({"file": path, **each._asdict()}))
            else:
                click.echo(clean(f"{path}:{each.line}: {each.level}: {each.rule}: {each.message}"))
        if not as_json:
            click.echo(clean(f"{path}: {counted(errors, 'error') if errors else 'valid'}"))
    return 1 if failed else 0
