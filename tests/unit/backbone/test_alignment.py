"""No word is lost, none is doubled, whatever the tokenizer and whatever the words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.backbone.alignment import Specials, WordEncoder, align, windows
from roster.backbone.loading import load_tokenizer
from roster.errors import ModelError

CONVENTIONS = ["wordpiece", "bpe", "bpe-prefix", "unigram", "modern"]

ODD = st.sampled_from(list("\u200b\u200d\ufeff\u00ad\x00\x07\u0301\u2028\x85\xa0 ▁Ġ#👩💻🇨🇭️日のß.-'"))
WORD = st.text(ODD | st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["Anna", "talking", "##ing", "Ġthe", "▁the", "\u200b", "</s", "[UNK", "l'été"]
)
SPECIAL = ["<s>", "</s>", "<pad>", "<mask>", "<unk>", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]"]


@pytest.fixture(scope="session")
def encoders(tokenizers: dict[str, Any]) -> dict[str, WordEncoder]:
    return {name: WordEncoder(tokenizer, 24) for name, tokenizer in tokenizers.items()}


@pytest.mark.parametrize("name", CONVENTIONS)
@given(words=st.lists(WORD, max_size=12))
@settings(max_examples=150)
def test_every_word_has_one_first_sub_word_in_order(
    name: str, words: list[str], encoders: dict[str, WordEncoder]
) -> None:
    ((ids, owner),) = encoders[name].subwords([words])
    assert len(ids) == len(owner)
    assert (np.diff(owner) >= 0).all()
    assert sorted(set(owner.tolist())) == list(range(len(words)))


@pytest.mark.parametrize("name", CONVENTIONS)
@given(sentences=st.lists(st.lists(WORD | st.sampled_from(SPECIAL), max_size=30), max_size=4))
@settings(max_examples=60)
def test_every_word_is_classified_once(
    name: str, sentences: list[list[str]], encoders: dict[str, WordEncoder]
) -> None:
    encoder = encoders[name]
    encoded = encoder.encode(sentences)
    n = sum(map(len, sentences))
    assert encoded.n_words == n
    assert encoded.words.tolist() == list(range(n))
    assert len(encoded.positions) == n
    assert (encoded.lengths <= 24).all()
    special = set(encoder.tokenizer.all_special_ids) - {encoder.specials.unknown}
    for i in range(encoded.n_windows):
        ids = encoded.ids[encoded.starts[i] : encoded.starts[i + 1]].tolist()
        positions = encoded.positions[encoded.word_starts[i] : encoded.word_starts[i + 1]].tolist()
        assert ids[0] == encoder.prefix[0]
        assert ids[-1] == encoder.suffix[-1]
        assert positions == sorted(set(positions))
        assert positions[0] >= 1
        assert positions[-1] < len(ids) - 1
        # A special token is never classified, not even where the text spells one.
        assert not special & set(ids[1:-1])


@pytest.mark.parametrize("name", CONVENTIONS)
def test_sub_words_are_the_tokenizers_own(name: str, encoders: dict[str, WordEncoder]) -> None:
    """Ordinary words: what the tokenizer makes of each word alone, after a space."""
    encoder = encoders[name]
    words = ["Anna", "Berg", "talking", "unheard", ".", "Oslo", "box", "été"]
    ((ids, owner),) = encoder.subwords([words])
    for i, word in enumerate(words):
        pieces = encoder.tokenizer.tokenize(f" {word}")
        if pieces[0] in ("▁", "Ġ"):  # a piece that is only the space belongs to no word
            pieces = pieces[1:]
        assert encoder.tokenizer.convert_ids_to_tokens(ids[owner == i].tolist()) == pieces


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_word_is_the_same_anywhere(name: str, encoders: dict[str, WordEncoder]) -> None:
    ((ids, owner),) = encoders[name].subwords([["Anna", "saw", "Anna"]])
    assert ids[owner == 0].tolist() == ids[owner == 2].tolist()


def test_a_word_without_sub_words_is_unknown(encoders: dict[str, WordEncoder]) -> None:
    encoder = encoders["wordpiece"]
    ((ids, owner),) = encoder.subwords([["the", "\x00\u200b", "the", ""]])
    assert owner.tolist() == [0, 1, 2, 3]
    assert ids[1] == ids[3] == encoder.tokenizer.unk_token_id
    assert ids[0] == ids[2] != ids[1]


def test_pieces_that_point_back_stay_in_order() -> None:
    """A normaliser may move characters; a word's sub-words still come after those of the word before."""
    ids, owner = align(np.array([3, 3]), np.array([7, 8, 9]), np.array([(1, 3), (4, 6), (1, 3)]), 0)
    assert (ids.tolist(), owner.tolist()) == ([7, 8, 9], [0, 1, 1])


def test_many_sentences_are_their_own(encoders: dict[str, WordEncoder]) -> None:
    """More than one chunk; each sentence as if it were alone."""
    encoder = encoders["bpe"]
    sentences = [["Anna", "saw", "dog"][: i % 4] for i in range(2500)]
    alone = [list(map(list, next(encoder.subwords([s])))) for s in sentences[:4]]
    found = list(encoder.subwords(sentences))
    assert len(found) == 2500
    for i, (ids, owner) in enumerate(found):
        assert [list(ids), list(owner)] == alone[i % 4]


def test_nothing(encoders: dict[str, WordEncoder]) -> None:
    for sentences in ([], [[]], [[], []]):
        encoded = encoders["bpe"].encode(sentences)
        assert (encoded.n_windows, encoded.n_words, len(encoded.ids)) == (0, 0, 0)
    encoded = encoders["bpe"].encode([[], ["Anna"], []])
    assert encoded.words.tolist() == [0]


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_sentence_of_five_thousand_words(name: str, tokenizers: dict[str, Any]) -> None:
    words = [("Anna", "went", "unforgettably", "to", "Oslo", ".", "日本")[i % 7] for i in range(5000)]
    encoder = WordEncoder(tokenizers[name], 64)
    encoded = encoder.encode([words])
    assert encoded.words.tolist() == list(range(5000))
    assert encoded.lengths.max() <= 64
    # Every word still has its own first sub-word under it.
    ((flat, owner),) = encoder.subwords([words])
    firsts = flat[np.searchsorted(owner, np.arange(5000))]
    starts = np.repeat(encoded.starts[:-1], np.diff(encoded.word_starts))
    assert np.array_equal(encoded.ids[starts + encoded.positions], firsts)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_long_texts_are_cut_between_sentences(name: str, tokenizers: dict[str, Any]) -> None:
    """Each part is read as if it were alone; a list of words that fits into a window is not cut."""
    encoder = WordEncoder(tokenizers[name], 24)
    parts = [["Anna", "went", "to", "Oslo", "."], ["the", "house"] * 20, ["日本", "."]]
    whole, short = [word for part in parts for word in part], ["Anna", ".", "Dora", "."]
    asked = []

    def borders(i: int) -> list[int]:
        asked.append(i)
        return [5, 45]

    found = encoder.encode([short, [], whole, short], borders)
    alone = encoder.encode([short, [], *parts, short])
    assert asked == [2]
    for field in ("ids", "starts", "positions", "words", "word_starts"):
        assert np.array_equal(getattr(found, field), getattr(alone, field)), field


@st.composite
def layouts(draw: st.DrawFn) -> tuple[np.ndarray, int, int]:
    widths = draw(st.lists(st.integers(1, 9), min_size=1, max_size=60))
    firsts = np.cumsum([0, *widths[:-1]])
    return firsts, sum(widths), draw(st.integers(4, 40))


@given(layouts())
@settings(max_examples=300)
def test_windows(layout: tuple[np.ndarray, int, int]) -> None:
    firsts, length, room = layout
    found = windows(firsts, length, room)
    assert [w for _, _, a, b in found for w in range(a, b)] == list(range(len(firsts)))
    for start, stop, a, b in found:
        assert 0 <= start < stop <= length
        assert stop - start <= room
        for first in firsts[a:b]:
            assert start <= first < stop
            # Away from a cut by about a quarter of the window, on both sides.
            if start > 0:
                assert first - start >= room // 4 - 1
            if stop < length:
                assert stop - first >= room // 4


@given(layouts())
def test_each_word_stands_where_it_is_farthest_from_a_cut(layout: tuple[np.ndarray, int, int]) -> None:
    firsts, length, room = layout
    found = windows(firsts, length, room)
    stride = room // 2
    begins = [0] if length <= room else [*range(0, length - room, stride), length - room]

    def distance(first: int, begin: int) -> int:
        end = begin + room
        left = first - begin if begin > 0 else length
        right = end - first if end < length else length
        return min(left, right) if begin <= first < end else -1

    for start, _, a, b in found:
        for first in firsts[a:b].tolist():
            best = max(distance(first, begin) for begin in begins)
            assert distance(first, start) >= best - 1  # one off by rounding


def test_no_room() -> None:
    tokenizer = load_tokenizer("roster-small-en-2")
    with pytest.raises(ModelError, match="use at least 6"):
        WordEncoder(tokenizer, 5)
    assert WordEncoder(tokenizer, 600, 512).limit == 512
    assert WordEncoder(tokenizer, 100, 512).room == 98
    assert WordEncoder(tokenizer, 100, None).limit == 100


def test_bundled_tokenizer(tmp_path: Path) -> None:
    encoder = WordEncoder(load_tokenizer("roster-small-en-2"), 150)
    ((_, owner),) = encoder.subwords([["Angela", "Merkel", "\u200d", "👩‍💻", "visited", "Paris", "."]])
    assert sorted(set(owner.tolist())) == list(range(7))


def plainly(encoder: WordEncoder, sentences: list[list[str]]) -> list[tuple[list[int], list[int], list[int]]]:
    """Windows as (ids, positions, words), sentence by sentence and word by word."""
    found, number = [], 0
    for words in sentences:
        pieces: list[int] = []
        firsts: list[int] = []
        if words:
            ((ids, owner),) = encoder.subwords([words])
            pieces = ids.tolist()
            firsts = [owner.tolist().index(i) for i in range(len(words))]
        for a, b, first, last in windows(np.array(firsts), len(pieces), encoder.room):
            ids = [*encoder.prefix, *pieces[a:b], *encoder.suffix]
            positions = [at - a + len(encoder.prefix) for at in firsts[first:last]]
            found.append((ids, positions, list(range(number + first, number + last))))
        number += len(words)
    return found


@pytest.mark.parametrize("name", CONVENTIONS)
@given(sentences=st.lists(st.lists(WORD | st.sampled_from(SPECIAL), max_size=40), max_size=6))
@settings(max_examples=40)
def test_windows_are_those_of_each_sentence_alone(
    name: str, sentences: list[list[str]], encoders: dict[str, WordEncoder]
) -> None:
    encoder = encoders[name]
    e = encoder.encode(sentences)
    found = []
    for i in range(e.n_windows):
        words = slice(e.word_starts[i], e.word_starts[i + 1])
        ids = e.ids[e.starts[i] : e.starts[i + 1]].tolist()
        found.append((ids, e.positions[words].tolist(), e.words[words].tolist()))
    assert found == plainly(encoder, sentences)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_bare_tokenizer_does_the_same(name: str, tokenizers: dict[str, Any], tmp_path: Path) -> None:
    """That of the tokenizers library, from the file, whatever padding and truncation the file asks for."""
    from tokenizers import Tokenizer

    tokenizers[name].save_pretrained(tmp_path)
    bare = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    bare.enable_truncation(5)
    bare.enable_padding(length=9)
    specials = Specials.of(tokenizers[name])
    sentences = [["Anna", "[SEP]", "<mask>", "l'été", "👩‍💻", "\u200b"], [], ["talking"] * 60]
    mine = WordEncoder(bare, 24, specials=specials).encode(sentences)
    theirs = WordEncoder(tokenizers[name], 24).encode(sentences)
    for field in ("ids", "starts", "positions", "words", "word_starts"):
        assert np.array_equal(getattr(mine, field), getattr(theirs, field)), field
