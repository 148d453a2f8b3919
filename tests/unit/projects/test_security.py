"""Who may do what: tokens, links, other sites, limits; and what is refused while a step is under way."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import Headers

from roster.projects.settings import ProjectLimits
from roster.serving.guard import refused
from roster.serving.links import SECONDS, Links
from tests.unit.projects.conftest import FILE, Api
from tests.unit.projects.test_routes import NAMES, Serve, prepared

TOKEN = "0123456789abcdefXYZ"
URL = "/api/projects/press"


def test_links_expire() -> None:
    now = [1000.0]
    links = Links(lambda: now[0])
    query = f"ticket={links.ticket('/a')}"
    assert links.accept("/a", query)
    for wrong in (
        "ticket=",
        "ticket=9999999999.abc",
        "ticket=é",
        query + "0",
        "x=1",
        query.replace("1300", "1400"),
    ):
        assert not links.accept("/a", wrong)
    now[0] += SECONDS + 1
    assert not links.accept("/a", query)
    assert not Links().accept("/a", query)


def test_other_sites() -> None:
    def status(method: str, hosts: Any = (), **headers: str) -> int | None:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        failure = refused(method, Headers(given), hosts)
        return None if failure is None else failure.status

    assert status("POST", host="127.0.0.1:8000") is None
    assert status("POST", host="[::1]:8000", origin="http://[::1]:8000", sec_fetch_site="same-origin") is None
    assert status("POST", host="localhost", origin="null") == 403
    assert status("POST", host="localhost", origin="http://localhost:8001") == 403
    assert status("DELETE", host="localhost", sec_fetch_site="cross-site") == 403
    assert status("POST", host="localhost", sec_fetch_site="same-site") == 403
    for name in ("rebound.example", "localhost.example", "127.0.0.1.example", "", "[", "a@b"):
        assert status("GET", host=name) == 421
    assert status("GET", {"ner.example"}, host="NER.example:443") is None
    assert status("GET", None, host="anything") is None


def test_tokens_and_links(serve: Serve) -> None:
    async def scenario(api: Api) -> None:
        await prepared(api)
        await api.post(f"{URL}/jobs/label", {}, 202)
        await api.finished("press", "label")
        link = (await api.post(f"{URL}/links", {"file": "data.zip"}))["url"]
        api.headers.pop("Authorization")
        assert (await api.get(link))[:2] == b"PK"
        for path in (
            "/api/projects",
            URL,
            f"{URL}/download/data.zip",
            link.replace("data.zip", "model.zip"),
            link[:-1],
        ):
            await api.get(path, 401)
        await api.post(link, {}, 401)
        await api.post("/api/projects", {"name": "other"}, 401)
        assert b"<html" in await api.get("/projects")

    serve(scenario, tokens=[TOKEN], headers={"Authorization": f"Bearer {TOKEN}"})


def test_wrong_requests(serve: Serve) -> None:
    async def scenario(api: Api) -> None:
        for name in ("../up", "a/b", "", ".hidden", "a" * 65):
            await api.post("/api/projects", {"name": name}, 422)
        await prepared(api)
        await api.post("/api/projects", {"name": "press"}, 409)
        await api.get("/api/projects/none", 404)
        await api.get("/api/projects/..%2f..%2fetc", 404)
        answer = await api.upload("press", "names", "evil.tsv", b"Ada\n" * 3, 422)
        assert answer["error"].startswith("evil.tsv, line 1: expected a name, a tab and its type")
        assert "--" not in answer["error"]
        assert (
            "more than 0 MiB" in (await api.upload("press", "texts", "big.txt", b"x" * 70000, 413))["error"]
        )
        await api.upload("press", "texts", "empty.txt", b"", 422)
        await api.upload("press", "models", "a.txt", b"x", 422)
        headers = {"Host": "localhost", "Content-Type": "text/plain"}
        for path, kind in ((f"{URL}/files/texts", "text/plain"), (f"{URL}/stop", "text/plain")):
            found = await api.client.post(path, content=b"{}", headers={**headers, "Content-Type": kind})
            assert found.status_code == 415
        cross = await api.client.post(
            f"{URL}/files/texts", content=b"x", headers={**headers, **FILE, "Origin": "http://evil.example"}
        )
        assert cross.status_code == 403
        assert (await api.client.get(URL, headers={"Host": "evil.example"})).status_code == 421
        await api.post(f"{URL}/jobs/label", {"patterns": ["--workers=0"]}, 422)
        await api.post(f"{URL}/jobs/nothing", {}, 422)
        await api.post(f"{URL}/jobs/train", {}, 404)
        await api.post(f"{URL}/jobs/train", {"minutes": -1}, 422)
        await api.post(f"{URL}/jobs/audit", {}, 404)
        await api.post(f"{URL}/stop", {}, 404)
        await api.post(f"{URL}/serve", {}, 404)
        await api.get(f"{URL}/review", 404)
        await api.get(f"{URL}/download/model.zip", 404)
        await api.get(f"{URL}/download/project.json", 422)
        await api.post("/predict", {"text": "Ada"}, 422)
        assert (await api.get("/openapi.json"))["paths"][f"{URL.replace('press', '{name}')}/jobs/{{step}}"]

    lines = serve(scenario, limits=ProjectLimits(upload=65536))
    assert [line for line in lines if line["event"] == "error"] == []
    paths = {line["path"] for line in lines if line["event"] == "request"}
    assert "/api/projects/{name}/files/{file}" in paths
    assert not [path for path in paths if "press" in path]


def test_one_step_at_a_time(serve: Serve) -> None:
    async def scenario(api: Api) -> None:
        for name in ("press", "other"):
            await prepared(api, name)
            await api.post(f"/api/projects/{name}/jobs/label", {}, 202)
        await api.post(f"{URL}/jobs/label", {}, 409)
        await api.delete(f"{URL}/files/1", 409)
        await api.delete(URL, 409)
        assert (await api.get("/api/projects/other"))["jobs"][0]["state"] == "queued"
        stopped = await api.post("/api/projects/other/stop", {})
        assert stopped["jobs"][0]["state"] == "stopped"
        await api.finished("press", "label")
        # A file that is broken only for the command: its error is the step's, with the client's name.
        project = await api.upload("press", "names", "more.tsv", NAMES.encode())
        await api.delete(f"{URL}/files/{project['number']}")
        assert (await api.get(URL))["stale"] is False
        await api.delete(f"{URL}/files/2")
        assert (await api.get(URL))["stale"] is True
        await api.post(f"{URL}/jobs/label", {}, 404)

    serve(scenario)
