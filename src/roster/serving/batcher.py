"""Gathers the texts of concurrent requests into batches for one model; independent of HTTP.

    requests -> submit -> jobs, in order of arrival -> choose -> [thread: split, share, find] -> answers

One thread owns the model. While it computes a batch, requests wait; all that wait form the next batch. So a
single client never waits, and under load batches grow by themselves. A batch has a limited number of words:
jobs take turns, one sentence each, and a job with sentences left goes behind those that got none. Sentences
are never cut, so the results are those of each text alone; one that is too long for a batch is refused.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import split
from roster.infer.recogniser import Entity

CHOSEN_CHARACTERS = 65_536
"""Characters of new texts that one batch splits into sentences; at least one job is always chosen."""


class Labelled(Protocol):
    """A sentence with its entities, as `Recogniser.find` yields it."""

    @property
    def entities(self) -> list[Entity]: ...


Find = Callable[[list[Sentence]], Iterable[Labelled]]


@dataclass(frozen=True, slots=True)
class Batch:
    """What was computed together: requests, sentences, words, seconds, and whether it ended in an error."""

    requests: int
    sentences: int
    words: int
    seconds: float
    failed: bool


class SentenceTooLongError(Exception):
    """A text has a sentence of more words than the batcher takes."""

    def __init__(self, text: int, words: int, most: int):
        super().__init__(f"text {text} has a sentence of {words} words; at most {most} are computed at once")
        self.text, self.words, self.most = text, words, most


class Job:
    """The texts of one request, and what has been found in them."""

    def __init__(self, texts: Sequence[str], future: asyncio.Future[list[list[Entity]]]):
        self.texts, self.future = texts, future
        self.characters = sum(map(len, texts))
        self.error: Exception | None = None
        self.served = False
        """Whether the last batch had sentences of it."""
        self._sizes: list[int] = []
        self._sentences: list[Sentence] = []
        self._found: list[list[Entity]] = []

    def split(self, most: int) -> None:
        """Finds the sentences of the texts; a second call does nothing.

        Raises:
            SentenceTooLongError: a sentence has more than `most` words.
        """
        if not self._sizes:
            parts = [split(text) for text in self.texts]
            for number, part in enumerate(parts):
                if (words := max(map(len, part))) > most:
                    raise SentenceTooLongError(number, words, most)
            self._sizes = [len(part) for part in parts]
            self._sentences = [sentence for part in parts for sentence in part]

    @property
    def is_new(self) -> bool:
        """Whether its texts are still to be split."""
        return not self._sizes

    @property
    def left(self) -> Sequence[Sentence]:
        """The sentences without results."""
        return self._sentences[len(self._found) :]

    @property
    def finished(self) -> bool:
        return bool(self._sizes) and len(self._found) == len(self._sentences)

    def add(self, found: Iterable[list[Entity]]) -> None:
        """Takes the results of the next sentences."""
        self._found += found

    def answer(self) -> list[list[Entity]]:
        """The entities of each text."""
        rest = iter(self._found)
        return [[entity for found in islice(rest, size) for entity in found] for size in self._sizes]


def share(lengths: Sequence[Sequence[int]], most: int) -> list[int]:
    """How many sentences of each job are computed next.

    Args:
        lengths: words of the sentences that each job has left.
        most: words at which a batch is full; the sentence that fills it is the last one.

    Returns:
        For each job the number of its sentences; jobs take turns, one sentence each.

    >>> share([[5, 5, 5, 5], [5], [5, 5]], 27)
    [2, 1, 2]
    >>> share([[900], [5]], 100)
    [1, 0]
    """
    counts, total = [0] * len(lengths), 0
    open_jobs = [i for i, sizes in enumerate(lengths) if sizes]
    while open_jobs:
        for i in open_jobs:
            total += lengths[i][counts[i]] + 1
            counts[i] += 1
            if total >= most:
                return counts
        open_jobs = [i for i in open_jobs if counts[i] < len(lengths[i])]
    return counts


class Batcher:
    """A queue in front of the thread that owns a model.

    Args:
        find: labels sentences in order; only the thread of the batcher calls it.
        words: words at which a batch is full.
        sentence_words: most words of a sentence; the longest batch has this many and `words`.
        gather_seconds: how long a batch waits for as many requests as were in the batch before, if these were
            several. After a batch of one request nothing waits.
        observe: is told of every batch.
        failed: is told of an error of `find`.
    """

    def __init__(
        self,
        find: Find,
        *,
        words: int,
        sentence_words: int,
        gather_seconds: float,
        observe: Callable[[Batch], None] = lambda batch: None,
        failed: Callable[[Exception], None] = lambda error: None,
    ):
        self._find, self._words, self._sentence_words = find, words, sentence_words
        self._gather_seconds = gather_seconds
        self._observe, self._failed = observe, failed
        self._jobs: list[Job] = []
        self._arrived, self._enough, self._wanted = asyncio.Event(), asyncio.Event(), 1
        self._thread = ThreadPoolExecutor(1, "roster-model")
        self._loop: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins to take jobs; needs a running event loop."""
        self._loop = asyncio.create_task(self._run(), name="batcher")

    async def stop(self) -> None:
        """Ends the loop. Jobs without an answer are cancelled; the batch under way ends in its thread."""
        if self._loop is not None:
            self._loop.cancel()
            with suppress(asyncio.CancelledError):
                await self._loop
        for job in self._jobs:
            job.future.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def drain(self) -> None:
        """Ends the loop when the jobs that it has are answered; no more may be submitted."""
        await asyncio.gather(*(job.future for job in self._jobs), return_exceptions=True)
        await self.stop()

    @property
    def alive(self) -> bool:
        """Whether jobs are taken."""
        return self._loop is not None and not self._loop.done()

    @property
    def waiting(self) -> int:
        """The number of jobs without an answer."""
        return len(self._jobs)

    async def submit(self, texts: Sequence[str]) -> list[list[Entity]]:
        """The entities of each text. A call that is cancelled is dropped, before the next batch if it waits.

        Args:
            texts: strings of valid Unicode, at least one.

        Raises:
            SentenceTooLongError: a sentence has too many words.
            Exception: what `find` raised for these texts.
        """
        job = Job(texts, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        self._arrived.set()
        if len(self._jobs) >= self._wanted:
            self._enough.set()
        try:
            return await job.future
        finally:
            self._jobs.remove(job)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            jobs = await self._gather()
            if not jobs:  # all that waited were cancelled, and are about to leave the list
                await asyncio.sleep(0)
                continue
            self._observe(await loop.run_in_executor(self._thread, self._advance, jobs))
            for job in jobs:
                self._settle(job)
            await asyncio.sleep(0)  # answered jobs leave the list

    async def _gather(self) -> list[Job]:
        if not self._jobs:
            self._arrived.clear()
            await self._arrived.wait()
        if len(self._jobs) < self._wanted:
            self._enough.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._enough.wait(), self._gather_seconds)
        jobs = choose(self._jobs)
        self._wanted = len(jobs)
        return jobs

    def _settle(self, job: Job) -> None:
        if job.error is not None and not isinstance(job.error, SentenceTooLongError):
            self._failed(job.error)
        if job.future.done():  # cancelled meanwhile
            return
        if job.error is not None:
            job.future.set_exception(job.error)
        elif job.finished:
            job.future.set_result(job.answer())
        elif job.served and job in self._jobs:  # behind those that got nothing
            self._jobs.remove(job)
            self._jobs.append(job)

    def _advance(self, jobs: list[Job]) -> Batch:
        """Computes one batch; runs in the thread. An error is kept in the job that it belongs to."""
        begin = time.perf_counter()
        try:
            sentences, words = self._compute(jobs)
            return Batch(len(jobs), sentences, words, time.perf_counter() - begin, False)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].error = error
            else:  # each on its own, so that one job's error is not that of all
                for job in jobs:
                    self._advance([job])
            return Batch(len(jobs), 0, 0, time.perf_counter() - begin, True)

    def _compute(self, jobs: list[Job]) -> tuple[int, int]:
        for job in jobs:
            try:
                job.split(self._sentence_words)
            except SentenceTooLongError as error:
                job.error = error
        left = [job.left for job in jobs]
        counts = share([[len(sentence) for sentence in sentences] for sentences in left], self._words)
        parts = [sentences[:count] for sentences, count in zip(left, counts, strict=True)]
        batch = [sentence for part in parts for sentence in part]
        found = [one.entities for one in self._find(batch)] if batch else []
        rest = iter(found)
        for job, count in zip(jobs, counts, strict=True):
            job.served = count > 0
            job.add(islice(rest, count))
        return len(batch), sum(map(len, batch))


def choose(jobs: Iterable[Job]) -> list[Job]:
    """The jobs of the next batch: the first ones that still wait, with a limited amount of new text."""
    chosen, characters = list[Job](), 0
    for job in jobs:
        if job.future.done():
            continue
        new = job.characters if job.is_new else 0
        if chosen and characters + new > CHOSEN_CHARACTERS:
            break
        chosen.append(job)
        characters += new
    return chosen
