"""Labels of common words at the start of a sentence."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from roster.corpus.sentence import Sentence, Span
from roster.methods.roster.common_words import common_words, describe_skipped, skip_common_words


def sentence(text, *labels):
    words = text.split()
    return Sentence.from_words(words, [Span(start, end, kind) for start, end, kind in labels])


BODY = [
    sentence("the ship left the port of Bergen for the north .", (6, 7, "LOC")),
    sentence("Oslo and the sea .", (0, 1, "LOC")),
    sentence('" The band played in Bergen .', (1, 2, "MISC"), (5, 6, "LOC")),
    sentence("The Knife sang .", (0, 2, "MISC")),
    sentence("They heard Abba .", (2, 3, "MISC")),
]


def test_a_word_that_the_text_has_in_lower_case_more_often():
    assert common_words(BODY) == {"The": 1}  # not Oslo, not the two words, not Bergen in the middle


def test_a_word_that_is_labelled_inside_sentences_is_a_name():
    inside = [sentence("Yesterday The sang .", (1, 2, "MISC"))] * 2
    assert common_words([*BODY, *inside]) == {}


def test_a_word_that_is_labelled_as_often_as_it_is_common():
    turkey = [sentence("Turkey won .", (0, 1, "LOC")), sentence("they ate turkey .")]
    assert common_words([*BODY, *turkey]) == {"The": 1}
    assert common_words([*BODY, *turkey, sentence("more turkey .")]) == {"The": 1, "Turkey": 1}


def test_a_type_that_is_also_written_in_lower_case_is_left_alone():
    dates = [sentence("Today it rains .", (0, 1, "DATE")), sentence("it rained last week .", (2, 4, "DATE"))]
    body = [*dates, sentence("it rains today , and today .")]
    assert common_words(body) == {}
    upper = [dates[0], *[sentence("it rained on Monday .", (3, 4, "DATE"))] * 20]
    assert common_words([*upper, body[-1]]) == {"Today": 1}


def test_skipped_labels_are_phrases_of_unknown_type():
    found, skipped = skip_common_words(BODY, [False] * len(BODY))
    assert skipped == {"The": 1}
    assert found[2].spans == (Span(5, 6, "LOC"),)
    assert found[2].unknown == (Span(1, 2, ""),)
    assert [s for i, s in enumerate(found) if i != 2] == [s for i, s in enumerate(BODY) if i != 2]


def test_sure_labels_stay_and_count_for_nothing():
    found, skipped = skip_common_words(BODY, [True] * len(BODY))
    assert found == BODY
    assert skipped == {}


def test_a_type_keeps_its_last_labels():
    only = [sentence("The band .", (0, 1, "MISC")), sentence("in the port of the town ."), BODY[0]]
    assert common_words(only) == {"The": 1}
    found, skipped = skip_common_words(only, [False] * len(only))
    assert found == only
    assert skipped == {}


def test_the_log_names_the_most_frequent():
    text = describe_skipped({f"W{i}": 9 - i for i in range(7)})
    assert "W0 (9)" in text
    assert "W5" not in text
    assert "2 other words" in text


words = st.sampled_from(["The", "the", "a", "A", "Oslo", "IBM", "1990", ",", "éa", "Éa"])


@st.composite
def labelled(draw):
    text = draw(st.lists(words, min_size=1, max_size=8))
    spans, at = [], 0
    while at < len(text):
        end = draw(st.integers(at + 1, len(text)))
        if draw(st.booleans()):
            spans.append(Span(at, end, draw(st.sampled_from(["A", "B"]))))
        at = end
    return Sentence.from_words(text, spans)


@given(st.lists(st.tuples(labelled(), st.booleans()), max_size=12))
def test_nothing_is_lost_but_labels_of_one_word(pairs):
    sentences, sure = [s for s, _ in pairs], [known for _, known in pairs]
    found, skipped = skip_common_words(sentences, sure)
    gone = Counter()
    for old, new, known in zip(sentences, found, sure, strict=True):
        assert new.words == old.words
        removed = set(old.spans) - set(new.spans)
        assert {(x.start, x.end) for x in removed} == {(x.start, x.end) for x in new.unknown}
        assert not (known and removed)
        assert all(x.end == x.start + 1 for x in removed)
        gone.update(old.words[x.start] for x in removed)
    assert gone == Counter(skipped)
    kept = {x.label for s, known in zip(found, sure, strict=True) if not known for x in s.spans}
    assert kept == {x.label for s, known in zip(sentences, sure, strict=True) if not known for x in s.spans}
