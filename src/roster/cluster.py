"""The connection to a Ray cluster. Ray is imported here, and only when a command is told to use it."""

from __future__ import annotations

import atexit
import logging
import os
from typing import Any

from roster.errors import RosterError

LOOPBACK = "127.0.0.1"


def connect(address: str | None = None) -> Any:
    """The module `ray`, connected to a cluster; a second call with any address keeps the first connection.

    Args:
        address: `HOST:PORT` of the head node, or `auto` for the cluster of this machine. Without one, Ray is
        started here on
            all cores, reachable from this machine only, and ends with this process.

    Raises:
        RosterError: Ray is not installed, or there is no cluster at the address.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    here = address is None or address.rpartition(":")[0] in (LOOPBACK, "localhost")
    if here:
        # Read when Ray is first imported: nodes then take the loopback address, and listen on no other.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray
    except ImportError:
        raise RosterError('--engine ray needs Ray: pip install "roster-ner[ray]"') from None
    if ray.is_initialized():
        return ray
    where: dict[str, Any] = {"address": address}
    if address is None:
        where = {"address": "local", "include_dashboard": False, "_node_ip_address": LOOPBACK}
    elif here:
        where["_node_ip_address"] = LOOPBACK
    try:
        ray.init(**where, logging_level=logging.ERROR, log_to_driver=False, configure_logging=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise RosterError(f"no Ray cluster at {address or 'this machine'}: {reason}") from None
    atexit.register(ray.shutdown)
    return ray
