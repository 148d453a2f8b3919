"""Wrong requests of `/predict`, with the statuses that are right for each."""

from __future__ import annotations

from benchmarks.soak.wire import chunked, head, post

Mistake = tuple[str, bytes, tuple[int, ...]]
"""A name, the bytes of the request, and the statuses."""
LARGE = 2 * 2**20
"""Just below the largest body."""


def mistakes() -> list[Mistake]:
    """The requests."""
    return [*_bodies(), *_requests()]


def _bodies() -> list[Mistake]:
    bodies: dict[str, tuple[bytes, int]] = {
        "empty": (b"", 400),
        "white space": (b" \r\n\t", 400),
        "no JSON": (b"text=Anna", 400),
        "cut off": (b'{"text": "Anna', 400),
        "two values": (b'{"text": "a"} {"text": "b"}', 400),
        "comma at the end": (b'{"text": "a",}', 400),
        "byte order mark": (b'\xef\xbb\xbf{"text": "a"}', 400),
        "UTF-16": ('{"text": "a"}'.encode("utf-16"), 400),
        "Latin-1": ('{"text": "é"}'.encode("latin-1"), 400),
        "overlong UTF-8": (b'{"text": "\xc0\xaf"}', 400),
        "surrogate as UTF-8": (b'{"text": "\xed\xa0\x80"}', 400),
        "half of a surrogate pair": (b'{"text": "\\ud83d"}', 400),
        "other half": (b'{"text": "\\ude00 x"}', 400),
        "NUL as a byte": (b'{"text": "a\x00b"}', 400),
        "NUL between": (b"\x00", 400),
        "deep lists": (b"[" * 500_000, 400),
        "deep objects": (b'{"text":' * 200_000, 400),
        "deep unknown field": (b'{"x":' + b"[" * 10_000 + b"]" * 10_000 + b"}", 400),
        "huge number": (b'{"threshold": ' + b"9" * 1_000_000 + b"}", 400),
        "huge exponent": (b'{"text": "a", "threshold": 1e999999999}', 422),
        "NaN": (b'{"text": "a", "threshold": NaN}', 422),
        "a list": (b'["Anna"]', 422),
        "null": (b"null", 422),
        "no field": (b"{}", 422),
        "text is a number": (b'{"text": 7}', 422),
        "text is null": (b'{"text": null}', 422),
        "texts is a string": (b'{"texts": "Anna"}', 422),
        "both": (b'{"text": "a", "texts": ["a"]}', 422),
        "duplicate key, the last is wrong": (b'{"text": "a", "text": 1}', 422),
        "unknown field": (b'{"text": "a", "__proto__": {}}', 422),
        "unknown model": (b'{"text": "a", "model": "../../etc/passwd"}', 422),
        "unknown type": (b'{"text": "a", "types": ["\\u0000"]}', 422),
        "a hundred thousand fields": (
            b"{" + b",".join(b'"%d":1' % i for i in range(100_000)) + b"}",
            422,
        ),
        "a million wrong texts": (b'{"texts": [' + b"1," * (LARGE // 2 - 10) + b"1]}", 413),
        "a million empty texts": (b'{"texts": [' + b'"",' * (LARGE // 3 - 10) + b'""]}', 413),
        "half a million wrong types": (b'{"text": "a", "types": [' + b"1," * (LARGE // 4) + b"1]}", 422),
        "too many characters": (b'{"text": "' + b"a " * 60_000 + b'"}', 413),
        "a sentence too long": (b'{"text": "' + b"a " * 4_500 + b'"}', 413),
    }
    return [(name, post(body), (status,)) for name, (body, status) in bodies.items()]


def _requests() -> list[Mistake]:
    body, kind = b'{"text": "a"}', "Content-Type: application/json"
    chunks = "Transfer-Encoding: chunked"
    many = [f"X-Header-{i}: {i}" for i in range(300)]
    return [
        ("no content type", head("POST", "/predict", "Content-Length: 13") + body, (415,)),
        ("a form", post(body, kind="application/x-www-form-urlencoded"), (415,)),
        ("a file", post(body, kind="multipart/form-data; boundary=x"), (415,)),
        ("text", post(body, kind="text/plain"), (415,)),
        ("content type of odd bytes", post(body, kind="application/json\xff"), (415,)),
        ("gzip", post(body, "Content-Encoding: gzip"), (415,)),
        ("larger than announced", head("POST", "/predict", kind, "Content-Length: 5") + body, (400,)),
        ("length is a word", head("POST", "/predict", kind, "Content-Length: x") + body, (400,)),
        ("length is negative", head("POST", "/predict", kind, "Content-Length: -1") + body, (400,)),
        ("two lengths", post(body, "Content-Length: 14"), (400,)),
        ("length of 19 digits", head("POST", "/predict", kind, "Content-Length: " + "9" * 19), (413,)),
        ("chunk is no number", head("POST", "/predict", kind, chunks) + b"zz\r\n", (400,)),
        ("unknown coding", head("POST", "/predict", kind, "Transfer-Encoding: gzip") + body, (400, 501)),
        ("no host", b"POST /predict HTTP/1.1\r\nContent-Length: 0\r\n\r\n", (400,)),
        ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", (400,)),
        ("HTTP without a number", b"GET / HTTP/x\r\nHost: x\r\n\r\n", (400,)),
        ("line without a colon", head("GET", "/health", "no colon"), (400,)),
        ("name with a space", head("GET", "/health", "a b: c"), (400,)),
        ("a header of 60 kB", head("GET", "/health", "X-Long: " + "y" * 60_000), (200, 400)),
        ("300 headers", head("POST", "/predict", kind, "Content-Length: 1", *many) + b"{", (400,)),
        ("path with NUL", head("GET", "/%00"), (404,)),
        ("path of odd bytes", head("GET", "/%ff%fe"), (404,)),
        ("path upwards", head("GET", "/web/../../../../etc/passwd"), (404,)),
        ("encoded path upwards", head("GET", "/web/..%2f..%2fapp.py"), (404,)),
        ("whole address", head("GET", "http://localhost/health"), (404,)),
        ("long path", head("GET", "/" + "x" * 8_000), (404,)),
        ("tiny chunks, too many characters", chunked(b'{"text": "' + b"a " * 51_000 + b'"}', 512), (413,)),
    ]  # fmt: skip
