"""Compiled dictionaries on disk, by a hash of their content: compiled once, then loaded."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import platformdirs

from roster.distant.compiling.compiler import allow_lists, compile_lexicon
from roster.distant.compiling.lexicon import Lexicon, Source, load
from roster.distant.entries.patch import NO_CHANGES, Patch
from roster.distant.policy.policies import Policies
from roster.distant.subtokens import Unicode
from roster.errors import DataError, RosterError
from roster.files import file_digest, fingerprint

FORMAT = 5  # version of the files in the cache; increased when they, or their meaning, change


def load_lexicons(
    sources: Sequence[Source],
    policies: Policies,
    cache: Path | None,
    *,
    patch: Patch = NO_CHANGES,
    log: Callable[[str], None] | None = None,
) -> list[Lexicon]:
    """The compiled dictionaries, one lexicon for each Unicode normal form of the policies.

    Args:
        sources: the dictionary files.
        policies: of all types.
        cache: folder of compiled dictionaries; None compiles in memory.
        patch: changes of the entries.
        log: called with a line when a dictionary is compiled.

    Raises:
        DataError: for a dictionary that cannot be read.
        RosterError: for a cache that cannot be written.
    """
    if not sources and not allow_lists(policies) and not patch.of("add"):
        return []
    names = [source.name for source in sources] + [Path(file).name for file in patch.files]
    forms = sorted({policy.form for policy in (policies.default, *(p for _, p in policies.types))})
    lexicons = []
    for form in forms:
        if cache is None:
            lexicons.append(compile_lexicon(sources, policies, form, patch=patch))
            continue
        folder = cache / "lexicons" / _key(sources, policies, form, patch)
        lexicon = load(folder)
        if lexicon is None:
            if log:
                log(f"compiling {', '.join(names)} (kept in {folder} for the next time)")
            _check_writable(folder.parent)
            lexicon = compile_lexicon(sources, policies, form, folder, patch)
        lexicons.append(lexicon)
    return [lexicon for lexicon in lexicons if len(lexicon)] or lexicons[:1]


def _check_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RosterError(
            f"cannot write {folder}: {error.strerror}; --cache names another folder, --no-cache does without"
        ) from error


def default_cache() -> Path:
    """`ROSTER_CACHE`, else the user's cache folder."""
    if os.environ.get("ROSTER_CACHE"):
        return Path(os.environ["ROSTER_CACHE"])
    return platformdirs.user_cache_path("roster", appauthor=False)


def _key(sources: Sequence[Source], policies: Policies, form: Unicode, patch: Patch) -> str:
    contents = []
    for source in sources:
        try:
            digest = file_digest(source.path)
        except FileNotFoundError:
            raise DataError("no such file", path=source.path) from None
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", path=source.path) from error
        contents.append([source.name, source.format, source.priority, source.skip_broken, digest])
    # What is `auto` is decided by the contents, or when a text is matched: case, and parts of longer names.
    rules = policies.as_dict()
    for table in (rules["defaults"], *rules["types"].values()):
        del table["case"], table["whole"]
    changes = [
        [change.action, change.name, change.type, change.new_type, change.file, change.line]
        for change in patch.of("add", "remove", "retype")
    ]
    return fingerprint(FORMAT, version("daachorse"), contents, rules, form, changes)
