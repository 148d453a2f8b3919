"""The dictionary matchers that are measured, ours and others, with one interface.

Only what all of them need is imported at the top, because imports count as memory of the system.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.metadata import version
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import roster

if TYPE_CHECKING:
    from roster.distant.compiling.lexicon import Lexicon
    from roster.distant.matching.matcher import Matcher


Hit = tuple[Any, ...]
"""The position and the entry of a match, in the form of the system."""

BLOCK = 1 << 14
BORDERS = " \n"


class NameFile:
    """The names in a file, one per line; `seconds` is the time that reading took."""

    def __init__(self, path: Path):
        self.path, self.seconds = path, 0.0

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._blocks())

    def _blocks(self) -> Iterator[list[str]]:
        with self.path.open(encoding="utf-8", newline="\n") as file:
            while True:
                start = time.perf_counter()
                block = [line[:-1] for line in islice(file, BLOCK)]
                self.seconds += time.perf_counter() - start
                if not block:
                    return
                yield block


class MatchingSystem(ABC):
    """A dictionary matcher: it is built or loaded once, then run on a text."""

    package: ClassVar[str]
    """Name of the package for `pip install`."""
    keeps: ClassVar[bool] = False
    """Whether the built matcher can be saved and loaded: then it is a `StoredSystem`."""
    without: ClassVar[tuple[str, ...]] = ()
    """Packages that it would import but does not need; their import is blocked."""

    def version(self) -> str:
        return version(self.package)

    @abstractmethod
    def build(self, names: NameFile, typed: Path, folder: Path) -> None:
        """Build the matcher from names; ours also reads `typed`, a file with types, and writes its cache."""

    @abstractmethod
    def take(self, sentences: Iterable[list[str]]) -> None:
        """Convert the text to the input of the system. Not measured."""

    def prepare(self) -> None:  # noqa: B027 - most need nothing
        """Prepare for the text; measured as a part of the first pass."""

    @abstractmethod
    def find(self) -> list[Hit]:
        """Find all matches in the text."""

    def places(self, hits: list[Hit]) -> int:
        """Number of matched places, however many entries each has."""
        return len(hits)


class StoredSystem(MatchingSystem):
    """A matcher that can be saved and loaded."""

    keeps = True

    @abstractmethod
    def save(self, folder: Path) -> None: ...

    @abstractmethod
    def load(self, folder: Path) -> None: ...


class RosterMatcher(StoredSystem):
    """The matcher of `roster label`; a hit is (sentence, first word, last word + 1, entry)."""

    package = "roster-ner"
    rules: ClassVar[dict[str, Any]] = {"case": "smart"}
    lexicon: Lexicon
    matcher: Matcher

    def __init__(self) -> None:
        from roster.distant.policy.policies import Policies

        for module in ("daachorse", "roster.distant.matching.matcher"):  # not measured, as for the others
            import_module(module)
        self.policies = Policies.from_tables(self.rules)

    def version(self) -> str:
        return f"{roster.__version__} with daachorse {version('daachorse')}, numpy {version('numpy')}"

    def build(self, names: NameFile, typed: Path, folder: Path) -> None:
        from roster.distant.compiling.compiler import compile_lexicon
        from roster.distant.compiling.lexicon import Source

        form = self.policies.default.form
        self.lexicon = compile_lexicon([Source(typed, "tsv")], self.policies, form, folder / "lexicon")

    def save(self, folder: Path) -> None:
        """Nothing to do: `build` writes the cache."""

    def load(self, folder: Path) -> None:
        from roster.distant.compiling.lexicon import load

        lexicon = load(folder / "lexicon")
        if lexicon is None:
            raise RuntimeError("the compiled dictionary cannot be loaded")
        self.lexicon = lexicon

    def take(self, sentences: Iterable[list[str]]) -> None:
        from roster.distant.labelling.chunks import CHUNK_WORDS

        self.chunks: list[list[list[str]]] = [[]]
        size = 0
        for words in sentences:
            if size >= CHUNK_WORDS:
                self.chunks.append([])
                size = 0
            self.chunks[-1].append(words)
            size += len(words)

    def prepare(self) -> None:
        from roster.distant.matching.matcher import Matcher, common_words

        common = None
        if self.policies.default.case == "smart":
            common = common_words(Matcher(self.lexicon, self.policies), self.chunks)
        self.matcher = Matcher(self.lexicon, self.policies, common)

    def find(self) -> list[Hit]:
        hits: list[Hit] = []
        at = 0
        for chunk in self.chunks:
            matches = self.matcher.find(chunk)
            columns = (matches.sentence + at, matches.start, matches.end, matches.entry)
            hits.extend(zip(*(column.tolist() for column in columns), strict=True))
            at += len(chunk)
        return hits

    def places(self, hits: list[Hit]) -> int:
        return sum(1 for _ in groupby(hits, key=itemgetter(0, 1, 2)))


class RosterExact(RosterMatcher):
    """The same with exact matches only, as the other systems find them."""

    rules: ClassVar[dict[str, Any]] = {
        "case": "exact",
        "min_length": 1,
        "stop_words": [],
        "possessive": False,
        "edges": False,
        "unicode": "none",
    }


class PhraseMatcher(MatchingSystem):
    """PhraseMatcher of spaCy, on the exact words; a hit is (name, first word, last word + 1)."""

    package = "spacy"
    without = ("torch",)  # spaCy imports it if it is installed, which takes seconds and much memory

    def __init__(self) -> None:
        from spacy.matcher import PhraseMatcher
        from spacy.tokens import Doc
        from spacy.vocab import Vocab

        self.vocab, self._doc = Vocab(), Doc
        self.matcher = PhraseMatcher(self.vocab, attr="ORTH")

    def build(self, names: NameFile, typed: Path, folder: Path) -> None:
        add, doc, vocab = self.matcher.add, self._doc, self.vocab
        for name in names:
            add(name, [doc(vocab, words=name.split(" "))])

    def take(self, sentences: Iterable[list[str]]) -> None:
        self.docs = [self._doc(self.vocab, words=words) for words in sentences]

    def find(self) -> list[Hit]:
        hits: list[Hit] = []
        for doc in self.docs:
            hits.extend(self.matcher(doc))
        return hits


class FlashText(MatchingSystem):
    """A hit is (name, first character, last character + 1), in a sentence."""

    package = "flashtext"

    def __init__(self) -> None:
        from flashtext import KeywordProcessor

        self.keywords = KeywordProcessor(case_sensitive=True)

    def build(self, names: NameFile, typed: Path, folder: Path) -> None:
        add = self.keywords.add_keyword
        for name in names:
            add(name)

    def take(self, sentences: Iterable[list[str]]) -> None:
        self.lines = [" ".join(words) for words in sentences]

    def find(self) -> list[Hit]:
        hits: list[Hit] = []
        for line in self.lines:
            hits.extend(self.keywords.extract_keywords(line, span_info=True))
        return hits


class _Characters(MatchingSystem):
    """Matches the characters of the whole text, one sentence per line, with a border at both ends."""

    def take(self, sentences: Iterable[list[str]]) -> None:
        self.text = "\n".join(["", *(" ".join(words) for words in sentences), ""])


class PyAhoCorasick(_Characters, StoredSystem):
    """A hit is (first character, last character + 1, number of the name)."""

    package = "pyahocorasick"

    def __init__(self) -> None:
        import ahocorasick

        self.automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
        self._load = ahocorasick.load
        self.lengths = array("I")  # the automaton gives the end of a match, and stores only 32 bits

    def build(self, names: NameFile, typed: Path, folder: Path) -> None:
        add, length = self.automaton.add_word, self.lengths.append
        for number, name in enumerate(names):
            add(name, number)
            length(len(name))
        self.automaton.make_automaton()

    def save(self, folder: Path) -> None:
        self.automaton.save(str(folder / "automaton"))
        (folder / "lengths").write_bytes(self.lengths.tobytes())

    def load(self, folder: Path) -> None:
        self.automaton = self._load(str(folder / "automaton"), int)
        self.lengths.frombytes((folder / "lengths").read_bytes())

    def find(self) -> list[Hit]:
        text, lengths = self.text, self.lengths
        hits: list[Hit] = []
        for last, number in self.automaton.iter(text):
            start = last + 1 - lengths[number]
            if text[last + 1] in BORDERS and text[start - 1] in BORDERS:
                hits.append((start, last + 1, number))
        return hits


class AhoCorasickRs(_Characters):
    """A hit is (number of the name, first character, last character + 1)."""

    package = "ahocorasick_rs"

    def __init__(self) -> None:
        from ahocorasick_rs import AhoCorasick

        self._class = AhoCorasick

    def build(self, names: NameFile, typed: Path, folder: Path) -> None:
        self.automaton = self._class(names, store_patterns=False)

    def find(self) -> list[Hit]:
        text = self.text
        return [
            hit
            for hit in self.automaton.find_matches_as_indexes(text, overlapping=True)
            if text[hit[2]] in BORDERS and text[hit[1] - 1] in BORDERS
        ]


SYSTEMS: dict[str, type[MatchingSystem]] = {
    "ours": RosterMatcher,
    "ours-exact": RosterExact,
    "phrasematcher": PhraseMatcher,
    "flashtext": FlashText,
    "pyahocorasick": PyAhoCorasick,
    "ahocorasick_rs": AhoCorasickRs,
}
