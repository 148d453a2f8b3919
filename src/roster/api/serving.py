"""`roster.serve`: models over HTTP, with a web page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roster.errors import ConfigError, RosterError
from roster.log import LOGGER

if TYPE_CHECKING:
    from roster.infer.recogniser import Recogniser
    from roster.serving.background import Background
    from roster.serving.extension import Extension
    from roster.serving.settings import Limits

Folder = str | PathLike[str]
EXTRA = ("fastapi", "uvicorn", "prometheus_client", "starlette", "pydantic")


def serve(
    models: Folder | Recogniser | Sequence[Folder] | Mapping[str, Folder | Recogniser],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token_file: Folder | None = None,
    device: str = "auto",
    audits: Mapping[str, Folder] | Sequence[str] = (),
    limits: Limits | None = None,
    log: Callable[..., None] | None = None,
    background: bool = False,
    extension: Extension | None = None,
    allow_anonymous: bool = False,
    allow_hosts: Collection[str] = (),
) -> Background | None:
    """Answers requests over HTTP, and shows a page at `/`, until SIGTERM or Ctrl-C.

    Args:
        models: a model folder, an export or a run folder; several, each as `FOLDER` or `NAME=FOLDER`; or a
            mapping of names to folders or to recognisers that are loaded already.
        host: the address to listen on.
        port: the port; 0 takes a free one.
        token_file: a file with accepted tokens, one a line; without it, the variable ROSTER_SERVE_TOKEN.
        device: `auto`, `cpu` or `cuda`.
        audits: folders of `roster audit` by the name of the model, or as `NAME=FOLDER`, where they are not in
            the run folder.
        limits: what a request may take.
        log: called with the name of each event and its fields; without it, nothing is logged.
        background: serve in a thread, and return at once.
        extension: further routes and pages, such as those of the projects.
        allow_anonymous: serve without a token on an address that other machines reach.
        allow_hosts: names of this service, beside those of this machine, for a proxy in front of a service
            without a token.

    Returns:
        None when the service has ended; with `background`, the service, whose `url` is its address and which
        ends with `close()` or at the end of a `with` block.

    Raises:
        RosterError: the extra `serve` is not installed; a model, an option or the address cannot be used.

    >>> with roster.serve("runs/news", port=0, background=True) as service:  # doctest: +SKIP
    ...     print(service.url)
    """
    with needs_extra():
        from roster.serving.background import Background
        from roster.serving.server import is_loopback, listen, serve
    from roster.serving.auth import read_tokens
    from roster.serving.models import load_models, named_audits, named_folders, served
    from roster.serving.settings import Limits

    tokens = read_tokens(None if token_file is None else Path(token_file))
    given: Mapping[str, Any] = models if isinstance(models, Mapping) else _by_name(models, named_folders)
    folders = {name: str(one) for name, one in given.items() if isinstance(one, str | PathLike)}
    if isinstance(audits, Mapping):
        named = {name: str(folder) for name, folder in audits.items()}
    else:
        named = named_audits(list(audits), list(given))
    if not tokens and not is_loopback(host):
        if extension is not None:
            raise ConfigError(f"whoever reaches {host} could write to this machine; --token-file is needed")
        if not allow_anonymous:
            raise ConfigError(
                f"whoever reaches {host} could use the service; restrict it with --token-file, or say "
                "--allow-anonymous if that is what you want"
            )
        LOGGER.warning(f"anyone who reaches {host} can use the service; --token-file restricts it")
    loaded = load_models(folders, device, named)
    ready = {name: loaded.get(name) or served(one) for name, one in given.items()}
    options: dict[str, Any] = {
        "limits": limits or Limits(),
        "tokens": tokens,
        "log": log or _silent,
        "extension": extension,
        # Without a token, a site whose name leads to this machine would be answered in a user's browser.
        "hosts": None if tokens or not (is_loopback(host) or allow_hosts) else frozenset(allow_hosts),
    }
    listening = listen(host, port)
    if background:
        return Background(ready, listening, **options)
    serve(ready, listening, **options)
    return None


@contextmanager
def needs_extra() -> Iterator[None]:
    """Raises RosterError where an import in the block lacks a package of the extra `serve`."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        raise RosterError('roster serve needs FastAPI and uvicorn: pip install "roster-ner[serve]"') from None


def _by_name(models: Any, named_folders: Callable[[Sequence[str]], dict[str, str]]) -> Mapping[str, Any]:
    if isinstance(models, str | PathLike):
        models = [models]
    return (
        named_folders([str(one) for one in models]) if isinstance(models, Sequence) else {"default": models}
    )


def _silent(event: str, **fields: Any) -> None:
    pass
