"""Runs the application: a socket, signals, and an end that answers what is under way."""

from __future__ import annotations

import ipaddress
import logging
import os
import signal
import socket
import threading
from collections.abc import Collection, Mapping
from types import FrameType

import uvicorn

from roster.errors import ConfigError
from roster.serving.app import create_app
from roster.serving.auth import Tokens
from roster.serving.connections import HEAD_BYTES, Connections
from roster.serving.extension import Extension
from roster.serving.logs import Forward, Log
from roster.serving.models import ServedModel
from roster.serving.settings import Limits

GRACE_SECONDS = 5.0
"""Time to send the last answers, after the time limit of a request."""
KEEP_ALIVE_SECONDS = 75
"""How long an idle connection is kept; longer than a proxy keeps its own (nginx: 60 s), which could otherwise
send a request on a connection that is just closed."""
BACKLOG = 512


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Args:
        host: a name or an address.
        port: a number, or 0 for a free one.

    Raises:
        ConfigError: the address cannot be used.
    """
    if not 0 <= port < 2**16:
        raise ConfigError(f"a port is a number from 0 to 65535, not {port}")
    try:
        # asyncio switches off Nagle's algorithm only where the protocol is named. With it, the body of an
        # answer would wait 40 ms until the client has acknowledged the head.
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(BACKLOG)
        except OSError:
            listening.close()
            raise
        return listening
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(
            f"cannot listen on {host}, port {port}: {reason}; choose another with --port"
        ) from None


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def make_server(
    models: Mapping[str, ServedModel],
    *,
    limits: Limits,
    tokens: Tokens,
    log: Log,
    extension: Extension | None = None,
    hosts: Collection[str] | None = None,
) -> uvicorn.Server:
    """The server of some models; `should_exit` ends it, after the requests under way are answered.

    Args:
        models: what is served, by name.
        limits: what a request may take.
        tokens: the accepted tokens.
        log: gets one line a request, and warnings.
        extension: further routes and pages.
        hosts: names of this service in the header Host, beside those of this machine; None for any.
    """
    server: uvicorn.Server
    app = create_app(
        models,
        limits=limits,
        tokens=tokens,
        log=log,
        stopping=lambda: bool(server.should_exit),
        extension=extension,
        hosts=hosts,
    )
    connections = Connections(limits, app.metrics.refused)
    app.metrics.watch_connections(lambda: len(connections.open))
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=connections.protocol(),
            h11_max_incomplete_event_size=HEAD_BYTES,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            loop="asyncio",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=int(limits.seconds + GRACE_SECONDS),
        )
    )
    return server


def address_of(listening: socket.socket) -> str:
    """The address of a socket that listens, as in a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(server: uvicorn.Server, listening: socket.socket, log: Log, facts: Mapping[str, object]) -> None:
    """Runs a server until it ends, with warnings of other packages in the log.

    Args:
        server: the server.
        listening: the socket, as `listen` makes it; it is closed at the end.
        log: gets `listening`, `stopped`, and what is between.
        facts: further fields of `listening`.
    """
    handler = Forward(log)
    loggers = [logging.getLogger(name) for name in ("uvicorn", "asyncio")]
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False
    log("listening", url=address_of(listening), **facts)
    try:
        server.run(sockets=[listening])
    finally:
        log("stopped")
        for logger in loggers:
            logger.removeHandler(handler)


def serve(
    models: Mapping[str, ServedModel],
    listening: socket.socket,
    *,
    limits: Limits,
    tokens: Tokens,
    log: Log,
    extension: Extension | None = None,
    hosts: Collection[str] | None = None,
) -> None:
    """Answers requests until SIGTERM or SIGINT; then new ones are refused, and those under way answered.

    Args:
        models: what is served, by name.
        listening: the socket, as `listen` makes it; it is closed at the end.
        limits: what a request may take.
        tokens: the accepted tokens.
        log: gets one line a request, and warnings.
        extension: further routes and pages.
        hosts: names of this service in the header Host, beside those of this machine; None for any.
    """
    server = make_server(models, limits=limits, tokens=tokens, log=log, extension=extension, hosts=hosts)

    def stop(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    # uvicorn handles both signals while it runs, and sends them again to these handlers at the end; the
    # handlers of Python would then end the process with another code than 0.
    main = threading.current_thread() is threading.main_thread()
    before = {one: signal.signal(one, stop) for one in (signal.SIGTERM, signal.SIGINT)} if main else {}
    try:
        run(server, listening, log, {"models": sorted(models), "token": bool(tokens)})
    finally:
        for one, handled in before.items():
            signal.signal(one, handled)
