"""The component in pipelines of spaCy: its entities, saved pipelines, and several processes."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roster.errors import ConfigError, DataError, ModelError, RosterError
from roster.infer.recogniser import load

spacy = pytest.importorskip("spacy")
component = pytest.importorskip("roster.integrations.spacy")
from spacy.tokens import Doc, DocBin, Span  # noqa: E402

TEXT = "Anna went to Paris . Carl saw the house in Oslo ."
FOUND = [("Anna", "PER"), ("Paris", "LOC"), ("Carl", "PER"), ("Oslo", "LOC")]
ROOT = Path(__file__).parents[3]


def pipeline(model: Path | str, lang: str = "xx", **options: Any) -> Any:
    nlp = spacy.blank(lang)
    nlp.add_pipe("roster", config={"model": str(model), "device": "cpu", **options})
    return nlp


def entities(doc: Any) -> list[tuple[str, str]]:
    return [(ent.text, ent.label_) for ent in doc.ents]


@pytest.fixture(scope="module")
def nlp(trained: Path) -> Any:
    return pipeline(trained)


def test_entities_and_scores(nlp: Any, trained: Path) -> None:
    doc = nlp(TEXT)
    assert entities(doc) == FOUND
    group = doc.spans["roster"]
    assert [(s.start, s.end, s.label_) for s in group] == [(e.start, e.end, e.label_) for e in doc.ents]
    ours = load(trained, "cpu")(TEXT)
    assert [(s.start_char, s.end_char) for s in group] == [(e.start, e.end) for e in ours]
    assert [s._.score for s in group] == pytest.approx([e.score for e in ours], abs=2e-4)
    assert [e._.score for e in doc.ents] == [s._.score for s in group]
    assert group.attrs["scores"].tolist() == pytest.approx([s._.score for s in group])
    assert nlp.pipe_labels["roster"] == ["PER", "LOC"]
    assert nlp.analyze_pipes()["summary"]["roster"]["assigns"] == ["doc.ents", "doc.spans"]


def test_an_exported_model_and_a_run_folder(trained: Path, exported: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "run" / "model")
    for folder in (exported, tmp_path / "run"):
        assert entities(pipeline(folder, "en")(TEXT)) == FOUND


def test_tokens_of_the_document(nlp: Any) -> None:
    """White-space tokens inside an entity belong to it, those around it do not; tokens may have spaces."""
    doc = nlp("\n Anna   Berg  went to\n\nParis \n")
    assert entities(doc) == [("Anna   Berg", "PER"), ("Paris", "LOC")]
    words = ["Anna Berg", "saw", "Rome", "."]
    doc = nlp(Doc(nlp.vocab, words=words))
    assert [(e.start, e.end, e.label_) for e in doc.ents] == [(0, 1, "PER"), (2, 3, "LOC")]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "."])
def test_documents_without_entities(text: str, nlp: Any) -> None:
    doc = nlp(text)
    assert list(doc.ents) == list(doc.spans["roster"]) == []


def test_sentences_of_the_document(nlp: Any) -> None:
    """Two neighbouring words of one type are one entity, unless a sentence ends between them."""
    words = ["we", "saw", "Paris", "Rome", "and", "Oslo"]
    assert entities(nlp(Doc(nlp.vocab, words=words)))[0] == ("Paris Rome", "LOC")
    starts = [True, False, False, True, False, False]
    found = entities(nlp(Doc(nlp.vocab, words=words, sent_starts=starts)))
    assert found == [("Paris", "LOC"), ("Rome", "LOC"), ("Oslo", "LOC")]


def test_batches_are_single_calls(nlp: Any) -> None:
    texts = [f"{TEXT} {'then we saw the house ' * (i % 4)}" if i % 3 else "" for i in range(20)]
    alone = [entities(nlp(text)) for text in texts]
    for size in (1, 7, 100):
        assert [entities(doc) for doc in nlp.pipe(texts, batch_size=size)] == alone
    assert [context for _, context in nlp.pipe([(TEXT, 1), ("", 2)], as_tuples=True)] == [1, 2]


def test_entities_that_are_there(trained: Path) -> None:
    """They are kept, or overlapping ones are replaced; all of ours are among the spans."""
    for overwrite, expected in ((False, [("Anna went", "X"), ("Paris", "LOC")]), (True, FOUND[:2])):
        nlp = pipeline(trained, overwrite_ents=overwrite)
        doc = nlp.make_doc("Anna went to Paris .")
        doc.ents = [Span(doc, 0, 2, label="X")]
        assert entities(nlp.get_pipe("roster")(doc)) == expected
        assert [s.text for s in doc.spans["roster"]] == ["Anna", "Paris"]


def test_after_an_entity_ruler(trained: Path) -> None:
    nlp = pipeline(trained)
    nlp.add_pipe("entity_ruler", before="roster").add_patterns([{"label": "CITY", "pattern": "Paris"}])
    assert entities(nlp("Anna went to Paris ."))[1] == ("Paris", "CITY")


def test_blocked_tokens(trained: Path) -> None:
    for overwrite in (False, True):
        nlp = pipeline(trained, overwrite_ents=overwrite)
        doc = nlp.make_doc("Anna went to Paris .")
        doc.set_ents([], blocked=[doc[0:1]], default="missing")
        doc = nlp.get_pipe("roster")(doc)
        assert entities(doc) == [("Paris", "LOC")]
        assert (doc[0].ent_iob_, doc[0].ent_type_) == ("B", "")


def test_options(trained: Path) -> None:
    assert entities(pipeline(trained, types=["LOC"])(TEXT)) == [FOUND[1], FOUND[3]]
    assert pipeline(trained, types=["LOC"]).pipe_labels["roster"] == ["LOC"]
    assert entities(pipeline(trained, threshold=1.0)(TEXT)) == []
    doc = pipeline(trained, spans_key=None)(TEXT)
    assert entities(doc) == FOUND
    assert not doc.spans
    doc = pipeline(trained, spans_key="names", score_attribute="certainty")(TEXT)
    assert [s._.certainty > 0.5 for s in doc.spans["names"]] == [True] * 4


def test_two_components(trained: Path) -> None:
    nlp = pipeline(trained, types=["PER"])
    options = {"model": str(trained), "device": "cpu", "types": ["LOC"], "spans_key": "places"}
    nlp.add_pipe("roster", name="places", config=options)
    doc = nlp(TEXT)
    assert entities(doc) == FOUND
    assert [len(doc.spans[key]) for key in ("roster", "places")] == [2, 2]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"threshold": 1.5}, ConfigError, "threshold is 1.5; scores lie between 0 and 1"),
        ({"types": ["LOC", "GPE"]}, ConfigError, "roster: the model has no type GPE; its types are PER, LOC"),
        ({"model": ""}, ConfigError, "no model is given"),
        ({"model": "nowhere"}, ModelError, "roster: there is no model folder nowhere"),
    ],
)
def test_wrong_options(
    options: dict[str, Any], error: type[RosterError], message: str, trained: Path
) -> None:
    with pytest.raises(error, match=message):
        pipeline(**{"model": trained, **options})(TEXT)


def test_an_attribute_of_other_code(trained: Path) -> None:
    Span.set_extension("fixed_by_test", getter=lambda span: 1)
    try:
        with pytest.raises(ConfigError, match=r"span\._\.fixed_by_test is defined by other code"):
            pipeline(trained, score_attribute="fixed_by_test")
    finally:
        Span.remove_extension("fixed_by_test")


def test_errors_go_to_the_handler(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = pipeline(trained)
    assert len(list(nlp.pipe([TEXT]))) == 1

    def broken(*arrays: object) -> None:
        raise MemoryError

    monkeypatch.setattr(nlp.get_pipe("roster").recogniser.engine, "logits", broken)
    with pytest.raises(MemoryError):
        nlp(TEXT)
    failed: list[int] = []
    nlp.set_error_handler(lambda name, proc, docs, error: failed.append(len(docs)))
    assert list(nlp.pipe([TEXT] * 3)) == []
    assert failed == [3]


def test_a_saved_pipeline_has_its_model(trained: Path, exported: Path, tmp_path: Path) -> None:
    for n, source in enumerate((trained, exported)):
        shutil.copytree(source, tmp_path / "run" / "model")
        pipeline(tmp_path / "run", types=["PER"]).to_disk(tmp_path / f"{n}")
        shutil.rmtree(tmp_path / "run")
        shutil.move(tmp_path / f"{n}", tmp_path / f"moved {n}")
        nlp = spacy.load(tmp_path / f"moved {n}")
        assert entities(nlp(TEXT)) == [FOUND[0], FOUND[2]]
        nlp.to_disk(tmp_path / f"moved {n}")  # onto itself
        assert entities(spacy.load(tmp_path / f"moved {n}")(TEXT)) == [FOUND[0], FOUND[2]]


def test_saving_replaces_the_model_that_was_there(trained: Path, exported: Path, tmp_path: Path) -> None:
    pipeline(trained).to_disk(tmp_path / "nlp")
    pipeline(exported).to_disk(tmp_path / "nlp")
    saved = tmp_path / "nlp" / "roster" / "model"
    assert sorted(p.name for p in saved.iterdir()) == sorted(p.name for p in exported.iterdir())


def test_bytes(trained: Path) -> None:
    nlp = pipeline("nowhere").from_bytes(pipeline(trained).to_bytes())
    assert entities(nlp(TEXT)) == FOUND
    assert nlp.get_pipe("roster").to_bytes() == pipeline(trained).get_pipe("roster").to_bytes()
    for wrong in (b"", b"\x81\xa1a\x01", b"\x81\xa4../a\xc4\x01a"):
        with pytest.raises((DataError, ModelError)):
            pipeline(trained).get_pipe("roster").from_bytes(wrong)


def test_nothing_to_save(tmp_path: Path) -> None:
    for model, message in (("", "there is no model to save"), ("nowhere", "there is no model folder")):
        with pytest.raises(ModelError, match=message):
            pipeline(model).to_disk(tmp_path / "nlp")


def test_pickles(nlp: Any, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have the place of the model, whatever the folder they are read in."""
    monkeypatch.chdir(trained.parent)
    data = pickle.dumps(pipeline("model"))
    assert len(data) < 1e6
    monkeypatch.chdir(tmp_path)
    assert entities(pickle.loads(data)(TEXT)) == FOUND


def test_scores_in_a_docbin(nlp: Any) -> None:
    (doc,) = DocBin(docs=[nlp(TEXT)], store_user_data=True).get_docs(nlp.vocab)
    assert all(s._.score > 0.5 for s in doc.spans["roster"])


def test_forked_workers(nlp: Any) -> None:
    """After the model was used in this process, whose threads the workers do not have."""
    expected = [entities(nlp(TEXT))] * 6
    docs = list(nlp.pipe([TEXT] * 6, n_process=2, batch_size=2))
    assert [entities(doc) for doc in docs] == expected
    assert all(s._.score > 0.5 for doc in docs for s in doc.spans["roster"])


SPAWNED = """
import multiprocessing, sys
import spacy

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    nlp = spacy.blank("xx")
    nlp.add_pipe("roster", config={"model": sys.argv[1], "device": "cpu"})
    docs = list(nlp.pipe([sys.argv[2]] * 4, n_process=2, batch_size=2))
    print([[(e.text, e.label_) for e in doc.ents] for doc in docs])
    print(all(s._.score > 0.5 for doc in docs for s in doc.spans["roster"]))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], dict[str, str]]:
    """An environment in which the entry points of pyproject.toml are installed, as pip would do it."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    info = tmp_path_factory.mktemp("site") / "factories-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: factories\nVersion: 1.0\n")
    lines = [f"{name} = {place}" for name, place in points["spacy_factories"].items()]
    (info / "entry_points.txt").write_text("\n".join(["[spacy_factories]", *lines, ""]))
    paths = [str(info.parent), os.environ.get("PYTHONPATH", "")]
    return lambda: {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def test_spawned_workers_and_the_entry_point(
    exported: Path, tmp_path: Path, environment: Callable[[], dict[str, str]]
) -> None:
    """Nothing of roster is imported: spaCy finds the factory by its name. The model needs no torch."""
    script = tmp_path / "script.py"
    script.write_text(SPAWNED)
    command = [sys.executable, str(script), str(exported), TEXT]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.stdout == f"{[FOUND] * 4}\nTrue\n", done.stderr


def test_roster_imports_no_spacy() -> None:
    code = "import roster, sys; roster.load, roster.label; print('spacy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
