"""Annotations and models in settings: names, tables of a config, least scores, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from roster.distant.settings import Settings, load_settings
from roster.distant.span_sources import Annotations, Model, named, parse_model
from roster.errors import ConfigError

CONFIG = """\
[[annotations]]
path = "llm.jsonl"
name = "llm"
priority = 2
least_score = 0.5

[[annotations]]
path = "people.conll"
format = "conll"

[[models]]
model = "tagger"
kind = "spacy"
priority = -1

[[models]]
name = "zero-shot"
model = "org/hub-name"
kind = "gliner"
types = ["person", "city"]
least_score = 1
batch_size = 4
device = "cpu"
"""


def load(folder: Path, content: str, **options: object) -> Settings:
    (folder / "label.toml").write_text(content, encoding="utf-8")
    return load_settings(folder / "label.toml", **options)  # type: ignore[arg-type]


def test_a_config_with_annotations_and_models(tmp_path: Path) -> None:
    (tmp_path / "tagger").mkdir()
    found = load(tmp_path, CONFIG)
    assert found.annotations == (
        Annotations(tmp_path / "llm.jsonl", name="llm", priority=2, least_score=0.5),
        Annotations(tmp_path / "people.conll", "conll", name="people.conll"),
    )
    assert found.models == (
        Model(str(tmp_path / "tagger"), "spacy", name="tagger", priority=-1),
        Model("org/hub-name", "gliner", ("person", "city"), 4, "cpu", name="zero-shot", least_score=1.0),
    )
    assert found.inputs == [tmp_path / "label.toml", tmp_path / "llm.jsonl", tmp_path / "people.conll"]


def test_names_of_the_command_line(tmp_path: Path) -> None:
    found = load_settings(
        annotations=["a=x.jsonl", "y.jsonl", Path("z=1.jsonl")],
        models=["org/small", "b=roster:runs/one/"],
        least_scores={"a": 0.25, "": 0.5},
    )
    assert [(one.name, str(one.path), one.least_score) for one in found.annotations] == [
        ("a", "x.jsonl", 0.25), ("y.jsonl", "y.jsonl", 0.5), ("z=1.jsonl", "z=1.jsonl", 0.5),
    ]  # fmt: skip
    assert [(one.name, one.model, one.kind) for one in found.models] == [
        ("small", "org/small", ""), ("b", "runs/one/", "roster"),
    ]  # fmt: skip
    assert parse_model("C:/models/x").model == "C:/models/x"
    (tmp_path / "a=b").touch()
    assert named(str(tmp_path / "a=b")) == ("", str(tmp_path / "a=b"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[[annotations]]\npath = 1\n", r"\[\[annotations\]\]: path must be a text"),
        ("[[annotations]]\nname = 'x'\n", r"\[\[annotations\]\]: path must be a text, such as"),
        ("[[annotations]]\npath = 'x'\npriority = 0.5\n", "priority must be a whole number"),
        ("[[annotations]]\npath = 'x'\nleast_score = nan\n", "least_score must be a finite number, not nan"),
        ("[[annotations]]\npath = 'x'\nformat = 'xml'\n", "format must be one of lines, conll"),
        ("[[annotations]]\npath = 'x'\nscore = 1\n", "unknown key score; expected path, name"),
        ("[[models]]\nname = 'x'\n", r"\[\[models\]\]: model must be a text"),
        (
            "[[models]]\nmodel = 'x'\nkind = 'flair'\n",
            "kind must be one of roster, spacy, transformers, gliner",
        ),
        ("[[models]]\nmodel = 'x'\ntypes = 'person'\n", "types must be a list"),
        ("[[models]]\nmodel = 'x'\nbatch_size = 0\n", "batch_size must be a whole number of at least 1"),
        ("[annotations]\npath = 'x'\n", r"must be a list of sections \[\[annotations\]\]"),
        ("[[annotations]]\npath = 'a/x'\n[[annotations]]\npath = 'b/x'\n", "two sources are called x"),
        ("[[annotations]]\npath = 'x'\n[[models]]\nmodel = 'x'\n", "two sources are called x"),
        (
            "[[annotations]]\npath = 'n.tsv'\n[[dictionaries]]\npath = 'n.tsv'\n",
            "two sources are called n.tsv",
        ),
        (
            "[builtin]\npatterns = ['DATE']\n[[models]]\nmodel = 'm/patterns'\n",
            "two sources are called patterns",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, content: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        load(tmp_path, content)


def test_least_scores_that_are_refused() -> None:
    with pytest.raises(ConfigError, match="given for gpt, which is the name of no annotations"):
        load_settings(annotations=["llm=a.jsonl"], least_scores={"gpt": 0.5})
    with pytest.raises(ConfigError, match="must be a finite number, not nan"):
        load_settings(annotations=["llm=a.jsonl"], least_scores={"": float("nan")})
