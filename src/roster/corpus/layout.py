"""The files of a data set in a folder: a list of types, and files named after their splits."""

from __future__ import annotations

from pathlib import Path

SPLITS = {"train": ("train",), "valid": ("valid", "dev", "validation", "val"), "test": ("test",)}
"""The splits, and the names that their files may have."""
TYPES = "types.txt"


def split_files(folder: Path) -> list[Path]:
    """The files named after splits in a folder that also lists its types; empty for any other folder.

    Args:
        folder: a folder, such as `roster label` writes.

    >>> split_files(Path("no/such/folder"))
    []
    """
    if not (folder / TYPES).is_file():
        return []
    names = {name for names in SPLITS.values() for name in names}
    return sorted(
        file for file in folder.iterdir() if file.name.lower().split(".")[0] in names and file.is_file()
    )
