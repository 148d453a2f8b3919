"""One typed config describes a whole run.

Values come from what `roster.learn.defaults` derives from the data, then a preset, then a TOML file, then
`--set a.b=value`; each later one wins. What is unknown or impossible is refused with its name and what is
allowed. The effective config is written beside the model, and gives the same run again. The values here
are the paper's; a preset begins with them, too.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, cast, get_origin, get_type_hints

from roster.errors import ConfigError

METHODS = ("roster", "fine-tune", "bond", "autoner", "bilstm-crf")
BILSTM_CNN = "bilstm-cnn"
"""The backbone that is no folder and no hub name: trained from scratch, its sizes in `[bilstm]`."""
OWN_BACKBONES = {"bilstm-crf": BILSTM_CNN}
"""The backbones of methods that have another one where none is named."""
PRESETS = ("paper-conll03", "paper-ontonotes5", "paper-wikigold")
"""The paper's own settings, for its own data sets."""


def option(default: Any, doc: str, *, low: float | None = None, high: float | None = None,
           choices: tuple[str, ...] | None = None) -> Any:  # fmt: skip
    """A field with its documentation and the values it may take (borders included)."""
    return field(default=default, metadata={"doc": doc, "low": low, "high": high, "choices": choices})


@dataclass(frozen=True)
class Backbone:
    name: str = option(
        "roster-small-en-2",
        "bundled name, folder, or Hugging Face hub name of an encoder; or bilstm-cnn, see [bilstm]",
    )
    max_length: int = option(
        150, "sub-words in one window, special tokens included; longer sentences go through windows", low=8
    )
    dropout: float = option(0.1, "dropout between the encoder and the heads", low=0, high=0.9)


@dataclass(frozen=True)
class Bilstm:
    """The sizes of the backbone bilstm-cnn, which is trained from scratch (Ma and Hovy 2016)."""

    word_vectors: str = option(
        "", "file of word vectors, `word v1 v2 ...` on each line, maybe .gz; empty: random vectors"
    )
    word_size: int = option(100, "length of random word vectors; a file has its own", low=1)
    char_size: int = option(30, "length of the vectors of characters", low=1)
    filters: int = option(30, "filters of the CNN over characters, each three characters wide", low=1)
    hidden: int = option(200, "width of the LSTM, each way", low=1)
    dropout: float = option(0.5, "dropout before and after the LSTM", low=0, high=0.9)
    min_count: int = option(1, "words that occur less often have no vector of their own", low=1)


@dataclass(frozen=True)
class Optimiser:
    batch_size: int = option(32, "sentences in one step", low=1, high=100_000)
    rule: str = option(
        "adamw",
        "adamw; or sgd, with momentum, and a rate that falls from epoch to epoch (plain engine)",
        choices=("adamw", "sgd"),
    )
    weight_decay: float = option(0.01, "decay of the weights; none on biases and norms", low=0)
    beta2: float = option(0.999, "AdamW's memory of squared gradients", low=0, high=0.999999)
    warmup: float = option(
        0.1, "share of the steps with a rising rate; then it falls linearly to 0", low=0, high=1
    )
    clip: float = option(1.0, "largest norm of a gradient", low=1e-6)
    momentum: float = option(0.9, "SGD's memory of gradients", low=0, high=0.999999)
    rate_decay: float = option(0.0, "SGD's rate in epoch i, from 0, is rate / (1 + rate_decay * i)", low=0)
    precision: str = option(
        "auto",
        "auto: bf16 on a GPU, and on a CPU that multiplies it; else float32",
        choices=("auto", "float32", "bfloat16"),
    )
    device: str = option("auto", "auto: the first GPU if there is one; or cpu, cuda, cuda:1, mps")
    engine: str = option(
        "auto",
        "plain: one model at a time, any encoder; fast: several in step, captured steps, encoders like BERT; "
        "auto: fast on a GPU where it can",
        choices=("auto", "plain", "fast"),
    )


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


@dataclass(frozen=True)
class FineTune:
    """Plain fine-tuning: cross entropy over BIO tags, one linear head."""

    epochs: int = option(3, "passes over the data", low=1, high=10_000)
    learning_rate: float = option(5e-5, "peak rate", low=0)
    head_learning_rate: float = option(0.0, "peak rate of the head; 0: the same as the encoder's", low=0)


@dataclass(frozen=True)
class Bond:
    """Liang et al. 2020: early stopping, then teacher and student, over BIO tags, one linear head."""

    epochs: int = option(50, "passes over the data, both parts together", low=1, high=10_000)
    learning_rate: float = option(1e-5, "peak rate", low=0)
    head_learning_rate: float = option(0.0, "peak rate of the head; 0: the same as the encoder's", low=0)
    batch_size: int = option(
        16, "sentences in one step; here in place of optimiser.batch_size", low=1, high=100_000
    )
    weight_decay: float = option(1e-4, "AdamW's decay; here in place of optimiser.weight_decay", low=0)
    beta2: float = option(
        0.98, "AdamW's memory of squared gradients; here in place of optimiser.beta2", low=0, high=0.999999
    )
    warmup_steps: int = option(200, "steps with a rising rate; here in place of optimiser.warmup", low=0)
    begin_step: int = option(900, "steps on the distant labels; then the teacher begins", low=1)
    period: int = option(450, "steps between two teachers", low=1)
    labels: str = option(
        "soft",
        "soft: the teacher's squared and normalised distributions; hard: its best classes",
        choices=("soft", "hard"),
    )
    threshold: float = option(
        0.9, "soft labels count on words where one of their values is above this", low=0, high=1
    )


@dataclass(frozen=True)
class AutoNER:
    """AutoNER: ties and breaks between words, and the types of what lies between two breaks."""

    epochs: int = option(3, "passes over the data", low=1, high=10_000)
    learning_rate: float = option(5e-5, "peak rate", low=0)
    head_learning_rate: float = option(0.0, "peak rate of the heads; 0: the same as the encoder's", low=0)
    phrases: bool = option(
        True, "learn nothing around phrases of unknown type; off: every gap outside a name is a break"
    )


@dataclass(frozen=True)
class BilstmCrf:
    """BiLSTM-CNN-CRF: a linear-chain CRF over BIO tags, trained with SGD, whose values are these."""

    epochs: int = option(50, "passes over the data", low=1, high=10_000)
    learning_rate: float = option(0.015, "rate of the first epoch", low=0)
    rate_decay: float = option(0.05, "the rate in epoch i, from 0, is rate / (1 + rate_decay * i)", low=0)
    momentum: float = option(0.9, "SGD's memory of gradients", low=0, high=0.999999)
    clip: float = option(5.0, "largest norm of a gradient", low=1e-6)
    batch_size: int = option(10, "sentences in one step", low=1, high=100_000)


@dataclass(frozen=True)
class GoldSentences:
    """Sentences with true labels, learned together with the distantly labelled ones, by every method."""

    file: str = option("", "file of any labelled format; empty: none")
    format: str = option("", "its format, where it is not recognised")
    weight: float = option(5.0, "how much a word of a gold sentence counts; other words count 1", low=0)


@dataclass(frozen=True)
class Config:
    method: str = option("roster", "what to train", choices=METHODS)
    seed: int = option(30, "everything random follows from it", low=0, high=2**31 - 1)
    backbone: Backbone = field(default_factory=Backbone)
    bilstm: Bilstm = field(default_factory=Bilstm)
    optimiser: Optimiser = field(default_factory=Optimiser)
    noise_robust: NoiseRobust = field(default_factory=NoiseRobust)
    ensemble: Ensemble = field(default_factory=Ensemble)
    augmentation: Augmentation = field(default_factory=Augmentation)
    self_training: SelfTraining = field(default_factory=SelfTraining)
    fine_tune: FineTune = field(default_factory=FineTune)
    bond: Bond = field(default_factory=Bond)
    autoner: AutoNER = field(default_factory=AutoNER)
    bilstm_crf: BilstmCrf = field(default_factory=BilstmCrf)
    gold: GoldSentences = field(default_factory=GoldSentences)

    @property
    def augments(self) -> bool:
        """Whether `augmentation` has any effect: only RoSTER's self-training augments sentences."""
        return self.method == "roster" and self.self_training.enabled and self.augmentation.enabled

    @property
    def before_self_training(self) -> str:
        """The stage of RoSTER whose model self-training begins with."""
        if not self.ensemble.enabled:
            return "member-0"
        return "ensemble"

    @property
    def masked_lm(self) -> str | None:
        """The masked language model that rewrites sentences, by name or folder; None where none does."""
        if not self.augments or self.augmentation.by == "names":
            return None
        return self.augmentation.masked_lm or self.backbone.name

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Request:
    """What a user asked for: values by the full names of options, and nothing of what nobody set.

    With a preset, which is complete, nothing is derived from the data: `config()` is the effective config.
    """

    given: Mapping[str, Any]
    preset: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {"preset": self.preset, "given": dict(self.given)}

    def config(self) -> Config:
        """The values given, and the paper's for all else."""
        tree: dict[str, Any] = {}
        for name, value in self.given.items():
            _nest(tree, name, value)
        return from_dict(tree)

    def with_values(self, values: Mapping[str, Any]) -> Request:
        """The same with other values besides, which win."""
        return Request({**self.given, **values}, self.preset)


def load_request(
    *,
    preset: str | None = None,
    file: str | Path | None = None,
    overrides: Iterable[str | tuple[str, Any]] | Mapping[str, Any] = (),
) -> Request:
    """Preset, then file, then overrides (`a.b=value` strings, or pairs of name and value); all checked.

    >>> load_request(overrides=["noise_robust.q=0.5", "seed=7"]).given
    {'noise_robust.q': 0.5, 'seed': 7}
    """
    known, given = Config().as_dict(), {}
    sources: list[tuple[str, Mapping[str, Any]]] = []
    if preset is not None:
        sources.append((f"preset {preset}", _preset(preset)))
    if file is not None:
        sources.append((str(file), read_toml(Path(file))))
    items = overrides.items() if isinstance(overrides, Mapping) else overrides
    for item in items:
        nested: dict[str, Any] = {}
        _nest(nested, *(parse_override(item) if isinstance(item, str) else item))
        sources.append(("--set", nested))
    for source, tree in sources:
        _merge(known, tree, source)  # refuses what is unknown
        given.update(_flat(tree))
    request = Request(given, preset)
    request.config()  # refuses what is impossible
    return request


def load_config(
    *,
    preset: str | None = None,
    file: str | Path | None = None,
    overrides: Iterable[str | tuple[str, Any]] | Mapping[str, Any] = (),
) -> Config:
    """A complete config without data to derive values from: what is not given has the paper's value.

    >>> load_config(overrides=["noise_robust.q=0.5", "seed=7"]).noise_robust.q
    0.5
    """
    return load_request(preset=preset, file=file, overrides=overrides).config()


def _nest(tree: dict[str, Any], name: str, value: Any) -> None:
    """Puts a value at its place: `a.b` is `b` of the section `a`."""
    *sections, last = name.split(".")
    for section in sections:
        tree = tree.setdefault(section, {})
    tree[last] = value


def _flat(tree: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """The values of a tree by their full names."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        found.update(
            _flat(value, f"{where}{key}.") if isinstance(value, Mapping) else {f"{where}{key}": value}
        )
    return found


def from_dict(tree: Mapping[str, Any]) -> Config:
    """A checked config from plain values; every field that is not given keeps its default.

    >>> from_dict({"method": "bilstm-crf"}).backbone.name
    'bilstm-cnn'
    """
    whole = Config().as_dict()
    own = OWN_BACKBONES.get(str(tree.get("method")))
    if own is not None:
        whole["backbone"]["name"] = own
    _merge(whole, tree, "config")
    return _check(_build(Config, whole, ""))


def read_config(path: str | Path) -> Config:
    """A config as `to_toml` wrote it."""
    return from_dict(read_toml(Path(path)))


def to_toml(config: Any, *, comments: bool = True) -> str:
    """The config as a TOML file that reads as its own documentation."""
    top, sections = [], []
    for f in fields(config):
        value = getattr(config, f.name)
        if not is_dataclass(value):
            top.extend(_toml_field(f, value, comments))
            continue
        lines = [f"\n[{f.name}]"]
        if comments and type(value).__doc__ and not str(type(value).__doc__).startswith(type(value).__name__):
            lines.insert(1, f"# {type(value).__doc__}")
        for inner in fields(value):
            lines.extend(_toml_field(inner, getattr(value, inner.name), comments))
        sections.extend(lines)
    return "\n".join([*top, *sections]) + "\n"


def _toml_field(f: dataclasses.Field[Any], value: Any, comments: bool) -> list[str]:
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str):
        # JSON's escapes are TOML's; only DEL is allowed there and not here.
        text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    else:
        text = repr(value)
    return [f"# {f.metadata['doc']}", f"{f.name} = {text}"] if comments else [f"{f.name} = {text}"]


def _preset(name: str) -> dict[str, Any]:
    if name not in PRESETS:
        raise ConfigError(f"there is no preset '{name}'; the presets are {', '.join(PRESETS)}")
    text = (resources.files("roster") / "presets" / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def read_toml(path: Path, what: str = "config file") -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such {what}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a TOML file: {error}") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None


def parse_override(text: str) -> tuple[str, Any]:
    """`a.b=value`; the value is TOML where it parses as TOML, else a string."""
    path, equals, value = text.partition("=")
    path, value = path.strip(), value.strip()
    if not equals or not path:
        raise ConfigError(f"--set {text}: expected a.b=value, for example --set noise_robust.q=0.5")
    try:
        return path, tomllib.loads(f"x = {value}")["x"]
    except tomllib.TOMLDecodeError:
        return path, value


def _merge(tree: dict[str, Any], new: Mapping[str, Any], source: str, where: str = "") -> None:
    for key, value in new.items():
        name = f"{where}{key}"
        if key not in tree:
            close = difflib.get_close_matches(key, tree, n=1)
            hint = f"did you mean '{where}{close[0]}'? " if close else ""
            raise ConfigError(f"{source}: there is no option '{name}'; {hint}here are {', '.join(tree)}")
        if isinstance(tree[key], dict):
            if not isinstance(value, Mapping):
                raise ConfigError(
                    f"{source}: '{name}' is a section, with the options {', '.join(tree[key])}; "
                    f"set one of them, not the section"
                )
            _merge(tree[key], value, source, f"{name}.")
        elif isinstance(value, Mapping):
            raise ConfigError(f"{source}: '{name}' is an option, not a section")
        else:
            tree[key] = value


def _build(cls: type, tree: Mapping[str, Any], where: str) -> Any:
    hints = get_type_hints(cls)
    values = {}
    for f in fields(cls):
        value, kind = tree[f.name], hints[f.name]
        if isinstance(kind, type) and is_dataclass(kind):
            values[f.name] = _build(kind, value, f"{where}{f.name}.")
        else:
            values[f.name] = _value(value, kind, f, f"{where}{f.name}")
    return cls(**values)


T = TypeVar("T")


def section(cls: type[T], table: Mapping[str, Any], where: str, base: T | None = None) -> T:
    """One flat dataclass of options from a TOML table; what the table leaves out is as in `base`."""
    tree = dataclasses.asdict(cls() if base is None else base)  # type: ignore[call-overload]
    _merge(tree, table, where)
    try:
        return cast(T, _build(cls, tree, ""))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _value(value: Any, kind: Any, f: dataclasses.Field[Any], name: str) -> Any:
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    if get_origin(kind) is tuple:
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f"'{name}' must be a list of texts, not {value!r}")
        return tuple(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < 2**1000 else float("inf")
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(f"'{name}' must be {words[kind]}, not {value!r}")
    low, high, choices = f.metadata["low"], f.metadata["high"], f.metadata["choices"]
    if choices and value not in choices:
        raise ConfigError(f"'{name}' must be one of {', '.join(choices)}, not {value!r}")
    # `not (a <= b)` also refuses NaN.
    if (low is not None and not value >= low) or (high is not None and not value <= high):
        allowed = f"between {low} and {high}" if high is not None else f"at least {low}"
        raise ConfigError(f"'{name}' must be {allowed}, not {value}")
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        raise ConfigError(f"'{name}' must be finite")
    return value


def _check(config: Config) -> Config:
    """What no field can see alone."""
    if not config.backbone.name.strip():
        raise ConfigError("'backbone.name' is empty; give a folder, a hub name, or roster-small-en-2")
    augmentation = config.augmentation
    if augmentation.by != "frozen" and augmentation.masked_lm:
        instead = {"trained": "augments with the model itself", "names": "needs no model"}[augmentation.by]
        raise ConfigError(
            f"'augmentation.masked_lm' names another model, but 'augmentation.by' is '{augmentation.by}', "
            f"which {instead}; use 'augmentation.by = \"frozen\"', or leave masked_lm empty"
        )
    if augmentation.by != "names" and augmentation.dictionary:
        raise ConfigError(
            "'augmentation.dictionary' is read only where 'augmentation.by' is 'names'; set that too, or "
            "leave it empty"
        )
    return config
