"""A recogniser as a component of a spaCy pipeline: `nlp.add_pipe("roster", config={"model": FOLDER})`.

spaCy finds the factory by the entry point `spacy_factories` of this package. The model predicts on the tokens
of the document; white-space tokens are no words. It reads one sentence at a time: those of the document where
its sentence boundaries are set, otherwise those that our sentence splitter finds.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np
import srsly
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import minibatch, raise_error

from roster.corpus.formats.docbin import sentences_of_doc
from roster.corpus.sentence import Span as Words
from roster.errors import ConfigError, DataError, ModelError
from roster.model.folder import inner_model, is_readable, read_facts
from roster.model.hub import is_on_hub, local_folder

if TYPE_CHECKING:
    from roster.infer.recogniser import Found, Recogniser

SAVED = "model"
"""The folder of the model inside that of the component, in a saved pipeline."""
DEFAULTS = {
    "model": "", "device": "auto", "threshold": 0.0, "types": None, "spans_key": "roster",
    "overwrite_ents": False, "score_attribute": "score",
}  # fmt: skip


def _with_types(factory: Callable[..., Any]) -> Callable[..., Any]:
    """The annotations of the parameters as types, not as text, which spaCy 3.8.2 cannot read."""
    factory.__annotations__.pop("return", None)
    factory.__annotations__.update(get_type_hints(factory))
    return factory


@Language.factory("roster", assigns=["doc.ents", "doc.spans"], default_config=DEFAULTS)
@_with_types
def make_roster(
    nlp: Language,
    name: str,
    model: str,
    device: str,
    threshold: float,
    types: list[str] | None,
    spans_key: str | None,
    overwrite_ents: bool,
    score_attribute: str,
) -> RosterComponent:
    """The factory that spaCy calls for `nlp.add_pipe("roster", config={...})`.

    Args:
        nlp: the pipeline; not used.
        name: the name of the component in it.
        model: what `roster.load` takes: a model folder, trained or exported, a run folder, a token classifier
            of transformers, or `hf://owner/name`. It is loaded when it is first needed: a saved pipeline has
            its own copy, and the folder need not exist where that is loaded.
        device: `auto`, `cpu` or `cuda`.
        threshold: entities with a lower score are left out.
        types: the types to keep; None keeps all.
        spans_key: the group of `doc.spans` that gets all entities with their scores; None writes no group.
        overwrite_ents: replace entities of `doc.ents` that overlap with ours, instead of keeping them.
        score_attribute: the extension attribute of spans that has the score, `span._.score` by default.

    Returns:
        The component.

    Raises:
        ConfigError: for a value that is not possible.

    >>> import spacy
    >>> nlp = spacy.blank("xx")
    >>> nlp.add_pipe("roster", config={"model": "runs/news"}).name
    'roster'
    """
    return RosterComponent(
        name,
        model,
        device=device,
        threshold=threshold,
        types=types,
        spans_key=spans_key,
        overwrite_ents=overwrite_ents,
        score_attribute=score_attribute,
    )


class RosterComponent:
    """Writes the entities of a recogniser into documents. The arguments are those of `make_roster`."""

    def __init__(
        self,
        name: str,
        model: str | Path,
        *,
        device: str = "auto",
        threshold: float = 0.0,
        types: Sequence[str] | None = None,
        spans_key: str | None = "roster",
        overwrite_ents: bool = False,
        score_attribute: str = "score",
    ):
        if not 0 <= threshold <= 1:
            raise ConfigError(f"{name}: threshold is {threshold}; scores lie between 0 and 1")
        self.name, self.device, self.threshold = name, device, threshold
        self.types = None if types is None else frozenset(types)
        self.spans_key, self.overwrite_ents, self.score_attribute = spans_key, overwrite_ents, score_attribute
        self.folder = model or None
        self._recogniser: Recogniser | None = None
        self._process = os.getpid()
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._error_handler: Callable[..., Any] = raise_error
        add_attribute(score_attribute)

    @property
    def labels(self) -> tuple[str, ...]:
        """The types that the component can find; empty as long as there is no model."""
        if self.folder is None or not is_readable(inner_model(self.folder)):  # nothing is downloaded
            return ()
        found = read_facts(inner_model(self.folder)).types
        return tuple(t for t in found if self.types is None or t in self.types)

    @property
    def recogniser(self) -> Recogniser:
        """The model, loaded when it is first asked for.

        A worker process (`n_process`) loads its own and computes on one thread, because the others have
        their cores. What a forked process inherits is not used: threads do not survive a fork.

        Raises:
            ModelError: there is no such model.
            ConfigError: `types` has a type that the model does not have.
        """
        if self._recogniser is None or self._process != os.getpid():
            worker = multiprocessing.parent_process() is not None
            if worker:
                use_one_thread()
            self._recogniser, self._process = self._load(), os.getpid()
            if worker:
                self._recogniser.engine.workers = 1
        return self._recogniser

    def _load(self) -> Recogniser:
        if self.folder is None:
            raise ConfigError(
                f'{self.name}: no model is given: nlp.add_pipe("roster", config={{"model": "runs/news"}})'
            )
        from roster.infer.recogniser import load

        try:
            found = load(self.folder, self.device)
        except ModelError as error:
            raise ModelError(f"{self.name}: {error}") from error
        if unknown := sorted((self.types or set()) - set(found.types)):
            raise ConfigError(
                f"{self.name}: the model has no type {', '.join(unknown)}; its types are "
                f"{', '.join(found.types)}"
            )
        return found

    def __call__(self, doc: Doc) -> Doc:
        """One document; `pipe` is faster for several."""
        try:
            self._annotate([doc])
        except Exception as error:
            self._error_handler(self.name, self, [doc], error)
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Documents in turn, `batch_size` of them predicted together.

        A batch that fails goes to the error handler of the pipeline, and is left out if that returns.
        """
        for docs in minibatch(stream, size=batch_size):
            batch = list(docs)
            try:
                self._annotate(batch)
            except Exception as error:
                self._error_handler(self.name, self, batch, error)
            else:
                yield from batch

    def _annotate(self, docs: Sequence[Doc]) -> None:
        sentences = [sentences_of_doc(doc) for doc in docs]
        with closing(self.recogniser.find(one for group in sentences for one in group)) as found:
            for doc, group in zip(docs, sentences, strict=True):
                self._write(doc, [next(found) for _ in group])

    def _write(self, doc: Doc, found: Iterable[Found]) -> None:
        """Puts the entities of a document into `doc.spans` and `doc.ents`."""
        spans, scores = [], []
        tokens, first = [token.i for token in doc if not token.text.isspace()], 0
        for one in found:
            for span, score in zip(one.sentence.spans or (), one.scores, strict=True):
                if score >= self.threshold and (self.types is None or span.label in self.types):
                    spans.append(tokens_of(doc, tokens, first, span))
                    scores.append(score)
            first += len(one.sentence)
        for span, score in zip(spans, scores, strict=True):
            span._.set(self.score_attribute, score)
        if self.spans_key is not None:
            doc.spans[self.spans_key] = spans
            doc.spans[self.spans_key].attrs["scores"] = np.array(scores, np.float32)
        set_entities(doc, spans, overwrite=self.overwrite_ents)

    def set_error_handler(self, error_handler: Callable[..., Any]) -> None:
        """What `pipe` does with a batch that fails; spaCy calls this for `nlp.set_error_handler`."""
        self._error_handler = error_handler

    def get_error_handler(self) -> Callable[..., Any]:
        return self._error_handler

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Copies the model into the folder of the component. `nlp.to_disk` calls this.

        Raises:
            ModelError: there is no model.
        """
        source, target = self._model_folder(), Path(path) / SAVED
        target.mkdir(parents=True, exist_ok=True)
        if source.resolve() == target.resolve():
            return
        for old in target.iterdir():
            old.unlink()
        for name in files_of(source):
            shutil.copyfile(source / name, target / name)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> RosterComponent:
        """Takes the model that `to_disk` copied. `nlp.from_disk` and `spacy.load` call this.

        Raises:
            ModelError: the folder has no model.
        """
        folder = Path(path) / SAVED
        read_facts(folder)
        self._use(folder, None)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """All files of the model."""
        folder = self._model_folder()
        found: bytes = srsly.msgpack_dumps({name: (folder / name).read_bytes() for name in files_of(folder)})
        return found

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> RosterComponent:
        """Takes the model that `to_bytes` gave. Its files are kept in a temporary folder as long as the
        component exists.

        Raises:
            DataError: the bytes hold no model.
        """
        try:
            files = {str(name): bytes(content) for name, content in srsly.msgpack_loads(data).items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise DataError(f"{self.name}: the bytes are no model: {error}") from None
        temporary = tempfile.TemporaryDirectory(prefix="roster-", ignore_cleanup_errors=True)
        folder = Path(temporary.name)
        for name, content in files.items():
            if Path(name).name != name:
                raise DataError(f"{self.name}: the bytes are no model: {name!r} is no file name")
            (folder / name).write_bytes(content)
        read_facts(folder)
        self._use(folder, temporary)
        return self

    def _use(self, folder: Path, temporary: tempfile.TemporaryDirectory[str] | None) -> None:
        self.folder, self._temporary, self._recogniser = folder, temporary, None

    def _model_folder(self) -> Path:
        if self.folder is None:
            raise ModelError(f"{self.name}: there is no model to save")
        folder = inner_model(local_folder(self.folder))
        read_facts(folder)
        return folder

    def __getstate__(self) -> dict[str, Any]:
        """The options and the place of the model, but not the model: another process loads it from there."""
        kept = {**self.__dict__, "_recogniser": None, "_temporary": None}
        if self.folder is None or is_on_hub(self.folder):
            return kept
        return {**kept, "folder": Path(self.folder).resolve()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        add_attribute(self.score_attribute)


def tokens_of(doc: Doc, tokens: Sequence[int], first: int, span: Words) -> Span:
    """A span of words as one of tokens; white-space tokens inside it belong to it.

    Args:
        doc: the document.
        tokens: the number of the token of each word.
        first: the number of the first word of the sentence of `span`.
        span: words of that sentence.

    Returns:
        The span of the document, with the same label.
    """
    start, end = tokens[first + span.start], tokens[first + span.end - 1] + 1
    return Span(doc, start, end, label=span.label)


def set_entities(doc: Doc, spans: Sequence[Span], *, overwrite: bool) -> None:
    """Adds entities to `doc.ents`, as spaCy's entity ruler does.

    Args:
        doc: the document.
        spans: entities that do not overlap with each other.
        overwrite: remove entities of the document that overlap with `spans`; otherwise these are not added.
            Tokens that are blocked (`doc.set_ents(blocked=...)`) get no entity in either case.

    >>> from spacy.vocab import Vocab
    >>> doc = Doc(Vocab(), words=["New", "York", "Times"], ents=["B-LOC", "I-LOC", "O"])
    >>> set_entities(doc, [Span(doc, 0, 3, label="ORG")], overwrite=False)
    >>> doc.ents
    (New York,)
    >>> set_entities(doc, [Span(doc, 0, 3, label="ORG")], overwrite=True)
    >>> doc.ents
    (New York Times,)
    """
    blocked = {token.i for token in doc if token.ent_iob == 3 and not token.ent_type}
    taken = set() if overwrite else {i for ent in doc.ents for i in range(ent.start, ent.end)}
    new = [span for span in spans if (blocked | taken).isdisjoint(range(span.start, span.end))]
    covered = {i for span in new for i in range(span.start, span.end)}
    kept = [ent for ent in doc.ents if covered.isdisjoint(range(ent.start, ent.end))]
    doc.set_ents([*kept, *new], blocked=[doc[i : i + 1] for i in sorted(blocked)])


def use_one_thread() -> None:
    """Makes tokenizers and torch compute on the calling thread in this process.

    Their thread pools do not survive a fork: an operation that waits for them would never end.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def files_of(folder: Path) -> list[str]:
    """The names of the files of a model folder, in order; folders in it and hidden files are left out."""
    return sorted(p.name for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))


def add_attribute(name: str) -> None:
    """Declares the extension attribute of spans that has the score, None by default.

    Raises:
        ConfigError: another attribute has this name, and it cannot be set.
    """
    if not Span.has_extension(name):
        Span.set_extension(name, default=None)
        return
    _, method, getter, setter = Span.get_extension(name)
    if method is not None or (getter is not None and setter is None):
        raise ConfigError(
            f"span._.{name} is defined by other code and cannot be set; give another name: "
            f'config={{"score_attribute": "roster_score"}}'
        )
