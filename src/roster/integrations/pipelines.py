"""The token-classification pipeline of transformers with the entities of `roster predict`.

`import roster` puts it into the registry of pipelines, in place of the class that it extends. For models of
others it is that class. A model of ours has `roster` in its config (`MARK`); its texts are read as
`Recogniser` reads them: sentences, words and windows are ours, and a word has the label of its first
sub-word. The library's own pipeline works on sub-words of the running text and cannot do that.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import AutoModelForTokenClassification
from transformers.pipelines import PIPELINE_REGISTRY
from transformers.pipelines.token_classification import AggregationStrategy, TokenClassificationPipeline

from roster.corpus.sentence import Sentence
from roster.corpus.texts import check_text
from roster.corpus.tokenizer import sentences
from roster.model.folder import TRANSFORMERS, ModelFacts, is_model
from roster.model.token_classifier import MARK, classifier_of

if TYPE_CHECKING:
    from roster.infer.recogniser import Found, Recogniser

TASK = "token-classification"
NONE = AggregationStrategy.NONE


def register() -> None:
    """Makes this the pipeline of the task `token-classification`.

    The table itself is changed: `register_pipeline` would warn, and its `save_pretrained` would copy code
    of ours into the folders of any model.
    """
    tasks: dict[str, Any] = PIPELINE_REGISTRY.supported_tasks
    tasks[TASK] = {**tasks[TASK], "impl": RosterTokenClassificationPipeline, "pt": (AutoTokenClassifier,)}


class AutoTokenClassifier(AutoModelForTokenClassification):  # type: ignore[misc]
    """Token classifiers of transformers, and model folders of `roster train`."""

    @classmethod
    def from_pretrained(cls, name: Any, *args: Any, **options: Any) -> Any:
        """The model in a folder, or on the hub."""
        if not (isinstance(name, str | Path) and is_model(name)):
            return AutoModelForTokenClassification.from_pretrained(name, *args, **options)
        from roster.integrations.transformers import token_classifier

        model, dtype = token_classifier(Path(name))[0], options.get("dtype")
        model.config.name_or_path = str(name)
        return model.to(dtype) if isinstance(dtype, torch.dtype) else model


class RosterTokenClassificationPipeline(TokenClassificationPipeline):  # type: ignore[misc]
    """Finds the entities of `roster predict` if the model is ours, with any strategy but `none`.

    `ignore_labels` without `O` and `offset_mapping` ask for more than entities; they are left to the class
    that this one extends, as is `none`.
    """

    @cached_property
    def recogniser(self) -> Recogniser | None:
        """One that reads with the model of this pipeline; None for models of others."""
        config = self.model.config.to_dict()
        mark = config.get(MARK)
        if not (isinstance(mark, dict) and isinstance(mark.get("max_length"), int)):
            return None
        from roster.backbone.alignment import WordEncoder
        from roster.infer.calibration import load_calibration
        from roster.infer.recogniser import Recogniser
        from roster.infer.torch_engine import ReaderEngine
        from roster.infer.transformers_engine import ClassifierReader

        found = classifier_of(config, {"model_max_length": mark["max_length"]})
        types, scheme = found.labels.types, found.labels.scheme
        facts = ModelFacts("one-head", types, found.max_length, TRANSFORMERS, None, scheme)
        reader = ClassifierReader(self.model, found.labels.classes, facts.classes)
        # The encoder sets its tokenizer up for itself; the pipeline's stays as it is.
        encoder = WordEncoder(copy.deepcopy(self.tokenizer), found.max_length)
        engine = ReaderEngine(facts, encoder, reader, self.model.device)
        return Recogniser(engine, load_calibration(Path(self.model.config.name_or_path)))

    def _sanitize_parameters(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        before, forward, after = super()._sanitize_parameters(**options)
        return {**after, **before}, forward, after

    def preprocess(
        self,
        sentence: str | Sequence[str],
        offset_mapping: Any = None,
        aggregation_strategy: AggregationStrategy = NONE,
        ignore_labels: Sequence[str] | None = None,
        **options: Any,
    ) -> Iterator[dict[str, Any]]:
        entities_only = ignore_labels is None or "O" in ignore_labels
        if self.recogniser is None or aggregation_strategy == NONE or offset_mapping or not entities_only:
            yield from super().preprocess(sentence, offset_mapping, **options)
        else:
            yield {"sentences": _sentences(sentence, options.get("delimiter", " ")), "is_last": True}

    def _forward(self, model_inputs: dict[str, Any]) -> dict[str, Any]:
        if "sentences" not in model_inputs:
            found: dict[str, Any] = super()._forward(model_inputs)
            return found
        last, several = model_inputs["is_last"], model_inputs["sentences"]
        batch = several if isinstance(last, list) else [several]
        assert self.recogniser is not None
        all_found = self.recogniser.find(one for text in batch for one in text)
        of_texts = [[next(all_found) for _ in text] for text in batch]
        return {"found": of_texts if isinstance(last, list) else of_texts[0], "is_last": last}

    def postprocess(
        self,
        all_outputs: list[dict[str, Any]],
        aggregation_strategy: AggregationStrategy = NONE,
        ignore_labels: Sequence[str] | None = None,
    ) -> list[dict[str, Any]]:
        if "found" not in all_outputs[0]:
            plain: list[dict[str, Any]] = super().postprocess(
                all_outputs, aggregation_strategy, ignore_labels
            )
            return plain
        sentences: list[Found] = [one for output in all_outputs for one in output["found"]]
        return [
            {"entity_group": e.label, "score": e.score, "word": e.text, "start": e.start, "end": e.end}
            for one in sentences
            for e in one.entities
            if e.label not in (ignore_labels or ())
        ]


def _sentences(text: str | Sequence[str], delimiter: str) -> list[Sentence]:
    """The sentences of a text; a list of words is one, whose text is the words with `delimiter` between."""
    if isinstance(text, str):
        check_text(text, 0)
        return list(sentences(text))
    ends, at = [], 0
    for word in text:
        ends.append((at, at + len(word)))
        at += len(word) + len(delimiter)
    return [Sentence(tuple(text), tuple(ends), delimiter.join(text))]
