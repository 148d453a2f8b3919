"""Batches of concurrent requests, with a model that is held so that the order of events is known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.serving.batcher import Batch, Batcher, SentenceTooLongError, choose, share

Scenario = Callable[[Batcher], Coroutine[Any, Any, None]]


def run(model: Any, scenario: Scenario, words: int = 1000, gather: float = 0.002) -> list[Batch]:
    """Runs a scenario with a started batcher; returns the batches."""
    batches: list[Batch] = []

    async def main() -> None:
        batcher = Batcher(
            model.find, words=words, sentence_words=60, gather_seconds=gather, observe=batches.append
        )
        batcher.start()
        try:
            await asyncio.wait_for(scenario(batcher), 60)
        finally:
            model.go.set()
            await batcher.stop()

    asyncio.run(main())
    return batches


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def names(found: list[list[Any]]) -> list[list[str]]:
    return [[entity.text for entity in entities] for entities in found]


def test_each_text_has_its_own_entities(model: Any) -> None:
    async def scenario(batcher: Batcher) -> None:
        found = await batcher.submit(["Anna saw Oslo. Carl did not.", "", "nobody", "Dora"])
        assert names(found) == [["Anna", "Oslo", "Carl"], [], [], ["Dora"]]
        assert [entity.start for entity in found[0]] == [0, 9, 15]
        assert batcher.waiting == 0

    run(model, scenario)


def test_what_waits_is_computed_together(model: Any) -> None:
    async def scenario(batcher: Batcher) -> None:
        model.go.clear()
        first = asyncio.create_task(batcher.submit(["Anna"]))
        await until(lambda: len(model.batches) == 1)
        others = [asyncio.create_task(batcher.submit([f"Berg {i}"])) for i in range(5)]
        await until(lambda: batcher.waiting == 6)
        model.go.set()
        assert names(await first) == [["Anna"]]
        assert [names(await other) for other in others] == [[["Berg"]]] * 5

    batches = run(model, scenario)
    assert [batch.requests for batch in batches] == [1, 5]
    assert model.batches[1] == [f"Berg {i}" for i in range(5)]
    assert [batch.words for batch in batches] == [1, 10]


def test_a_single_client_never_waits_for_others(model: Any) -> None:
    async def scenario(batcher: Batcher) -> None:
        for _ in range(5):
            await batcher.submit(["Anna"])

    assert len(run(model, scenario, gather=3600)) == 5


def test_after_a_batch_of_several_it_waits_for_as_many(model: Any) -> None:
    """As when many clients send their next request together; it begins when the last has arrived."""

    async def scenario(batcher: Batcher) -> None:
        for _ in range(3):
            await asyncio.gather(*(batcher.submit(["Anna"]) for _ in range(4)))

    batches = run(model, scenario, gather=3600)
    assert [batch.requests for batch in batches] == [4, 4, 4]


def test_it_does_not_wait_long_for_clients_that_are_gone(model: Any) -> None:
    async def scenario(batcher: Batcher) -> None:
        await asyncio.gather(*(batcher.submit(["Anna"]) for _ in range(4)))
        assert names(await batcher.submit(["Berg"])) == [["Berg"]]

    assert [batch.requests for batch in run(model, scenario)] == [4, 1]


def test_a_cancelled_request_is_not_computed(model: Any) -> None:
    async def scenario(batcher: Batcher) -> None:
        model.go.clear()
        first = asyncio.create_task(batcher.submit(["Anna"]))
        await until(lambda: len(model.batches) == 1)
        gone = asyncio.create_task(batcher.submit(["Berg"]))
        stays = asyncio.create_task(batcher.submit(["Carl"]))
        await until(lambda: batcher.waiting == 3)
        gone.cancel()
        first.cancel()  # this one is being computed
        await until(lambda: batcher.waiting == 1)
        model.go.set()
        assert names(await stays) == [["Carl"]]
        assert gone.cancelled()
        assert first.cancelled()

    run(model, scenario)
    assert model.batches == [["Anna"], ["Carl"]]


def test_only_cancelled_requests_wait(model: Any) -> None:
    """The loop goes on when nothing is left of what waited."""

    async def scenario(batcher: Batcher) -> None:
        gone = asyncio.create_task(batcher.submit(["Berg"]))
        await asyncio.sleep(0)
        gone.cancel()
        await until(lambda: gone.done())
        assert names(await batcher.submit(["Anna"])) == [["Anna"]]

    run(model, scenario)
    assert ["Berg"] not in model.batches


def test_a_long_request_does_not_hold_up_a_short_one(model: Any) -> None:
    async def scenario(batcher: Batcher) -> None:
        model.go.clear()
        long = asyncio.create_task(batcher.submit(["It rains in Oslo. " * 100]))
        await until(lambda: len(model.batches) == 1)
        short = asyncio.create_task(batcher.submit(["Anna"]))
        await until(lambda: batcher.waiting == 2)
        model.go.set()
        assert names(await short) == [["Anna"]]
        assert not long.done()
        assert len((await long)[0]) == 200

    batches = run(model, scenario, words=20)
    assert "Anna" in model.batches[1]
    assert max(batch.words for batch in batches) < 30
    assert sum(batch.sentences for batch in batches) == 101


def test_a_sentence_that_fills_a_batch_lets_others_go_first_the_next_time(model: Any) -> None:
    async def scenario(batcher: Batcher) -> None:
        model.go.clear()
        held = asyncio.create_task(batcher.submit(["x"]))
        await until(lambda: len(model.batches) == 1)
        long = asyncio.create_task(batcher.submit([("Oslo " * 50 + ". ") * 4]))
        short = asyncio.create_task(batcher.submit(["Anna"]))
        await until(lambda: batcher.waiting == 3)
        model.go.set()
        await asyncio.gather(held, long, short)

    run(model, scenario, words=20)
    assert "Anna" in model.batches[2]


def test_an_error_concerns_only_its_own_request(model: Any) -> None:
    failures: list[Exception] = []

    async def main() -> None:
        batcher = Batcher(
            model.find, words=100, sentence_words=60, gather_seconds=0.001, failed=failures.append
        )
        batcher.start()
        asked = [batcher.submit([text]) for text in ("Anna", "Crash", "Berg")]
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(found[1], ValueError)
        assert [names(found[i]) for i in (0, 2)] == [[["Anna"]], [["Berg"]]]  # type: ignore[arg-type]
        assert names(await batcher.submit(["Carl"])) == [["Carl"]]
        assert batcher.alive
        await batcher.stop()
        assert not batcher.alive

    asyncio.run(main())
    assert len(failures) == 1


def test_a_sentence_that_is_too_long_is_refused(model: Any) -> None:
    async def scenario(batcher: Batcher) -> None:
        asked = [batcher.submit(texts) for texts in (["Anna"], ["x", "It rains. " + "Y " * 61], ["Berg"])]
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [names(found[i]) for i in (0, 2)] == [[["Anna"]], [["Berg"]]]  # type: ignore[arg-type]
        assert isinstance(found[1], SentenceTooLongError)
        assert (found[1].text, found[1].words, found[1].most) == (1, 61, 60)
        with pytest.raises(SentenceTooLongError):
            await batcher.submit(["Y " * 61])

    run(model, scenario)
    assert model.batches == [["Anna", "Berg"]]


def test_the_end_cancels_what_waits(model: Any) -> None:
    async def scenario(batcher: Batcher) -> None:
        model.go.clear()
        asked = [asyncio.create_task(batcher.submit(["Anna"])) for _ in range(2)]
        await until(lambda: len(model.batches) == 1)
        await batcher.stop()
        await asyncio.wait(asked)
        assert all(one.cancelled() for one in asked)

    run(model, scenario)


def test_new_text_of_a_batch_is_limited(model: Any) -> None:
    """Splitting many long texts would hold up the first of them."""

    async def scenario(batcher: Batcher) -> None:
        model.go.clear()
        asked = [asyncio.create_task(batcher.submit(["Anna. " * 10_000])) for _ in range(4)]
        await until(lambda: batcher.waiting == 4)
        assert len(choose(batcher._jobs)) == 1
        for one in asked:
            one.cancel()

    run(model, scenario)


@given(st.lists(st.lists(st.integers(0, 50), max_size=6), max_size=6), st.integers(1, 200))
def test_share(lengths: list[list[int]], most: int) -> None:
    counts = share(lengths, most)
    taken = [sum(n + 1 for n in sizes[:count]) for sizes, count in zip(lengths, counts, strict=True)]
    last = max((n + 1 for sizes in lengths for n in sizes), default=0)
    assert sum(taken) < most + last
    complete = all(count == len(sizes) for sizes, count in zip(lengths, counts, strict=True))
    assert complete or sum(taken) >= most
    for sizes, count in zip(lengths, counts, strict=True):
        assert count == len(sizes) or count >= max(counts) - 1


@pytest.mark.parametrize("lengths", [[], [[]], [[], []]])
def test_share_of_nothing(lengths: list[list[int]]) -> None:
    assert share(lengths, 10) == [0] * len(lengths)
