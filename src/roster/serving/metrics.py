"""Metrics in Prometheus' text format, in a registry of their own for each application."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from roster.serving.batcher import Batch

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
NUMBERS = (1, 2, 4, 8, 16, 32, 64, 128)
WORDS = (16, 64, 256, 512, 1024, 2048, 4096, 16384)


class Metrics:
    """Counts and times. Labels have few values: a path that is no route is counted as `other`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, registry=self.registry)

        def histogram(name: str, text: str, label: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(name, text, (label,), buckets=buckets, registry=self.registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(name, text, labels, registry=self.registry)

        self._requests = counter("roster_requests", "Requests answered.", "path", "status")
        self._refused = counter("roster_refused", "Requests refused under load.", "reason")
        self._texts = counter("roster_texts", "Texts predicted.", "model")
        self._characters = counter("roster_characters", "Characters of texts predicted.", "model")
        self._entities = counter("roster_entities", "Entities in answers.", "model")
        self._failed = counter("roster_batch_failures", "Batches that ended in an error.", "model")
        self._seconds = histogram("roster_request_seconds", "Time to the answer.", "path", SECONDS)
        self._batch_requests = histogram("roster_batch_requests", "Requests in a batch.", "model", NUMBERS)
        self._batch_words = histogram("roster_batch_words", "Words in a batch.", "model", WORDS)
        self._batch_seconds = histogram("roster_batch_seconds", "Time to compute a batch.", "model", SECONDS)
        self._waiting = gauge("roster_waiting_requests", "Requests waiting or being computed.", "model")
        self._under_way = gauge("roster_requests_under_way", "Places of requests that are taken.")
        self._connections = gauge("roster_connections", "Open connections.")

    def request(self, path: str, status: int, seconds: float) -> None:
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def refused(self, reason: str) -> None:
        self._refused.labels(reason).inc()

    def predicted(self, model: str, texts: int, characters: int, entities: int) -> None:
        self._texts.labels(model).inc(texts)
        self._characters.labels(model).inc(characters)
        self._entities.labels(model).inc(entities)

    def batch(self, model: str, batch: Batch) -> None:
        self._batch_requests.labels(model).observe(batch.requests)
        self._batch_words.labels(model).observe(batch.words)
        self._batch_seconds.labels(model).observe(batch.seconds)
        if batch.failed:
            self._failed.labels(model).inc()

    def watch(self, under_way: Callable[[], int], waiting: Mapping[str, Callable[[], int]]) -> None:
        """Reads numbers of requests whenever the metrics are asked for: all, and those of each model."""
        self._under_way.set_function(under_way)
        for model, number in waiting.items():
            self._waiting.labels(model).set_function(number)

    def watch_connections(self, number: Callable[[], int]) -> None:
        """Reads the number of connections whenever the metrics are asked for."""
        self._connections.set_function(number)

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self.registry)
