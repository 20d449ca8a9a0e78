"""The pages about formats are fresh, and none is missing."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from stenograph import formats
from stenograph.registry import INTERCHANGE

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import formats as pages

PATHS = sorted(pages.FOLDER.glob("*.md"))
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_a_page_is_fresh(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert pages.renewed(path) == text, f"{path.name} is stale: run scripts/formats.py"
    assert all((path.parent / target).exists() for target in LINK.findall(text))


def test_each_format_has_its_page() -> None:
    own = {path.stem for path in PATHS if path.stem != "README"}
    assert own | set(INTERCHANGE) == {each.name for each in formats()}
    assert all((pages.FOLDER.parent / f"{name}.md").exists() for name in INTERCHANGE)


@pytest.mark.parametrize(
    "path", [path for path in PATHS if path.stem != "README"], ids=lambda path: path.stem
)
def test_each_page_has_all_its_parts(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert all(f"<!-- {part} -->\n" in text for part in ("about", "records", "tools"))


def test_a_stale_part_is_written_anew(tmp_path: Path) -> None:
    page = tmp_path / "generic.md"
    page.write_text("# g\n\n<!-- about -->\nold\n<!-- end -->\n\nby hand\n", encoding="utf-8")
    renewed = pages.renewed(page)
    assert "old" not in renewed
    assert "Any program's output" in renewed
    assert renewed.endswith("<!-- end -->\n\nby hand\n")
