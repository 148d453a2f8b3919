"""The options of RoSTER, one section for each stage of the paper. The values are the paper's."""

from __future__ import annotations

from dataclasses import dataclass

from roster.config import option


@dataclass(frozen=True)
class NoiseRobust:
    """Section 3.2: generalised cross entropy and the removal of noisy labels."""

    epochs: int = option(3, "passes over the data for each model", low=1, high=10_000)
    learning_rate: float = option(3e-5, "peak rate", low=0)
    head_learning_rate: float = option(0.0, "peak rate of the two heads; 0: the same as the encoder's", low=0)
    q: float = option(0.7, "GCE's exponent: 0 is cross entropy, 1 is mean absolute error", low=0, high=1)
    plain: float = option(
        0.0, "share of the steps with plain cross entropy and without label removal, at first", low=0, high=1
    )
    plain_types: float = option(
        0.0,
        "the same for the type head, at most: it goes on to GCE when it has learned most types; from the "
        "start it may give up a rare one",
        low=0,
        high=1,
    )
    tau: float = option(0.7, "a label stays while the model gives it more than this", low=0, high=1)
    remove_labels: bool = option(True, "remove noisy labels")
    update_every: int = option(200, "batches between two removals (U)", low=1)
    keep_minority: float = option(
        0.9, "a type that would lose more than this share of its words loses none", low=0, high=1
    )
    remove_entities: bool = option(
        False, "remove noisy entity labels from the entity head's loss too, not only from the type head's"
    )
    entity_warmup: float = option(
        0.0,
        "share of the steps in which only O labels are removed, and every entity label stays in the loss",
        low=0,
        high=1,
    )
    repair: bool = option(
        False, "train a member again that did not learn its labels, and undo a stage that lost entities"
    )
    extend: bool = option(
        False,
        "double the training of a member that predicts few entities outside its labels: they look complete",
    )
    phrases: bool = option(
        True, "leave the words of phrases of unknown type out of the loss; off: they are O, as in the paper"
    )
    skip_common_words: bool = option(
        False,
        "leave labels on common words at the start of a sentence (The, He) out of the loss",
    )
    drop_o: float = option(
        0.5, "share of the O labels left out of the loss, drawn once per model", low=0, high=1
    )
    folds: bool = option(
        False,
        "each member learns without the names of its fold; what it finds of them is the hold-out recall",
    )
    balance: bool = option(
        False, "let O words weigh less while the model recognises few of the entity words held out of it"
    )
    mask_inputs: float = option(
        0.0,
        "share of the sub-words hidden behind the mask token in training, against memorised names",
        low=0,
        high=1,
    )


@dataclass(frozen=True)
class Ensemble:
    """Section 3.2, last part: K models and one that learns their mean."""

    enabled: bool = option(True, "off: one noise-robust model, and no distillation")
    models: int = option(5, "number of models (K)", low=1, high=100)
    at_once: int = option(
        0, "how many of them the fast engine trains in step; 0: as many as fit into the GPU's memory", low=0
    )
    start: str = option(
        "pretrained",
        "what the model that learns the mean begins with. pretrained: the encoder, as in the paper; member: "
        "the one of the K models that agrees best with the mean, which loses less of it",
        choices=("pretrained", "member"),
    )
    loss: str = option(
        "separate",
        "separate: entity probability and types of every word, as in the paper; joint: the KL divergence of "
        "whole distributions, in which the types of a word count by its entity probability",
        choices=("separate", "joint"),
    )
    epochs: int = option(2, "passes over the data when learning the mean", low=1, high=10_000)
    learning_rate: float = option(1e-5, "peak rate", low=0)
    head_learning_rate: float = option(0.0, "peak rate of the two heads; 0: the same as the encoder's", low=0)


@dataclass(frozen=True)
class Augmentation:
    """Section 3.3: sentences rewritten by a masked language model."""

    enabled: bool = option(True, "off: self-training without augmented sentences")
    by: str = option(
        "frozen", "frozen: the pre-trained model, as in the paper; trained: the model that is being trained, "
        "with a replacement at every first sub-word, as in the released code; names: no model, but another "
        "name of its type for every labelled one", choices=("frozen", "trained", "names"),
    )  # fmt: skip
    dictionary: str = option(
        "",
        "where `names` come from: a dictionary as for `roster label`; empty: the labels of the corpus",
    )
    masked_lm: str = option("", "another masked language model (name or folder); empty: the backbone's own")
    mask: float = option(0.15, "share of the sub-words that are masked", low=0, high=1)
    top_k: int = option(5, "a replacement is drawn from this many best guesses", low=1)


@dataclass(frozen=True)
class SelfTraining:
    """Section 3.3: the model learns from its own sharpened predictions."""

    enabled: bool = option(True, "off: the ensemble model is the result")
    epochs: int = option(5, "passes over the data", low=1, high=10_000)
    learning_rate: float = option(5e-7, "peak rate", low=0)
    update_every: int = option(100, "batches between two computations of the soft labels (U')", low=1)
    threshold: float = option(
        0.8, "words count as entities for soft labels from this probability on", low=0, high=1
    )
    agreement: bool = option(
        True, "use an augmented word only where its best type is that of the original (as the released code)"
    )
