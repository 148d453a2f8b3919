"""RoSTER as the paper's Algorithm 1: K noise-robust models, their ensemble, self-training.

Each stage is compared with what it began with, by what the models find in the training text. No gold label is
needed for that; a stage that loses what came before is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from roster.backbone.loading import load_masked_lm
from roster.config import Config
from roster.errors import DeviceMemoryError, RosterError
from roster.methods.roster import ROUNDS, masked_lm_name
from roster.methods.roster.augmentation import make_augmenter
from roster.methods.roster.ensemble import DistillationObjective, mean_distribution
from roster.methods.roster.folds import Folds, make_folds
from roster.methods.roster.head import TwoHeads
from roster.methods.roster.holdout import held_out_recall, shares_by_name
from roster.methods.roster.label_removal import COMPLETE, outside_labels, words_of_phrases
from roster.methods.roster.masking import input_mask
from roster.methods.roster.name_augmentation import NameAugmenter, dictionary_names, labelled_names
from roster.methods.roster.noise_robust import NoiseRobustObjective, repaired
from roster.methods.roster.self_training import SelfTrainingObjective, VariableLengthSelfTraining
from roster.methods.roster.settings import Augmentation, Ensemble, NoiseRobust, SelfTraining
from roster.methods.roster.stage_checks import agreement, lost_types
from roster.model.batches import DeviceCorpus
from roster.model.memory import is_out_of_memory, release
from roster.progress import timed
from roster.training.mentions import found_mentions
from roster.training.objective import Models, Schedule, derive_seed
from roster.training.predictions import Predictions
from roster.training.run import Run
from roster.training.stage import finish_stage, train_stage
from roster.training.task import Task

LEARNED = 0.4
"""A member that finds less than this share of the labels it was taught has to be trained again. Members that
learn find .55 to .85 of them, whatever the labels; one that found .19 was .20 below plain fine-tuning."""
ENSEMBLE, SELF_TRAINING = "ensemble", "self-training"
"""Names of stages, as in the run folder."""
REACHED, GAIN = 0.98, 0.005
"""Distillation goes on while it agrees with the mean on less than the first share of the entity words and
gains at least the second, for at most `ROUNDS`."""
FOLLOWED = 0.87
"""Self-training takes an ensemble model's own predictions for targets. One that agrees with the mean of the
members on less than this share of the entity words has not followed its first target, and loses more."""


def train_roster(task: Task, run: Run) -> TwoHeads:
    """Distant labels in, recogniser out. Finished stages are taken from the run folder."""
    ensemble = task.config.section(Ensemble)
    k = ensemble.models if ensemble.enabled else 1
    y: np.ndarray | None = None
    train_members(task, run, k)  # lines 2 to 9
    last = member_name(0)
    if ensemble.enabled:
        y = mean_of_members(task, run, k)
        distil(task, run, y, k)  # line 10
        last = ENSEMBLE
    if task.config.section(SelfTraining).enabled and follows_the_mean(task, run):  # lines 11 to 18
        self_train(task, run, y, last)
        last = SELF_TRAINING
    model = task.new_model(TwoHeads, 0)
    model.load_state_dict(run.weights(last))
    return model


def member_name(member: int) -> str:
    """The stage that trains a member."""
    return f"member-{member}"


# -- lines 2 to 9: the K models --------------------------------------------------------------------


@dataclass(frozen=True)
class Member:
    """One of the K models after training.

    `p` [words, classes] and `splits` are its predicted distributions on the training text and on each split.
    Its weights are those of number `index` in `models`.
    """

    p: torch.Tensor
    splits: Mapping[str, np.ndarray]
    models: Models
    index: int
    facts: Mapping[str, Any]
    removed: torch.Tensor
    """[words]: how often label removal found the label of a word wrong."""

    @property
    def classes(self) -> np.ndarray:
        found: np.ndarray = self.p.numpy().argmax(-1)
        return found


def train_members(task: Task, run: Run, k: int) -> None:
    """The K models, as many in step as the engine takes, and fewer if these do not fit into its memory.

    A run that is continued has the groups it began with, because what a member learns depends on which others
    it is in step with. So a group is trained again as a whole if one of its members is missing.
    """
    folds = member_folds(task, k)
    size = run.remembered("at_once", task.engine_of(NoiseRobustObjective).at_once)
    groups = [list(range(start, min(k, start + size))) for start in range(0, k, size)]
    while groups:
        members = groups.pop(0)
        if all(run.finished(member_name(member)) for member in members):
            continue
        try:
            _train_group(task, run, folds, members)
            continue
        except Exception as error:
            if len(members) == 1 or not (isinstance(error, DeviceMemoryError) or is_out_of_memory(error)):
                raise
        release()
        size = run.remember("at_once", (len(members) + 1) // 2)
        run.log(
            f"{len(members)} models do not fit into the device's memory together; {size} are trained at once"
        )
        groups = [list(range(start, min(k, start + size))) for start in range(members[0], k, size)]


def _train_group(task: Task, run: Run, folds: Folds, members: Sequence[int]) -> None:
    """Members in step. What stays of each is its distribution, and the weights of the one closest to their
    mean, which distillation may begin with."""
    with timed("members") as clock:
        trained = _train(task, run, folds, members, task.config.section(NoiseRobust))
        trained = _extend(task, run, folds, members, trained)
    cost = {**clock.facts, "seconds": round(clock.facts["seconds"] / len(members), 3)}
    if len(members) > 1:
        cost["at_once"] = len(members)
    found = [_repair(task, run, folds, n, one, cost) for n, one in zip(members, trained, strict=True)]
    mean = mean_distribution(one.p.numpy() for one in found).argmax(-1)
    closest = int(np.argmax([agreement(one.classes, mean) for one in found]))
    for i, (member, one) in enumerate(zip(members, found, strict=True)):
        _finish_member(task, run, member, one, keep_weights=i == closest)


def member_folds(task: Task, k: int) -> Folds:
    """The names held out of each member; a single model learns all of them."""
    folded = task.config.section(NoiseRobust).folds and task.config.section(Ensemble).enabled
    return make_folds(task.sentences, task.types, k if folded else 0, task.config.seed, task.is_gold)


def _train(
    task: Task,
    run: Run,
    folds: Folds,
    members: Sequence[int],
    config: NoiseRobust,
    attempt: str = "",
    start: Sequence[Member] = (),
) -> list[Member]:
    """Trains members in step, from the pre-trained encoder or from the weights of `start`. The name of a
    second `attempt` is part of its stage's name and of its seeds."""
    seeds = [derive_seed(task.config.seed, "member", member, *filter(None, [attempt])) for member in members]
    models = [task.new_model(TwoHeads, seed) for seed in seeds]
    for model, one in zip(models, start, strict=False):
        model.load_state_dict(one.models.state_dict(one.index))
    schedule = Schedule(config.epochs, config.learning_rate, config.head_learning_rate)
    objective = NoiseRobustObjective(
        task.corpus,
        task.labels,
        config,
        [derive_seed(seed, "dropped") for seed in seeds],
        input_mask(config.mask_inputs, task.encoder, task.device),
        task.gold,
        unlabelled(task),
        held_out=np.stack([folds.held_out(member) for member in members]),
        steps=task.steps(schedule),
    )
    stage = "+".join(member_name(member) for member in members) + (f"-{attempt}" if attempt else "")
    trained, facts = train_stage(task, run, stage, models, objective, schedule, seeds)
    p, splits = trained.read(task.corpus).half().cpu(), task.read_splits(trained)
    return [
        Member(
            p[i],
            {name: q[i] for name, q in splits.items()},
            trained,
            i,
            {**seen, **objective.facts(i), "kept_by_type": objective.kept_by_type(i, task.types)},
            objective.removed[i].cpu(),
        )
        for i, seen in enumerate(facts)
    ]


def _extend(
    task: Task, run: Run, folds: Folds, members: Sequence[int], trained: Sequence[Member]
) -> list[Member]:
    """Doubles the training of members whose labels look complete; returns all members.

    Long training fits missing names as O, so training is short by default. Where few names are missing, it is
    too short: GCE with dropped O labels converges more slowly than cross entropy.
    """
    config, found = task.config.section(NoiseRobust), list(trained)
    if not config.extend:
        return found
    outside = [_outside(task, folds, member, one) for member, one in zip(members, found, strict=True)]
    learned = [
        learned_share(one.classes, folds, member, task.starts) >= LEARNED  # others find little anywhere
        for member, one in zip(members, found, strict=True)
    ]
    long = [i for i, ratio in enumerate(outside) if ratio < COMPLETE and learned[i]]
    if long:
        names = ", ".join(f"member-{members[i]}" for i in long)
        run.log(f"labels look complete (few entities predicted outside them); training continues for {names}")
        start, which = [found[i] for i in long], [members[i] for i in long]
        again = replace(config, plain=0.0, plain_types=0.0, entity_warmup=0.0)
        for i, one in zip(long, _train(task, run, folds, which, again, "extended", start), strict=True):
            found[i] = one
    return [
        replace(one, facts={**one.facts, "outside_labels": round(ratio, 4), "extended": i in long})
        for i, (one, ratio) in enumerate(zip(found, outside, strict=True))
    ]


def _outside(task: Task, folds: Folds, member: int, trained: Member) -> float:
    """`outside_labels` of a member, without the words of names held out of it."""
    predicted = torch.from_numpy((trained.classes > 0) & ~folds.held_out(member))
    return outside_labels(predicted, torch.from_numpy(task.labels))


def _repair(
    task: Task, run: Run, folds: Folds, member: int, trained: Member, cost: Mapping[str, Any]
) -> Member:
    """A member as it was trained; one that does not find what it was taught is trained again."""
    name, config = member_name(member), task.config.section(NoiseRobust)
    trained = replace(trained, facts={**trained.facts, **cost})
    learned = learned_share(trained.classes, folds, member, task.starts)
    if not config.repair or learned >= LEARNED:
        return trained
    run.log(f"{name} finds {learned:.0%} of its labels; it is trained again with cross entropy")
    with timed("members") as clock:
        (again,) = _train(task, run, folds, [member], repaired(config, task.steps_per_epoch()), "again")
    seconds = round(cost["seconds"] + clock.facts["seconds"], 3)
    kept, more = again, {**clock.facts, "seconds": seconds, "trained_again": True}
    if _finds_more_names(trained.classes, again.classes, folds, member, task.starts):
        run.log(f"{name}: the first model has the higher hold-out recall; that model is kept")
        kept, more = trained, {**more, "trained_again": False}
    return replace(kept, facts={**kept.facts, **cost, **more})


def _finish_member(task: Task, run: Run, member: int, trained: Member, keep_weights: bool) -> None:
    """Keeps a member's predictions for the mean, and its weights where a later stage begins with them."""
    name, ensemble = member_name(member), task.config.section(Ensemble)
    splits = {split: torch.from_numpy(q.astype(np.float16)) for split, q in trained.splits.items()}
    needed = (ensemble.start == "member" and keep_weights) or not ensemble.enabled
    weights = trained.models.state_dict(trained.index) if needed else None
    facts = {**trained.facts, "scores": task.score(trained.splits, TwoHeads)}
    run.finish(name, facts, weights=weights, predictions=Predictions(trained.p, splits, trained.removed))
    if finds_nothing(trained.p.numpy()):
        run.log(f"{name} finds no entity in its own training text; more labels or more epochs may help")


def kept_predictions(task: Task, run: Run) -> dict[str, torch.Tensor]:
    """What the members think of every training word, and which of them did not learn its label."""
    ensemble = task.config.section(Ensemble)
    k = ensemble.models if ensemble.enabled else 1
    members = [run.predictions(member_name(member)) for member in range(k)]
    removed = [one.removed for one in members]
    kept = {member_name(i): one.train for i, one in enumerate(members)}
    if all(one is not None for one in removed):
        kept["removed"] = torch.stack([one for one in removed if one is not None])
    return {**kept, "held_out": torch.from_numpy(member_folds(task, k).of_word)}


def learned_share(classes: np.ndarray, folds: Folds, member: int, starts: np.ndarray) -> float:
    """The share of the mentions a member was taught that it finds, from the class of every word."""
    taught = ~folds.held_out_mentions(member)
    found = found_mentions(classes, folds.mentions, starts)[taught]
    return float(found.mean()) if len(found) else 1.0


def _finds_more_names(
    classes: np.ndarray, other: np.ndarray, folds: Folds, member: int, starts: np.ndarray
) -> bool:
    """Whether the first predictions have the higher hold-out recall (mean by name) for this member."""
    which = folds.held_out_mentions(member)
    one, two = (
        shares_by_name(found_mentions(x, folds.mentions, starts), folds.mentions, which)
        for x in (classes, other)
    )
    return bool(len(one)) and float(one.mean()) > float(two.mean())


def finds_nothing(p: np.ndarray) -> bool:
    """Whether O is the most likely label of every word, as when generalised cross entropy gave up.

    >>> finds_nothing(np.array([[0.6, 0.4], [0.9, 0.1]])), finds_nothing(np.array([[0.6, 0.4], [0.3, 0.7]]))
    (True, False)
    """
    return not (p.argmax(axis=1) > 0).any()


# -- line 10: the ensemble -------------------------------------------------------------------------


def mean_of_members(task: Task, run: Run, k: int) -> np.ndarray:
    """The mean distribution on the training words, of the members that find anything.

    The mean on the report splits is scored in passing, and the hold-out recall estimated.
    """
    members = [run.predictions(member_name(member)) for member in range(k)]
    useful = [one for one in members if not finds_nothing(one.train.numpy())]
    if task.config.section(NoiseRobust).repair and not useful:
        raise RosterError(
            "no member finds an entity, though the labels name some: nothing can be learned from these "
            "labels. A larger dictionary or more text gives more of them; --method fine-tune shows what they "
            "teach"
        )
    useful = useful or members
    if not run.finished("mean-of-members"):
        means = {n: mean_distribution(one.splits[n].numpy() for one in useful) for n in task.splits}
        facts: dict[str, Any] = {"scores": task.score(means, TwoHeads)}
        if task.config.section(NoiseRobust).folds:
            facts["hold_out_recall"] = _hold_out(task, k, [one.train.numpy() for one in members])
        run.finish("mean-of-members", facts)
    return mean_distribution(one.train.numpy() for one in useful)


def _hold_out(task: Task, k: int, members: Sequence[np.ndarray]) -> dict[str, Any]:
    """By type, and of all: an estimate of how many names that no label lists will be found."""
    folds, classes = member_folds(task, k), [p.argmax(-1) for p in members]
    names: dict[str, int | None] = {"all": None, **{t: i for i, t in enumerate(task.types, 1)}}
    found = {n: held_out_recall(classes, folds, task.starts, label) for n, label in names.items()}
    return {name: estimate.as_dict() for name, estimate in found.items() if estimate is not None}


def closest_member(run: Run, k: int, target: np.ndarray) -> tuple[str, float]:
    """Of the members whose weights are kept, the one that agrees best with the classes `target`, and its
    agreement."""
    names = [name for member in range(k) if run.has_weights(name := member_name(member))]
    agreements = [agreement(run.predictions(name).train.numpy().argmax(-1), target) for name in names]
    best = int(np.argmax(agreements))
    return names[best], agreements[best]


def distil(task: Task, run: Run, y: np.ndarray, k: int) -> None:
    """One model learns the mean of the K members, in as many rounds as it takes to agree with it."""
    stage, config = ENSEMBLE, task.config.section(Ensemble)
    if run.finished(stage):
        return
    target = y.argmax(-1)
    start: dict[str, torch.Tensor] | None = None
    if config.start == "member":
        member, before = closest_member(run, k, target)
        start = run.weights(member)
    weights, engine = start, task.engine_of(DistillationObjective)
    with timed(stage) as clock:
        reached, rounds = -1.0, 0
        while rounds < ROUNDS:
            seed = derive_seed(task.config.seed, stage, *([rounds] if rounds else []))
            model = task.new_model(TwoHeads, seed)
            if weights is not None:
                model.load_state_dict(weights)
            schedule = Schedule(config.epochs, config.learning_rate, config.head_learning_rate)
            objective = DistillationObjective(task.corpus, y, task.gold, joint=config.loss == "joint")
            name = stage if not rounds else f"{stage}-{rounds + 1}"
            models, (facts,) = train_stage(task, run, name, [model], objective, schedule, [seed])
            last, reached = reached, agreement(models.read(task.corpus)[0].argmax(-1).cpu().numpy(), target)
            rounds += 1
            if reached < last and weights is not None:
                reached = last
                model.load_state_dict(weights)
                models = engine.take([model])
                break
            if reached >= REACHED or reached < last + GAIN or not task.config.section(NoiseRobust).repair:
                break
            weights = dict(models.state_dict(0))
    facts = {**facts, **clock.facts, "agreement": round(reached, 4), "rounds": rounds}
    if start is not None and reached < before and task.config.section(NoiseRobust).repair:
        run.log(
            f"the ensemble model agrees less with the mean of the members than {member}; that one is taken"
        )
        model.load_state_dict(start)
        models, facts["undone"] = engine.take([model]), f"agrees less with the mean than {member}"
        facts["agreement"] = round(before, 4)
    finish_stage(task, run, stage, models, TwoHeads, facts)


# -- lines 11 to 18: self-training -----------------------------------------------------------------


def follows_the_mean(task: Task, run: Run) -> bool:
    """Whether the ensemble model, where there is one, agrees with the mean well enough to teach itself."""
    if not (task.config.section(Ensemble).enabled and task.config.section(NoiseRobust).repair):
        return True
    share: float = run.results["stages"][ENSEMBLE]["agreement"]
    if share < FOLLOWED:
        run.log(
            f"no self-training: the ensemble model agrees with the mean of the members on only {share:.0%} "
            "of the entity words, so its own predictions would be worse targets"
        )
    return share >= FOLLOWED


def self_train(task: Task, run: Run, y: np.ndarray | None, start: str) -> None:
    stage = SELF_TRAINING
    if run.finished(stage):
        return
    config, seed = task.config.section(SelfTraining), derive_seed(task.config.seed, stage)
    kind = SelfTrainingObjective if keeps_lengths(task.config) else VariableLengthSelfTraining
    engine = task.engine_of(kind)
    with timed(stage) as clock:
        model = task.new_model(TwoHeads, seed)
        model.load_state_dict(run.weights(start))
        before = engine.take([model]).read(task.corpus)[0].argmax(-1).cpu().numpy()
        augment = augmenter(task, seed) if task.config.section(Augmentation).enabled else None
        objective = kind(task.corpus, y, config, augment, task.gold)
        schedule = Schedule(config.epochs, config.learning_rate)
        models, (facts,) = train_stage(task, run, stage, [model], objective, schedule, [seed])
        after = models.read(task.corpus)[0].argmax(-1).cpu().numpy()
    facts = {**facts, **clock.facts, "type_targets": objective.type_targets()}
    lost = lost_types(before, after, task.mentions, task.starts, task.types)
    if lost and task.config.section(NoiseRobust).repair:
        run.log(f"self-training lost entities of {', '.join(lost)}; it is undone")
        model.load_state_dict(run.weights(start))
        models, facts["undone"] = engine.take([model]), f"lost entities of {', '.join(lost)}"
    finish_stage(task, run, stage, models, TwoHeads, facts)


def augmenter(task: Task, seed: int) -> Callable[[Models, int], DeviceCorpus]:
    """Line 12: what rewrites the sentences of the corpus before every epoch."""
    config, words = task.config.section(Augmentation), [s.words for s in task.sentences]
    if config.by == "names":
        names = (
            dictionary_names(config.dictionary, task.types)
            if config.dictionary
            else labelled_names(task.sentences)
        )
        return NameAugmenter(names, task.corpus, task.sentences, task.encoder, seed)
    return make_augmenter(
        config, masked_lm(task), task.corpus, words, task.encoder, seed, task.config.optimiser.precision
    )


def masked_lm(task: Task) -> Any:
    """The masked language model that writes augmentations, loaded once."""
    name = masked_lm_name(task.config)
    assert name is not None
    return load_masked_lm(name)


def keeps_lengths(config: Config) -> bool:
    """Whether augmentations keep the number of sub-words: neither other names nor another vocabulary."""
    own = config.section(Augmentation)
    return not own.enabled or (own.by != "names" and not own.masked_lm)


def unlabelled(task: Task) -> np.ndarray | None:
    """The words that are in no noise-robust loss; None: every word has a label, be it `O`."""
    return words_of_phrases(task.sentences) if task.config.section(NoiseRobust).phrases else None
