"""The documentation is true: generated parts are fresh, and every snippet gives what its page shows."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import docs

LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")

pages = pytest.mark.parametrize("page", docs.PAGES, ids=[page.name for page in docs.PAGES])


@pages
def test_a_page_is_what_its_snippets_give(page):
    text = page.read_text(encoding="utf-8")
    assert docs.renewed(text).splitlines() == text.splitlines(), f"{page.name} is stale: run scripts/docs.py"


@pages
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_each_command_is_on_the_commands_page():
    assert not docs.missing()


@pytest.mark.parametrize(
    ("stale", "fresh"),
    [
        ("```console\n$ echo one; echo two\nold\n```\n", "```console\n$ echo one; echo two\none\ntwo\n```\n"),
        ("```console\n$ printf 'a\\nb\\nc\\n'\na\n...\n```\n", None),
        ("```console\n$ printf 'a\\nb\\n'\nb\n...\n```\n", "```console\n$ printf 'a\\nb\\n'\na\nb\n```\n"),
        ("```console\n$ echo one \\\n  two\n```\n", "```console\n$ echo one \\\n  two\none two\n```\n"),
        ("```console\n$ touch f\n$ ls f\nf\n```\n", None),
        (
            "```python\nx = 1\n```\n\n```python\nprint(x)\n```\n",
            "```python\nx = 1\n```\n\n```python\nprint(x)\n```\n```text\n1\n```\n",
        ),
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "```python\nprint(1)\n```\n\n```text\n1\n```\n"),
        ("```sh\nnot run\n```\n", None),
        ("<!-- help nothing -->\n<!-- fin -->\n", None),
        ("<!-- formats -->\nold\n<!-- end -->\n", f"<!-- formats -->\n{docs.format_table()}<!-- end -->\n"),
    ],
)
def test_what_is_stale_is_written_anew(stale, fresh):
    assert docs.renewed(stale) == (stale if fresh is None else fresh)
