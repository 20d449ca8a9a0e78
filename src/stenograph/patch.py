"""Patches: the files that they name."""


def patch_paths(text: str) -> list[str]:
    """The paths that a patch's markers name."""
    return [
        line.split(": ", 1)[1].strip()
        for line in text.split("\n")
        if line.startswith("*** ") and ": " in line
    ]
