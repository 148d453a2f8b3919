"""Bearer tokens: read from a file or the environment, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping
from pathlib import Path

from roster.errors import ConfigError

VARIABLE = "ROSTER_SERVE_TOKEN"
SHORTEST = 16
"""Characters of the shortest token that is accepted at the start."""


class Tokens:
    """Accepts a request if it has one of the tokens; without tokens, every request.

    Only digests are kept. All of them are compared, in constant time, whatever is given.

    >>> tokens = Tokens(["0123456789abcdef"])
    >>> tokens.accept("Bearer 0123456789abcdef"), tokens.accept("Bearer x"), tokens.accept(None)
    (True, False, False)
    >>> Tokens([]).accept(None)
    True
    """

    def __init__(self, tokens: list[str]):
        self._digests = [_digest(token.encode()) for token in tokens]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def accept(self, authorization: str | None) -> bool:
        """Whether the value of the header `Authorization` (None: it is missing) has one of the tokens."""
        if not self._digests:
            return True
        scheme, _, given = (authorization or "").partition(" ")
        digest = _digest(given.strip().encode("latin-1", "replace"))
        found = [hmac.compare_digest(digest, known) for known in self._digests]
        return any(found) and scheme.lower() == "bearer"


def read_tokens(file: str | Path | None, environment: Mapping[str, str] = os.environ) -> Tokens:
    """The tokens that the service accepts.

    Args:
        file: a file with one token on each line, or None for the variable `ROSTER_SERVE_TOKEN`.
        environment: the environment variables.

    Raises:
        ConfigError: the file cannot be read or has no token, or a token is too short or not printable ASCII.

    >>> bool(read_tokens(None, {}))
    False
    """
    if file is None:
        if VARIABLE not in environment:
            return Tokens([])
        return Tokens(_checked([environment[VARIABLE].strip()], f"the variable {VARIABLE}"))
    try:
        lines = Path(file).read_text(encoding="ascii").split("\n")
    except OSError as error:
        raise ConfigError(
            f"{file}: {error.strerror or error}; --token-file needs a file with a token"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: a token must be printable ASCII without spaces") from None
    return Tokens(_checked([line.strip() for line in lines if line.strip()], str(file)))


def _checked(tokens: list[str], where: str) -> list[str]:
    if not tokens:
        raise ConfigError(f"{where}: there is no token in it; write one on a line of its own")
    for number, token in enumerate(tokens, 1):
        if len(token) < SHORTEST:
            raise ConfigError(
                f"{where}: token {number} has {len(token)} characters; at least {SHORTEST} are needed. "
                "This makes one: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
            )
        if not all("!" <= c <= "~" for c in token):
            raise ConfigError(f"{where}: token {number} must be printable ASCII without spaces")
    return tokens


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
