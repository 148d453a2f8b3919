"""The routes of the projects, with the real commands on tiny data."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import roster
from tests.integration.conftest import make_sentences
from tests.unit.projects.conftest import Api

NAMES = "".join(f"{n}\tPER\n" for n in ("Ada", "Boris", "Clara", "Dmitri", "Elena", "Farid")) + "".join(
    f"{n}\tLOC\n" for n in ("Oslo", "Lima", "Cairo", "Quito", "Turin", "Dakar")
)
TEXT = "\n".join(make_sentences(60, 1)[0]) + "\n"
Serve = Callable[..., list[dict[str, Any]]]


async def prepared(api: Api, name: str = "press") -> None:
    await api.post("/api/projects", {"name": name}, 201)
    await api.upload(name, "texts", "news.txt", TEXT.encode())
    await api.upload(name, "names", "names.tsv", NAMES.encode())


def test_whole_chain(serve: Serve, tiny: Path, tmp_path: Path) -> None:
    async def scenario(api: Api) -> None:
        await prepared(api)
        url = "/api/projects/press"
        await api.post(f"{url}/jobs/label", {"patterns": ["DATE"]}, 202)
        project = await api.finished("press", "label")
        assert project["round"] == 1
        assert not project["stale"]
        labels = (await api.get(f"{url}/results"))["labels"]
        assert set(labels["types"]) >= {"PER", "LOC"}
        assert labels["sources"]["names.tsv"] > 20
        assert labels["examples"][0]["spans"]

        await api.post(f"{url}/jobs/train", {"minutes": 0.05, "backbone": str(tiny)}, 202)
        project = await api.finished("press", "train")
        assert project["best"] == 1
        await api.post(f"{url}/jobs/audit", {}, 202)
        await api.finished("press", "audit")
        assert (await api.get(f"{url}/results"))["audit"]["types"]
        await api.post(f"{url}/jobs/review", {}, 202)
        await api.finished("press", "review")
        seen = await api.get(f"{url}/review?width=0.05")
        while seen["sentences"] < 12:
            question = seen["question"]
            asked = {key: question[key] for key in ("number", "mention")}
            seen = await api.post(f"{url}/review", {**asked, "verdict": "all right", "width": 0.05})
        assert seen["scores"]["f1"]["low"] <= seen["scores"]["f1"]["value"] <= seen["scores"]["f1"]["high"]
        assert seen["left"] is not None
        assert len(seen["course"]) == 3
        before = seen["answers"]
        assert (await api.post(f"{url}/review/undo", {}))["answers"] == before - 1

        link = (await api.post(f"{url}/links", {"file": "model.zip"}))["url"]
        content = await api.get(link)
        assert content == await api.get(link)
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            packed.extractall(tmp_path / "unpacked")
        assert roster.load(tmp_path / "unpacked" / "press-model").types
        assert b"<html" in await api.get((await api.post(f"{url}/links", {"file": "audit.html"}))["url"])
        assert b'"text"' in await api.get((await api.post(f"{url}/links", {"file": "gold.jsonl"}))["url"])

        assert await api.post(f"{url}/serve", {}) == {"model": "press"}
        assert (await api.get("/models"))["default"] == "press"
        found = await api.post("/predict", {"text": "Mr Ada lives in Oslo ."})
        assert found["model"] == "press"

        await api.post(f"{url}/jobs/train", {"minutes": 0.05, "backbone": str(tiny), "gold": True}, 202)
        project = await api.finished("press", "train")
        assert (project["round"], project["best"], project["served"]) == (2, 2, None)
        assert await api.post(f"{url}/serve", {}) == {"model": "press"}
        await api.delete(url, 204)
        assert (await api.get("/models"))["models"] == []

    serve(scenario)
