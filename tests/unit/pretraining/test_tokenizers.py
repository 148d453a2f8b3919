"""Vocabularies trained from text, and cut ones that spell every text as before."""

from __future__ import annotations

import json
import string
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.backbone.alignment import WordEncoder
from roster.backbone.loading import load_tokenizer
from roster.backbone.token_features import token_features
from roster.errors import ConfigError, DataError, ModelError, RosterError
from roster.pretraining.tokenizer_structure import plain_backend, tokenizer_fingerprint
from roster.pretraining.tokenizer_training import train_tokenizer
from roster.pretraining.vocabulary_reduction import reduce_vocabulary

NAMES = ("Ada", "Bruno", "Çelik", "Dvořák", "Zürich", "O'Neill", "Kraków", "McAlister", "中国")
THINGS = (
    "walked",
    "walking",
    "walker",
    "unbelievable",
    "believing",
    "river-bank",
    "rivers",
    "3,141.59",
    "talked",
)
TEXT = [
    f"{NAMES[i % 9]} {THINGS[i * 7 % 9]} to {NAMES[i * 5 % 9]} and {THINGS[i * 4 % 9]} the {THINGS[i % 9]}s."
    for i in range(300)
]
KINDS = ("bpe", "wordpiece")
SIZES = {"bpe": 350, "wordpiece": 225}
SPECIALS = {
    "bpe": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    "wordpiece": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
}
WORDS = st.text(st.characters(exclude_categories=["Cs", "Z", "C"]), min_size=1, max_size=8)
SENTENCE = st.lists(st.one_of(st.sampled_from(NAMES + THINGS), WORDS), min_size=1, max_size=8)
PROSE = st.lists(st.sampled_from((*NAMES, *THINGS, " ", "  ", "Adas", "talker.", "“", "é")), max_size=12)


@pytest.fixture(scope="module")
def trained() -> dict[str, Any]:
    return {kind: train_tokenizer(iter(TEXT), SIZES[kind], kind) for kind in KINDS}


@pytest.fixture(scope="module")
def old(trained: dict[str, Any]) -> dict[str, Any]:
    """Tokenizers to be reduced, one of each kind, and the bundled one."""
    return {**trained, "unigram": unigram(), "roster-small-en-2": load_tokenizer("roster-small-en-2")}


def unigram() -> Any:
    """As XLM-R's, with special tokens at both ends of the vocabulary and a sequence of processors."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    t = Tokenizer(models.Unigram())
    t.pre_tokenizer, t.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=["<pad>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    t.train_from_iterator(TEXT, trainer)
    t.add_special_tokens(["<cls>", "<sep>", "<mask>"])
    numbers = [(name, t.token_to_id(name)) for name in ("<cls>", "<sep>")]
    template = processors.TemplateProcessing("<cls> $A <sep>", "<cls> $A <sep> $B <sep>", numbers)
    t.post_processor = processors.Sequence([template])
    return PreTrainedTokenizerFast(
        tokenizer_object=t, pad_token="<pad>", unk_token="<unk>", cls_token="<cls>", sep_token="<sep>",
        mask_token="<mask>", model_max_length=77, padding_side="left",
    )  # fmt: skip


def counts_of(tokenizer: Any, texts: list[str] = TEXT) -> np.ndarray:
    found = Counter(i for text in texts for i in tokenizer(text, add_special_tokens=False).input_ids)
    return np.array([found[i] for i in range(len(tokenizer))])


def least(name: str, tokenizer: Any) -> int:
    """The smallest size that a vocabulary can be cut to, as the error says it."""
    with pytest.raises(ConfigError, match="is too small for the special tokens and all characters") as error:
        reduce_vocabulary(tokenizer, np.zeros(len(tokenizer)), 5)
    return int(str(error.value).rsplit(" ", 1)[1])


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens(kind: str, trained: dict[str, Any]) -> None:
    tokenizer = trained[kind]
    assert len(tokenizer) == SIZES[kind]
    assert tokenizer.convert_ids_to_tokens(range(5)) == SPECIALS[kind]
    assert sorted(tokenizer.all_special_ids) == [0, 1, 2, 3, 4]
    first, last = (0, 2) if kind == "bpe" else (2, 3)
    assert [tokenizer.cls_token_id, tokenizer.sep_token_id] == [first, last]
    ids = tokenizer(f"Ada {tokenizer.mask_token} walked").input_ids
    assert [ids[0], ids[-1]] == [first, last]
    inner = tokenizer.convert_ids_to_tokens(ids[1:-1])
    assert tokenizer.mask_token in inner
    assert "Ġ" not in inner  # the mask takes the space before it


@pytest.mark.parametrize("kind", KINDS)
def test_a_tokenizer_comes_back_from_its_folder(kind: str, trained: dict[str, Any], tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = trained[kind]
    tokenizer.save_pretrained(tmp_path)
    back = AutoTokenizer.from_pretrained(tmp_path)
    assert back.is_fast
    assert tokenizer_fingerprint(back) == tokenizer_fingerprint(tokenizer)
    assert [back(text).input_ids for text in TEXT] == [tokenizer(text).input_ids for text in TEXT]
    assert back.get_vocab() == tokenizer.get_vocab()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(words=SENTENCE)
def test_words_are_aligned(kind: str, trained: dict[str, Any], words: list[str]) -> None:
    """Each word gets the sub-words that it has by itself."""
    encoder = WordEncoder(trained[kind], 4000)
    ((ids, owner),) = encoder.subwords([words])
    assert sorted(set(owner.tolist())) == list(range(len(words)))
    for i, word in enumerate(words):
        ((alone, _),) = encoder.subwords([[word]])
        assert ids[owner == i].tolist() == alone.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_traits_of_entries(kind: str, trained: dict[str, Any]) -> None:
    tokenizer = trained[kind]
    traits = token_features(tokenizer)
    for i, token in enumerate(tokenizer.convert_ids_to_tokens(range(len(tokenizer)))):
        begins = token.startswith("Ġ") if kind == "bpe" else not token.startswith("##")
        assert bool(traits.special[i]) == (i < 5)
        assert bool(traits.starts_word[i]) == (begins and i >= 5), token
        bare = token.removeprefix("Ġ").removeprefix("##")
        if bare.isascii() and i >= 5:
            assert bool(traits.capital[i]) == bare[:1].isupper(), token


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_text_gives_the_same_vocabulary(kind: str, trained: dict[str, Any], tmp_path: Path) -> None:
    """In another process too, where hash tables have another order."""
    (tmp_path / "text.json").write_text(json.dumps(TEXT))
    code = (
        "import json, sys; from roster.pretraining.tokenizer_training import train_tokenizer; "
        "from roster.pretraining.tokenizer_structure import tokenizer_fingerprint; "
        "_, path, kind, size = sys.argv; "
        "print(tokenizer_fingerprint(train_tokenizer(json.load(open(path)), int(size), kind)))"
    )
    arguments = [tmp_path / "text.json", kind, str(SIZES[kind])]
    found = subprocess.run(
        [sys.executable, "-c", code, *arguments], text=True, check=True, capture_output=True
    )
    assert found.stdout.strip() == tokenizer_fingerprint(trained[kind])


def test_bpe_spells_everything(trained: dict[str, Any]) -> None:
    text = " 𝕏\u0000 ñandú\u200d 東京"
    assert trained["bpe"].decode(trained["bpe"](text, add_special_tokens=False).input_ids) == text


def test_wordpiece_knows_the_characters_of_its_text(trained: dict[str, Any]) -> None:
    entries = trained["wordpiece"].get_vocab()
    characters = set("".join(TEXT)) - {" "} | set(string.ascii_letters + string.digits)
    assert all(c in entries and f"##{c}" in entries for c in characters)
    assert all(
        len(entry.removeprefix("##")) > 1 or entry.removeprefix("##") in characters for entry in entries
    )
    # One character in so many is not worth two entries.
    rare = train_tokenizer(["aaéa bbbb\x07\n" * 20_000 + "ÿ"], 200, "wordpiece")
    assert "é" in rare.get_vocab()
    assert "ÿ" not in rare.get_vocab()


def test_sizes_that_are_too_small() -> None:
    with pytest.raises(ConfigError, match=r"260 entries is too small for the 256 bytes.*use at least 261"):
        train_tokenizer(TEXT, 260)
    assert len(train_tokenizer(TEXT, 261)) == 261
    with pytest.raises(ConfigError, match=r"64 characters \(first in a word, and later\) .*use at least 133"):
        train_tokenizer(["a?! b?!"], 132, "wordpiece")
    assert len(train_tokenizer(["a?! b?!"], 133, "wordpiece")) == 133
    with pytest.raises(ConfigError, match="type of vocabulary 'words'; expected one of bpe, wordpiece"):
        train_tokenizer(TEXT, 500, "words")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_wrong_with_the_text_is_said(kind: str) -> None:
    def broken() -> Iterator[str]:
        yield from TEXT
        raise DataError("not UTF-8", path="a.txt", line=3)

    with pytest.raises(DataError, match=r"a\.txt, line 3: not UTF-8"):
        train_tokenizer(broken(), 400, kind)


def test_nowhere_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(RosterError, match=r"temporary folder .*none: No such file .*TMPDIR"):
        train_tokenizer(TEXT, 400, "wordpiece")


CUT = ("bpe", "wordpiece", "unigram", "roster-small-en-2")


@pytest.mark.parametrize("name", CUT)
def test_what_a_cut_keeps(name: str, old: dict[str, Any]) -> None:
    before = old[name]
    size = (least(name, before) + len(before)) // 2
    after, kept = reduce_vocabulary(before, counts_of(before), size)
    assert len(after) == len(kept) == size
    assert (np.diff(kept) > 0).all()
    assert after.convert_ids_to_tokens(range(size)) == before.convert_ids_to_tokens(kept.tolist())
    assert after.special_tokens_map == before.special_tokens_map
    assert after.all_special_tokens == before.all_special_tokens
    assert kept[after.all_special_ids].tolist() == before.all_special_ids
    for field in ("model_max_length", "padding_side", "model_input_names", "clean_up_tokenization_spaces"):
        assert getattr(after, field) == getattr(before, field)
    for text in ((), ("x",)):  # one text, and a pair
        wanted = before("a", *text).input_ids
        assert kept[after("a", *text).input_ids].tolist() == wanted
    mask = f"a {before.mask_token} b"
    assert after.tokenize(mask) == before.tokenize(mask)


@pytest.mark.parametrize("name", CUT)
def test_a_cut_tokenizer_comes_back_from_its_folder(name: str, old: dict[str, Any], tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    after, _ = reduce_vocabulary(old[name], counts_of(old[name]), least(name, old[name]) + 20)
    after.save_pretrained(tmp_path)
    back = AutoTokenizer.from_pretrained(tmp_path)
    assert tokenizer_fingerprint(back) == tokenizer_fingerprint(after)
    assert [back(text).input_ids for text in TEXT[:20]] == [after(text).input_ids for text in TEXT[:20]]
    assert back.all_special_tokens == old[name].all_special_tokens


def spelled(tokenizer: Any, text: str) -> list[tuple[int, int, str]]:
    """(begin, end, entry) of each piece."""
    found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    tokens = tokenizer.convert_ids_to_tokens(found.input_ids)
    return [(a, b, token) for (a, b), token in zip(found.offset_mapping, tokens, strict=True)]


def covered(pieces: list[tuple[int, int, str]]) -> set[int]:
    return {i for a, b, _ in pieces for i in range(a, b)}


@pytest.mark.parametrize("name", CUT)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_text_is_spelled_as_before(name: str, old: dict[str, Any], data: st.DataObject) -> None:
    before, text = old[name], " ".join(data.draw(st.one_of(PROSE, SENTENCE)))
    after = cuts(name, before)[data.draw(st.integers(0, 2))][0]
    one, two = spelled(before, text), spelled(after, text)
    prefix = "##" if name in ("wordpiece", "roster-small-en-2") else ""
    assert "".join(p.removeprefix(prefix) for *_, p in one) == "".join(
        p.removeprefix(prefix) for *_, p in two
    )
    assert covered(one) == covered(two)
    assert before.decode(before(text).input_ids) == after.decode(after(text).input_ids)
    kept = set(after.get_vocab())
    if {piece for *_, piece in one} <= kept:
        assert one == two


MADE: dict[str, list[tuple[Any, np.ndarray]]] = {}


def cuts(name: str, tokenizer: Any) -> list[tuple[Any, np.ndarray]]:
    """The smallest cut, one a little larger, and one in the middle."""
    if name not in MADE:
        low, counts = least(name, tokenizer), counts_of(tokenizer)
        sizes = (low, low + 10, (low + len(tokenizer)) // 2)
        MADE[name] = [reduce_vocabulary(tokenizer, counts, size) for size in sizes]
    return MADE[name]


def test_bpe_keeps_the_merges_that_save_most(trained: dict[str, Any]) -> None:
    """What is predicted from the counts is what the text then has; and no merge left out would save more."""
    before = trained["bpe"]
    merges = {"".join(m): m for m in json.loads(before.backend_tokenizer.to_str())["model"]["merges"]}
    fired = Counter()

    def fire(entry: str, times: int) -> None:
        if entry in merges:
            fired[entry] += times
            for part in merges[entry]:
                fire(part, times)

    counts = counts_of(before)
    for number, times in enumerate(counts.tolist()):
        fire(before.convert_ids_to_tokens(number), times)
    after, _ = reduce_vocabulary(before, counts, 320)
    stay = set(after.get_vocab()) & set(merges)
    assert len(stay) == 320 - 261
    assert all(part in after.get_vocab() for entry in stay for part in merges[entry])
    assert min(fired[entry] for entry in stay) >= max(fired[entry] for entry in set(merges) - stay)
    saved = sum(fired[entry] for entry in set(merges) - stay)
    assert counts_of(after).sum() == counts.sum() + saved


@pytest.mark.parametrize("name", ["wordpiece", "unigram"])
def test_the_most_frequent_entries_stay(name: str, old: dict[str, Any]) -> None:
    before, counts = old[name], counts_of(old[name])
    (_, smallest), (_, larger), _ = cuts(name, before)
    chosen = set(larger.tolist()) - set(smallest.tolist())
    rest = set(range(len(before))) - set(larger.tolist())
    assert len(chosen) == 10
    assert counts[list(chosen)].min() >= counts[list(rest)].max() > 0


def test_entries_that_characters_cannot_spell_stay() -> None:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    entries = ["[UNK]", "a", "##a", "b", "##b", "aq", "##bq", "aab", "ab"]
    vocab = {entry: i for i, entry in enumerate(entries)}
    model = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=model, unk_token="[UNK]", pad_token="[UNK]")
    after, kept = reduce_vocabulary(tokenizer, np.arange(9), 8)
    assert kept.tolist() == [0, 1, 2, 3, 4, 5, 6, 8]
    assert after.tokenize("aqbq") == ["aq", "##bq"]


def test_a_cut_that_cuts_nothing(old: dict[str, Any]) -> None:
    for name, before in old.items():
        after, kept = reduce_vocabulary(before, np.zeros(len(before)), 10**6)
        assert kept.tolist() == list(range(len(before))), name
        assert tokenizer_fingerprint(after) == tokenizer_fingerprint(before)


def test_added_tokens_stay() -> None:
    before = train_tokenizer(TEXT, 350)
    before.add_tokens(["GENE42"])
    before.add_special_tokens({"additional_special_tokens": ["<doc>"]})
    after, kept = reduce_vocabulary(before, np.zeros(len(before)), 270)
    assert kept[-2:].tolist() == [350, 351]
    assert after.tokenize("x GENE42<doc>") == before.tokenize("x GENE42<doc>")
    assert after.all_special_tokens == before.all_special_tokens
    plain = plain_backend(after).encode("GENE42<doc>", add_special_tokens=False).tokens
    assert plain[0] == "GENE42"
    assert "<doc>" not in plain


def test_what_cannot_be_cut() -> None:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    with pytest.raises(ModelError, match="WordLevel cannot be reduced; known are BPE, WordPiece, Unigram"):
        reduce_vocabulary(PreTrainedTokenizerFast(tokenizer_object=words), np.zeros(2), 2)
    with pytest.raises(ModelError, match="object is not a fast tokenizer"):
        reduce_vocabulary(object(), np.zeros(2), 2)


def test_the_last_call_does_not_change_a_tokenizer(trained: dict[str, Any]) -> None:
    """transformers leaves truncation and padding switched on in the tokenizer."""
    tokenizer = trained["wordpiece"]
    name, pieces = (
        tokenizer_fingerprint(tokenizer),
        len(tokenizer(TEXT[0], add_special_tokens=False).input_ids),
    )
    tokenizer(TEXT[:2], truncation=True, max_length=4, padding="max_length")
    assert tokenizer.backend_tokenizer.truncation is not None
    assert tokenizer_fingerprint(tokenizer) == name
    assert len(plain_backend(tokenizer).encode(TEXT[0], add_special_tokens=False).ids) == pieces
    assert tokenizer.backend_tokenizer.truncation is not None
