"""The preview: every form and state, on this machine, with nothing kept."""

import asyncio
import json
import re
import sys

import pytest
import uvicorn
from starlette.testclient import TestClient
from typer.testing import CliRunner

import dpstrata as dps
from dpstrata.cli import app
from dpstrata.collect.contract import LENGTH
from dpstrata.collect.preview import PreviewStore, make_preview, preview
from questionnaires import small_plan


@pytest.fixture
def client(small_kit):
    with TestClient(make_preview(small_kit), base_url="http://127.0.0.1") as made:
        yield made


def post(client, path, body):
    content = json.dumps(body).encode().ljust(LENGTH)
    return client.post(path, content=content, headers={"content-type": "application/json"}).json()


def tokens(client):
    return re.findall(r'href="\./#([\w-]{22})"', client.get("/preview").text)


def test_it_lists_every_form_and_every_state(client, small_kit):
    first, second, used, closed, unknown = tokens(client)
    assert post(client, "/look", {"token": first}) == {"state": "open", "form": 0, "odds": 0}
    assert post(client, "/look", {"token": second}) == {"state": "open", "form": 1, "odds": 0}
    assert [post(client, "/look", {"token": each})["state"] for each in (used, closed, unknown)] == [
        "used", "closed", "unknown"
    ]  # fmt: skip
    page = client.get("/preview").text
    assert small_kit.digest in page
    assert "smokes, home, income" in page


def test_links_are_new_each_time_and_used_up(client):
    first = tokens(client)[0]
    assert post(client, "/send", {"token": first, "cell": 3}) == {"state": "counted"}
    assert post(client, "/send", {"token": first, "cell": 3}) == {"state": "used"}
    assert first not in tokens(client)


def test_nothing_of_a_cell_is_kept_and_memory_is_bounded(monkeypatch):
    monkeypatch.setattr("dpstrata.collect.preview._KEPT", 5)
    store = PreviewStore()
    made = [store.invite(0) for _ in range(9)]
    assert asyncio.run(store.send(made[-1], 424242)) == "counted"
    assert "424242" not in repr(store._invitations)
    assert len(store._invitations) == 5
    assert asyncio.run(store.look(made[0])).state == "unknown"


def test_names_are_text_and_never_markup():
    question = dps.Question("<script>alert(1)</script>", "yes_no", text="<b>?</b>")
    kit = dps.respondent_kit(small_plan(questions=dps.Questionnaire([question])), title="<i>&")
    with TestClient(make_preview(kit), base_url="http://127.0.0.1") as client:
        page = client.get("/preview").text
    assert "<script>" not in page
    assert "<i>" not in page
    assert "&lt;i&gt;&amp;" in page


def test_without_the_extra_it_names_the_install_command(monkeypatch, small_kit):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(
        dps.MissingExtraError, match=r"the preview needs an extra: pip install 'dpstrata\[web\]'"
    ):
        preview(small_kit, browser=False)


# --- the commands --------------------------------------------------------------------------------


@pytest.fixture
def design(tmp_path):
    path = tmp_path / "design.json"
    small_plan().save(path)
    return path


def test_kit_writes_it_and_says_its_digest(design, tmp_path):
    out = tmp_path / "kit.json"
    result = CliRunner().invoke(app, ["kit", str(design), "--out", str(out), "--title", "Health"])
    assert result.exit_code == 0, result.output
    kit = dps.respondent_kit(small_plan(), title="Health")
    assert out.read_bytes() == kit.content
    assert kit.digest in result.output.replace("\n", "")


def test_respond_starts_says_where_and_stops(design, monkeypatch):
    startup = uvicorn.Server.startup

    async def start_and_stop(self, sockets=None):
        await startup(self, sockets=sockets)
        self.should_exit = True

    monkeypatch.setattr(uvicorn.Server, "startup", start_and_stop)
    result = CliRunner().invoke(app, ["respond", str(design), "--no-browser", "--port", "0"])
    assert result.exit_code == 0, result.output
    assert re.search(
        r"The preview is at http://127\.0\.0\.1:\d+/preview \(Ctrl-C stops it\)\.", result.output
    )
    assert result.output.endswith("The preview has stopped.\n")
