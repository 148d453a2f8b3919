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
"""Where something was found and which entry it is, in the coordinates of the system."""

BLOCK = 1 << 14
BORDERS = " \n"


class NameFile:
    """The names of a file, one on a line, as strings. The seconds that reading takes are counted."""

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
    """One way to find the names of a dictionary in a text: built or loaded once, then run over it."""

    package: ClassVar[str]
    """What `pip install` calls it."""
    keeps: ClassVar[bool] = False
    """Whether what was built can be written to a file and loaded again: then it is a `StoredSystem`."""
    without: ClassVar[tuple[str, ...]] = ()
    """Packages that it would load but does not need here."""

    def version(self) -> str:
        return version(self.package)

    @abstractmethod
    def build(self, names: NameFile, typed: Path, folder: Path) -> None:
        """From strings; ours from a file with types to a cache in `folder`, all that a user waits for."""

    @abstractmethod
    def take(self, sentences: Iterable[list[str]]) -> None:
        """The text in the shape this system takes it in. Not measured."""

    def prepare(self) -> None:  # noqa: B027 - most need nothing
        """What must be known of a text before the first pass; counts as a part of it."""

    @abstractmethod
    def find(self) -> list[Hit]:
        """One pass over the text."""

    def places(self, hits: list[Hit]) -> int:
        """How many names were found, however many entries each has."""
        return len(hits)


class StoredSystem(MatchingSystem):
    """One that need not be built again."""

    keeps = True

    @abstractmethod
    def save(self, folder: Path) -> None: ...

    @abstractmethod
    def load(self, folder: Path) -> None: ...


class RosterMatcher(StoredSystem):
    """As `roster label` treats names; a hit is (sentence, first word, last word + 1, entry)."""

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
        """`build` has written it."""

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
    """Every name as it is written, as the other systems find them."""

    rules: ClassVar[dict[str, Any]] = {
        "case": "exact",
        "min_length": 1,
        "stop_words": [],
        "possessive": False,
        "edges": False,
        "unicode": "none",
    }


class PhraseMatcher(MatchingSystem):
    """spaCy's, on the exact words; a hit is (name, first word, last word + 1)."""

    package = "spacy"
    without = ("torch",)  # loaded where it is installed: seconds, and more memory than a million names

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
    """Runs over the characters of the whole text, a sentence on a line, with a border at both ends."""

    def take(self, sentences: Iterable[list[str]]) -> None:
        self.text = "\n".join(["", *(" ".join(words) for words in sentences), ""])


class PyAhoCorasick(_Characters, StoredSystem):
    """A hit is (first character, last character + 1, number of the name)."""

    package = "pyahocorasick"

    def __init__(self) -> None:
        import ahocorasick

        self.automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
        self._load = ahocorasick.load
        self.lengths = array("I")  # the automaton tells where a name ends, and keeps but 32 bits of our own

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
