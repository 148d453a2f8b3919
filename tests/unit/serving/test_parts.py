"""Settings, tokens, models' names, requests, answers and the log."""

from __future__ import annotations

import io
import json
import logging
import socket
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.errors import ConfigError
from roster.infer.recogniser import Entity
from roster.serving.answers import results, utf16_offset
from roster.serving.auth import read_tokens
from roster.serving.failures import RequestError
from roster.serving.logs import Forward, json_log
from roster.serving.models import chosen, named_folders
from roster.serving.schemas import parse
from roster.serving.server import listen
from roster.serving.settings import Limits

TOKEN = "0123456789abcdefXYZ"


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_limit_is_a_positive_number(value: float) -> None:
    with pytest.raises(ConfigError, match="'seconds' must be more than 0"):
        Limits(seconds=value)


def test_tokens_of_a_file_and_of_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"\n{TOKEN}\r\n  other-{TOKEN}\n\n")
    tokens = read_tokens(file, {"ROSTER_SERVE_TOKEN": "0000000000000000"})
    assert tokens.accept(f"Bearer {TOKEN}")
    assert tokens.accept(f"bearer  other-{TOKEN}")
    for wrong in (None, "", "Bearer", "Bearer ", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x",
                  "Bearer é\udcff", "Bearer 0000000000000000"):  # fmt: skip
        assert not tokens.accept(wrong)
    assert read_tokens(None, {"ROSTER_SERVE_TOKEN": TOKEN}).accept(f"Bearer {TOKEN}")
    assert read_tokens(None, {}).accept(None)
    assert TOKEN not in repr(vars(tokens))


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "there is no token"), (b"short", "token 1 has 5 characters"), (b"\xff" * 20, "printable ASCII"),
     (b"0123456789 abcdefgh", "printable ASCII without spaces"), (None, "No such file")],
)  # fmt: skip
def test_files_without_usable_tokens(content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "tokens").write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        read_tokens(tmp_path / "tokens", {})


def test_an_empty_variable_is_a_mistake() -> None:
    """Whoever sets it wants a token; an empty one must not open the service."""
    with pytest.raises(ConfigError, match="token 1 has 0 characters"):
        read_tokens(None, {"ROSTER_SERVE_TOKEN": ""})


def test_two_models_of_one_name() -> None:
    with pytest.raises(ConfigError, match="two models are called 'a'"):
        named_folders(["x/a", "a=y"])
    with pytest.raises(ConfigError, match="no folder after '='"):
        named_folders(["a="])


def test_which_model_is_meant() -> None:
    assert chosen(None, ["a"]) == chosen("default", ["a"]) == chosen("a", ["a", "b"]) == "a"
    assert chosen(None, ["a", "default"]) == "default"
    for asked, message in (
        (None, "model: name one; the models are a, b"),
        ("default", "unknown model 'default'"),
        ("x" * 999, "unknown model 'xxx"),
    ):
        with pytest.raises(RequestError, match=message) as caught:
            chosen(asked, ["a", "b"])
        assert caught.value.status == 422
        assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("body", "status", "where", "message"),
    [
        (b"", 400, None, "the body is empty"),
        (b" \n", 400, None, "the body is empty"),
        (b"{", 400, None, "line 1 column 1"),
        (b'{"text": "a\xff"}', 400, None, "not valid JSON in UTF-8"),
        (b'\xff\xfe{\x00', 400, None, "not valid JSON in UTF-8"),
        (b'{"text": "\\ud800"}', 400, None, "line 1 column"),
        (b'{"text": "\\udc00 x"}', 400, None, "line 1 column"),
        (b'{"text": "\xed\xa0\x80"}', 400, None, "not valid JSON in UTF-8"),
        (b'{"text": ' + b"[" * 100_000, 400, None, "recursion limit"),
        (b'{"text": ' + b'{"a":' * 100_000, 400, None, "recursion limit"),
        (b'{"threshold": ' + b"9" * 10_000 + b"}", 400, None, "number out of range"),
        (b"[]", 422, None, "the body: Input should be an object"),
        (b"null", 422, None, "the body"),
        (b"{}", 422, "texts", "give either text"),
        (b'{"text": "a", "texts": ["a"]}', 422, "texts", "give either text"),
        (b'{"text": 1}', 422, "text", "valid string"),
        (b'{"texts": "a"}', 422, "texts", "valid array"),
        (b'{"texts": []}', 422, "texts", "the list is empty"),
        (b'{"texts": ["a", null]}', 422, "texts[1]", "valid string"),
        (b'{"texts": [1, 2]}', 422, "texts[0]", "1 more error"),
        (b'{"text": "a", "threshold": NaN}', 422, "threshold", "finite"),
        (b'{"text": "a", "threshold": 1e999}', 422, "threshold", "finite"),
        (b'{"text": "a", "threshold": -Infinity}', 422, "threshold", "finite"),
        (b'{"text": "a", "threshold": 1.5}', 422, "threshold", "less than or equal to 1"),
        (b'{"text": "a", "threshold": "0.5"}', 422, "threshold", "valid number"),
        (b'{"text": "a", "threshold": true}', 422, "threshold", "valid number"),
        (b'{"text": "a", "thresholds": {"PER": NaN}}', 422, "thresholds.PER", "finite"),
        (b'{"text": "a", "thresholds": {"PER": 2}}', 422, "thresholds.PER", "from 0 to 1, not 2"),
        (b'{"text": "a", "thresholds": [0.5]}', 422, "thresholds", "an object"),
        (b'{"text": "a", "types": "PER"}', 422, "types", "valid array"),
        (b'{"text": "a", "offsets": "bytes"}', 422, "offsets", "'characters' or 'utf16'"),
        (b'{"text": "a", "treshold": 1}', 422, "treshold", "unknown field; known are text, texts"),
        (b'{"text": "abcdefghijk"}', 413, "text", "11 characters; at most 10"),
        (b'{"texts": ["abcdef", "ghijk"]}', 413, "texts", "11 characters; at most 10"),
        (b'{"texts": ["a", "b", "c", "d"]}', 413, "texts", "4 texts; at most 3"),
        (b'{"texts": [1, 2, 3, 4]}', 413, "texts", "4 texts; at most 3"),
        (b'{"text": "a", "types": [' + b"0, " * 1000 + b"0]}", 422, "types", "1001 types; at most 1000"),
    ],
)  # fmt: skip
def test_wrong_requests(body: bytes, status: int, where: str | None, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse(body, Limits(characters=10, texts=3))
    assert (caught.value.status, caught.value.where) == (status, where)
    assert message in caught.value.message
    assert len(caught.value.message) < 300


def test_unknown_fields_are_repeated_in_short() -> None:
    with pytest.raises(RequestError) as caught:
        parse(b'{"' + b"x" * 100_000 + b'": 1}', Limits())
    assert len(caught.value.message) < 300


@given(st.binary(max_size=40))
def test_any_bytes_are_a_request_or_a_failure(body: bytes) -> None:
    with suppress(RequestError):
        assert parse(body, Limits()).all_texts


@given(st.text(st.sampled_from("aé世😀\U0010ffff")))
def test_utf16_offsets(text: str) -> None:
    offset = utf16_offset(text)
    for i in range(len(text) + 1):
        assert offset(i) == len(text[:i].encode("utf-16-le")) // 2


def test_results() -> None:
    text = "😀 Oslo Anna"
    found = [Entity("Oslo", "LOC", 2, 6, 0.6), Entity("Anna", "PER", 7, 11, 0.4)]

    def spans(**fields: object) -> list[tuple[str, int, int]]:
        request = parse(json.dumps({"text": text, **fields}).encode(), Limits())
        return [(s["text"], s["start"], s["end"]) for s in results(request, [found])[0]["spans"]]

    assert spans() == [("Oslo", 2, 6), ("Anna", 7, 11)]
    assert spans(offsets="utf16") == [("Oslo", 3, 7), ("Anna", 8, 12)]
    assert spans(threshold=0.6) == [("Oslo", 2, 6)]
    assert spans(threshold=0.6, thresholds={"PER": 0.4, "LOC": 0.7}) == [("Anna", 7, 11)]
    assert spans(types=["PER"]) == [("Anna", 7, 11)]
    assert spans(types=[]) == []


def test_the_log_outlives_its_stream() -> None:
    stream = io.StringIO()
    log = json_log(stream)
    log("request", status=200)
    line = json.loads(stream.getvalue())
    assert (line["event"], line["status"], line["time"][-1]) == ("request", 200, "Z")
    stream.close()
    log("request", status=200)


def test_warnings_of_others_are_written_without_arguments() -> None:
    stream = io.StringIO()
    logger = logging.Logger("uvicorn.error")
    logger.addHandler(Forward(json_log(stream)))
    logger.info("not this")
    try:
        raise ValueError("a secret text")
    except ValueError:
        logger.exception("Exception in %s", "a secret text")
    (line,) = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert (line["event"], line["logger"], line["error"]) == ("warning", "uvicorn.error", "ValueError")
    assert "test_parts.py" in line["calls"][0]
    assert "secret" not in stream.getvalue()


def test_an_address_that_is_taken() -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(ConfigError, match="cannot listen on 127"):
        listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(ConfigError, match="from 0 to 65535, not 65536"):
        listen("127.0.0.1", 2**16)
    with pytest.raises(ConfigError, match="cannot listen on no such host"):
        listen("no such host", 0)


def test_asyncio_knows_that_the_socket_is_tcp() -> None:
    """Otherwise it leaves Nagle's algorithm on, and every answer takes 40 ms more."""
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP
