"""The endpoint client against a real SPARQL server, through a proxy that breaks things. See `conftest.py`."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roster.distant.kb.answers import AnswerTooLarge, QueryTimeout
from roster.distant.kb.batching import select_batched
from roster.distant.kb.endpoint import Endpoint
from roster.errors import RosterError

PATIENCE = 60
"""Seconds that no machine is busy for; a request that hangs takes longer."""
ONE = "SELECT ?x { BIND(1 AS ?x) }"
PREFIXES = """PREFIX wd: <http://www.wikidata.org/entity/>
PREFIX wdt: <http://www.wikidata.org/prop/direct/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
"""
ANY = "(!<x:none>|^!<x:none>)*"
FOREVER = f"?a {ANY} ?b . ?b {ANY} ?c . ?c {ANY} ?d . ?d {ANY} ?e ."
"""All ways from anything to anything else, four times over: more than the server has time for."""


def people(names: Sequence[str]) -> str:
    """Which of these names are of an instance of the class Q5 or one below."""
    values = " ".join(f'"{name}"@en' for name in names)
    return (
        f"{PREFIXES}SELECT ?name ?item {{ VALUES ?name {{ {values} }} "
        "?item rdfs:label ?name ; wdt:P31/wdt:P279* wd:Q5 . }"
    )


NAMES = [f"Person {number}" for number in range(24)]
FOUND = [
    {"name": name, "item": f"http://www.wikidata.org/entity/Q{number}"}
    for number, name in enumerate(NAMES, 1000)
]


def in_order(rows: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    return sorted(rows, key=FOUND.index)


class Client:
    """Makes endpoints that write down how long they would wait, and does not wait."""

    def __init__(self, url: str):
        self.url = url
        self.waits: list[float] = []
        self.said: list[str] = []
        self._opened: list[Endpoint] = []

    def __call__(self, **options: Any) -> Endpoint:
        given = {"timeout": 5.0, "seed": 0, "sleep": self.waits.append, "log": self.said.append}
        self._opened.append(Endpoint(options.pop("url", self.url), **{**given, **options}))
        return self._opened[-1]

    def close(self) -> None:
        for endpoint in self._opened:
            endpoint.close()


@pytest.fixture
def client(proxy: Any) -> Iterator[Client]:
    client = Client(proxy.url)
    yield client
    client.close()


# The protocol


def test_asks_as_the_protocol_says(client: Client, proxy: Any) -> None:
    assert in_order(client().select(people(NAMES))) == FOUND
    (request,) = proxy.requests
    assert request.method == "POST"
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert request.headers["accept"] == "application/sparql-results+json"
    assert request.headers["user-agent"].startswith("roster-ner/")
    assert request.form == {"query": [people(NAMES)]}


def test_every_kind_of_term_and_unbound_variables(client: Client) -> None:
    query = (
        'SELECT * { VALUES (?a ?b) { (UNDEF 1) ("x"@en UNDEF) (<http://example.org/?q=1&r=%41#y> "") } '
        "OPTIONAL { FILTER(!BOUND(?a)) BIND(BNODE() AS ?c) } }"
    )
    first, *others = client().select(query)
    assert first.pop("c").startswith("_:")
    assert [first, *others] == [{"b": "1"}, {"a": "x"}, {"a": "http://example.org/?q=1&r=%41#y", "b": ""}]


def test_no_rows(client: Client) -> None:
    assert list(client().select(people(["Nobody"]))) == []


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_literal_comes_back_as_it_was(client: Client, text: str) -> None:
    escaped = text.translate({ord(c): f"\\u{ord(c):04X}" for c in '"\\\n\r\0'})
    assert list(client_of(client).select(f'SELECT ?x {{ BIND("{escaped}" AS ?x) }}')) == [{"x": text}]


def client_of(client: Client) -> Endpoint:
    """One endpoint for all examples, so that they share a connection."""
    return client._opened[0] if client._opened else client()


def test_works_where_an_event_loop_runs_already(client: Client) -> None:
    async def cell() -> list[dict[str, str]]:
        return list(client().select(ONE))

    assert asyncio.run(cell()) == [{"x": "1"}]


def test_can_be_used_again_after_close(client: Client, proxy: Any) -> None:
    with client() as endpoint:
        assert list(endpoint.select(ONE)) == [{"x": "1"}]
    assert list(endpoint.select(ONE)) == [{"x": "1"}]
    assert len(proxy.requests) == 2


# Failures that pass


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
def test_statuses_that_pass_are_retried(client: Client, proxy: Any, code: int) -> None:
    proxy.faults += [proxy.status(code, "busy")] * 3
    assert list(client().select(ONE)) == [{"x": "1"}]
    assert len(proxy.requests) == 4
    assert all(most / 2 <= wait <= most for wait, most in zip(client.waits, [1, 2, 4], strict=True))
    assert client.said[0].startswith(f"{proxy.url}: status {code}: busy; retry 1 of 5 in ")


@pytest.mark.parametrize("fault", ["drop", "cut"])
def test_broken_connections_are_retried(client: Client, proxy: Any, fault: str) -> None:
    proxy.faults += [getattr(proxy, fault)] * 2
    assert list(client().select(ONE)) == [{"x": "1"}]
    assert len(proxy.requests) == 3


@pytest.mark.parametrize("left", [0, 1, 20, -20, -2, -1])
def test_an_answer_that_ends_too_soon_is_retried(client: Client, proxy: Any, left: int) -> None:
    """A whole HTTP message with a part of the JSON, as a server sends that fails half-way."""
    proxy.faults.append(proxy.body(lambda body: body.rstrip()[:left]))
    assert list(client().select(ONE)) == [{"x": "1"}]
    assert len(proxy.requests) == 2
    assert "cut short" in client.said[0]


def test_gives_up_in_the_end(client: Client, proxy: Any) -> None:
    proxy.faults += [proxy.status(503, "down for maintenance")] * 9
    with pytest.raises(RosterError, match="gave up after 4 tries, last: status 503: down for") as caught:
        client(retries=3).select(ONE)
    assert not isinstance(caught.value, QueryTimeout)
    assert str(caught.value).startswith(f"{proxy.url}: ")
    assert (len(proxy.requests), len(client.waits)) == (4, 3)


def test_without_retries(client: Client, proxy: Any) -> None:
    proxy.faults.append(proxy.drop)
    with pytest.raises(RosterError, match="gave up after 1 try, last: no answer"):
        client(retries=0).select(ONE)
    assert len(proxy.requests) == 1


def test_a_gateway_that_always_times_out_calls_for_a_smaller_query(client: Client, proxy: Any) -> None:
    proxy.faults += [proxy.status(504, "<h1>504 Gateway Time-out</h1>")] * 9
    with pytest.raises(QueryTimeout, match="gave up after 3 tries"):
        client(retries=2).select(ONE)


def test_nobody_listens(client: Client) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/sparql"
        with pytest.raises(RosterError, match=f"{url}: gave up after 6 tries, last: no answer"):
            client(url=url).select(ONE)
    assert len(client.waits) == 5


def test_the_same_seed_waits_the_same(client: Client, proxy: Any) -> None:
    for _ in range(2):
        proxy.faults += [proxy.status(500)] * 5
        list(client(seed=7).select(ONE))
    assert client.waits[:5] == client.waits[5:]
    proxy.faults += [proxy.status(500)] * 5
    list(client(seed=8).select(ONE))
    assert client.waits[:5] != client.waits[10:]


# Retry-After


def test_waits_as_many_seconds_as_asked(client: Client, proxy: Any) -> None:
    proxy.faults += [proxy.status(429, retry_after="7"), proxy.status(503, retry_after="0")]
    assert list(client().select(ONE)) == [{"x": "1"}]
    assert client.waits == [7, 0]


def test_waits_until_the_date_asked(client: Client, proxy: Any) -> None:
    later = datetime.now(UTC) + timedelta(seconds=50)
    past = datetime.now(UTC) - timedelta(seconds=50)
    for date in (later, past):
        proxy.faults.append(proxy.status(429, retry_after=format_datetime(date, usegmt=True)))
    assert list(client().select(ONE)) == [{"x": "1"}]
    assert 45 < client.waits[0] <= 50
    assert client.waits[1] == 0


def test_a_wait_that_makes_no_sense_is_ours_to_choose(client: Client, proxy: Any) -> None:
    proxy.faults.append(proxy.status(429, retry_after="soon"))
    assert list(client().select(ONE)) == [{"x": "1"}]
    assert 0.5 <= client.waits[0] <= 1


def test_does_not_wait_longer_than_allowed(client: Client, proxy: Any) -> None:
    proxy.faults.append(proxy.status(429, "banned", retry_after="3600"))
    with pytest.raises(RosterError, match=r"asks to wait 3600 s, longer than max_wait \(60 s\)") as caught:
        client(max_wait=60).select(ONE)
    again = re.search("try again after (.*) UTC", str(caught.value))
    assert again
    wait = datetime.fromisoformat(again[1] + "+00:00") - datetime.now(UTC)
    assert abs(wait - timedelta(hours=1)) < timedelta(seconds=10)
    assert (len(proxy.requests), client.waits) == (1, [])


def test_own_waits_are_capped_too(client: Client, proxy: Any) -> None:
    proxy.faults += [proxy.status(500)] * 5
    list(client(max_wait=2).select(ONE))
    assert max(client.waits) <= 2


# The deadline


@pytest.mark.parametrize("fault", ["hang", "drip", "drip_headers"])
def test_a_slow_server_does_not_hold_us(client: Client, proxy: Any, fault: str) -> None:
    proxy.faults.append(getattr(proxy, fault))
    start = time.monotonic()
    assert list(client(timeout=1.0).select(ONE)) == [{"x": "1"}]
    assert 1.0 <= time.monotonic() - start < PATIENCE
    assert len(proxy.requests) == 2
    assert "no complete answer within 1 s" in client.said[0]
    limit = time.monotonic() + PATIENCE
    while proxy.under_way:  # the request that we gave up is closed, not left to run beside the next
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_a_query_that_is_late_twice_is_too_heavy(client: Client, proxy: Any) -> None:
    proxy.faults += [proxy.hang] * 9
    with pytest.raises(QueryTimeout, match=r"gave up after 2 tries, last: no complete answer within 0\.3 s"):
        client(timeout=0.3).select(ONE)
    assert len(proxy.requests) == 2


def test_a_stalled_connection_does_not_hold_us(client: Client) -> None:
    """A server that takes no connections: its queue is full, and the kernel drops what comes."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(8)]
        try:
            for one in waiting:
                one.setblocking(False)
                one.connect_ex(full.getsockname())
            start = time.monotonic()
            with pytest.raises(QueryTimeout):
                client(url=f"http://127.0.0.1:{full.getsockname()[1]}/", timeout=0.3, retries=0).select(ONE)
            assert time.monotonic() - start < PATIENCE
        finally:
            for one in waiting:
                one.close()


# The endpoint's time limit


def test_the_time_limit_of_the_real_server(client: Client, proxy: Any) -> None:
    with pytest.raises(QueryTimeout, match=f"{proxy.url}: the query ran into the endpoint's time limit"):
        client().select(f"SELECT * {{ {FOREVER} }}")
    assert len(proxy.requests) == 1


def test_wikidata_runs_out_of_time(client: Client, proxy: Any) -> None:
    trace = f"SPARQL-QUERY: queryStr={ONE}\njava.util.concurrent.TimeoutException\n\tat java.util\n"
    for code in (500, 504):
        proxy.faults.append(proxy.status(code, trace))
        with pytest.raises(QueryTimeout):
            client().select(ONE)
    proxy.faults.append(proxy.body(lambda body: body[:-20] + trace.encode()))
    with pytest.raises(QueryTimeout, match="in mid-answer"):
        client().select(ONE)
    assert len(proxy.requests) == 3


def test_a_query_about_time_outs_is_not_one(client: Client, proxy: Any) -> None:
    """Blazegraph repeats the query in every error."""
    query = 'SELECT ?x { BIND("TimeoutException" AS ?x) }'
    proxy.faults.append(proxy.status(500, f"SPARQL-QUERY: queryStr={query}\njava.lang.OutOfMemoryError"))
    assert list(client().select(query)) == [{"x": "TimeoutException"}]
    assert client.said[0].split("; retry")[0].endswith("queryStr=[the query] java.lang.OutOfMemoryError")


def test_virtuoso_marks_a_part_of_an_answer(client: Client, proxy: Any) -> None:
    proxy.faults.append(proxy.body(lambda body: body, x_sql_state="S1TAT"))
    with pytest.raises(QueryTimeout, match="only a part was answered"):
        client().select(ONE)


# Failures that do not pass


def test_a_mistake_in_the_query_is_shown(client: Client, proxy: Any) -> None:
    with pytest.raises(RosterError, match=r"status 400: error at 1:\d+: expected"):
        client().select("SELECT nonsense {")
    assert len(proxy.requests) == 1


@pytest.mark.parametrize("code", [401, 403, 404, 406, 413, 501])
def test_other_statuses_are_not_retried(client: Client, proxy: Any, code: int) -> None:
    proxy.faults.append(proxy.status(code, "please do\nnot\x07 " + "so " * 999))
    with pytest.raises(RosterError, match=f"status {code}: please do not so so ") as caught:
        client().select(ONE)
    assert len(str(caught.value)) < 500
    assert len(proxy.requests) == 1


def test_a_redirect_is_told_and_not_followed(client: Client, proxy: Any) -> None:
    proxy.faults.append(proxy.status(301, location="https://example.org/sparql"))
    with pytest.raises(RosterError, match=r"moved to https://example\.org/sparql; use that address"):
        client().select(ONE)
    assert len(proxy.requests) == 1


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b"<html>\n<h1>Welcome</h1>", "Text/HTML; charset=utf-8", "got text/html: <html> <h1>Welcome</h1>;"),
        (b"<sparql/>", "application/sparql-results+xml", "got application/sparql-results.xml: <sparql/>"),
        (b"<html>\n<h1>Sorry</h1>", None, "malformed JSON.*<html> <h1>Sorry</h1>"),
        (b'{"head": nonsense}', None, 'malformed JSON.*{"head": nonsense}'),
        (b"{}", None, "'head' is missing"),
        (b'{"head": {"vars": []}}', None, "'results' is missing"),
    ],
)  # fmt: skip
def test_what_is_no_result_is_refused_and_shown(
    client: Client, proxy: Any, body: bytes, kind: str | None, message: str
) -> None:
    proxy.faults.append(proxy.body(lambda _: body, kind=kind))
    with pytest.raises(RosterError, match=f"{proxy.url}: .*{message}"):
        client().select(ONE)
    assert len(proxy.requests) == 1


def test_an_ask_query_is_no_select(client: Client) -> None:
    with pytest.raises(RosterError, match="not a SPARQL result"):
        client().select("ASK {}")


def test_a_large_answer_is_refused_before_it_fills_the_memory(client: Client) -> None:
    query = people(NAMES)
    size = len(json.dumps({"rows": list(client().select(query))}))
    with pytest.raises(AnswerTooLarge, match="ask for less at a time"):
        client(max_bytes=size // 2).select(query)


def test_compressed_answers(client: Client, proxy: Any) -> None:
    proxy.faults.append(proxy.body(gzip.compress, content_encoding="gzip"))
    assert list(client().select(ONE)) == [{"x": "1"}]
    assert len(proxy.requests) == 1
    assert "gzip" in proxy.requests[0].headers["accept-encoding"]


def test_the_limit_counts_decompressed_bytes(client: Client, proxy: Any) -> None:
    proxy.faults.append(proxy.body(lambda body: gzip.compress(body + b" " * 10**6), content_encoding="gzip"))
    with pytest.raises(AnswerTooLarge):
        client(max_bytes=10**5).select(ONE)


def test_damaged_compression_is_retried(client: Client, proxy: Any) -> None:
    proxy.faults.append(proxy.body(lambda _: b"no gzip", content_encoding="gzip"))
    assert list(client().select(ONE)) == [{"x": "1"}]
    assert len(proxy.requests) == 2


# Politeness


def test_one_request_at_a_time_from_any_number_of_threads(client: Client, proxy: Any) -> None:
    proxy.delay = 0.02
    endpoint = client()
    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda name: next(endpoint.select(people([name]))), NAMES[:6]))
    assert found == FOUND[:6]
    assert (len(proxy.requests), proxy.most_at_once) == (6, 1)


def test_leaves_an_interval_between_requests(client: Client, proxy: Any, tmp_path: Path) -> None:
    waits = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        time.sleep(seconds)

    endpoint = client(interval=0.15, sleep=sleep, cache=tmp_path)
    for name in (*NAMES[:3], *NAMES[:3] * 20):
        list(endpoint.select(people([name])))
    began = [request.began for request in proxy.requests]
    assert len(began) == 3
    assert all(later - earlier >= 0.15 for earlier, later in pairwise(began))
    assert len(waits) <= 3  # answers from the cache do not wait


# The cache


def test_what_was_answered_is_not_asked_again(client: Client, proxy: Any, tmp_path: Path) -> None:
    cache = tmp_path / "answers"
    first = list(client(cache=cache).select(people(NAMES)))
    endpoint = client(cache=cache)
    assert list(endpoint.select(people(NAMES))) == first
    assert len(proxy.requests) == 1
    list(endpoint.select(people(NAMES[:3])))
    assert len(proxy.requests) == 2


def test_failures_are_not_kept(client: Client, proxy: Any, tmp_path: Path) -> None:
    endpoint = client(cache=tmp_path, retries=0)
    proxy.faults += [
        proxy.status(500),
        proxy.cut,
        proxy.status(400),
        proxy.body(lambda _: b"{}"),
        proxy.body(lambda body: body[:-3] + b"TimeoutException"),
    ]
    for _ in range(5):
        with pytest.raises(RosterError):
            endpoint.select(ONE)
    assert list(tmp_path.iterdir()) == []
    assert list(endpoint.select(ONE)) == [{"x": "1"}]


def test_old_answers_are_asked_for_anew(client: Client, proxy: Any, tmp_path: Path) -> None:
    list(client(cache=tmp_path).select(ONE))
    list(client(cache=tmp_path, max_age=3600).select(ONE))
    assert len(proxy.requests) == 1
    time.sleep(0.02)
    list(client(cache=tmp_path, max_age=0.01).select(ONE))
    assert len(proxy.requests) == 2
    list(client(cache=tmp_path, max_age=3600).select(ONE))
    assert len(proxy.requests) == 2


def test_a_damaged_answer_is_set_aside_and_asked_for_anew(client: Client, proxy: Any, tmp_path: Path) -> None:
    list(client(cache=tmp_path).select(ONE))
    (entry,) = tmp_path.iterdir()
    entry.write_bytes(entry.read_bytes()[:-9])
    assert list(client(cache=tmp_path).select(ONE)) == [{"x": "1"}]
    assert len(proxy.requests) == 2
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".damaged", ".gz"]
    (line,) = client.said
    assert "set aside" in line
    list(client(cache=tmp_path).select(ONE))
    assert len(proxy.requests) == 2


# Batches


def test_batches_shrink_at_the_real_servers_time_limit(client: Client, proxy: Any) -> None:
    def heavy_beyond_two(names: Sequence[str]) -> str:
        return people(names).removesuffix("}") + (FOREVER if len(names) > 2 else "") + "}"

    rows = list(select_batched(client(), NAMES[:7], heavy_beyond_two, batch=7))
    assert in_order(rows) == FOUND[:7]
    assert [request.form["query"][0].count('"@en') for request in proxy.requests] == [7, 4, 2, 2, 2, 1]


# Whole processes

RUN = """\
import json, sys
from pathlib import Path
from roster.distant.kb.batching import select_batched
from roster.distant.kb.endpoint import Endpoint

url, cache, template = sys.argv[1:]
make = lambda names: template.replace("NAMES", " ".join(f'"{name}"@en' for name in names))
names = [f"Person {number}" for number in range(24)]
print(json.dumps(list(select_batched(Endpoint(url, cache=Path(cache)), names, make, batch=1))))
"""


@pytest.fixture
def run(environment: dict[str, str], proxy: Any, tmp_path: Path) -> Callable[[], subprocess.Popen[str]]:
    """Starts a process that asks for 24 people, one at a time."""
    template = people(["|"]).replace('"|"@en', "NAMES")
    env = {name: value for name, value in environment.items() if not name.lower().endswith("_proxy")}
    command = [sys.executable, "-c", RUN, proxy.url, str(tmp_path / "cache"), template]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}

    def heed() -> None:  # tests that run in the background inherit that control-C is not heeded
        signal.signal(signal.SIGINT, signal.default_int_handler)

    return lambda: subprocess.Popen(command, env=env, text=True, preexec_fn=heed, **pipes)


def test_a_killed_run_goes_on_where_it_was(run: Callable[[], subprocess.Popen[str]], proxy: Any) -> None:
    proxy.delay = 0.02
    asked = 0
    for upto in (7, 15):
        process = run()
        proxy.wait_for(upto)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        asked = len(proxy.requests)
        assert upto <= asked < 24
    process = run()
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert json.loads(out) == FOUND
    # All answers that had arrived were kept: at most the request under way was repeated, once for each kill.
    assert 24 <= len(proxy.requests) <= 24 + 2
    assert len(proxy.requests) > asked
    out, _ = run().communicate()
    assert json.loads(out) == FOUND
    assert len(proxy.requests) <= 24 + 2


def test_two_runs_share_a_cache(run: Callable[[], subprocess.Popen[str]], proxy: Any, tmp_path: Path) -> None:
    proxy.delay = 0.005
    for process in [run(), run()]:
        out, err = process.communicate()
        assert process.returncode == 0, err
        assert json.loads(out) == FOUND
    assert 24 <= len(proxy.requests) <= 48
    assert len(list((tmp_path / "cache").iterdir())) == 24


def test_ctrl_c_ends_a_request_at_once(run: Callable[[], subprocess.Popen[str]], proxy: Any) -> None:
    proxy.faults.append(proxy.hang)
    process = run()
    proxy.wait_for(1)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert time.monotonic() - start < PATIENCE
    assert err.rstrip().endswith("KeyboardInterrupt")
