"""Limits of projects, and the settings of their jobs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProjectLimits:
    """What the projects of a service may take.

    Args:
        upload: bytes of one uploaded file.
        unpacked: bytes of one file after decompression.
        files: files of one project.
        projects: projects of the folder.
        reviews: reviews that are open at once.
        models: models of projects that are loaded at once.
    """

    upload: int = 200 * 2**20
    unpacked: int = 2**30
    files: int = 2000
    projects: int = 500
    reviews: int = 4
    models: int = 8
