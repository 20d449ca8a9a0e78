"""`steno formats`: which formats can be read."""

from __future__ import annotations

import click

import stenograph
from stenograph import jsonio

_EXAMPLES = """\b
Examples:
  steno formats
  steno formats --json
"""


@click.command(epilog=_EXAMPLES)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def formats(*, as_json: bool) -> None:
    """List the formats that can be read, by the names that --from takes.

    Below each stands the command that prints it, or the place it is stored in.
    """
    infos = stenograph.formats()
    if as_json:
        click.echo(b"".join(jsonio.dumps(info._asdict()) + b"\n" for info in infos), nl=False)
        return
    width = max(len(info.name) for info in infos)
    for info in infos:
        click.echo(f"{info.name:<{width}}  {info.about}\n{'':<{width}}    {info.source}")
