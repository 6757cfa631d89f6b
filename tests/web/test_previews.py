"""The respondents' page of a plan: at an address of its own, guarded like the page that is sent to people."""

import json
import re

import pytest
from test_questions import OPTIONS, QUESTIONS, planned

import dpstrata as dps
from dpstrata.collect.contract import LENGTH, POLICY
from dpstrata.servers.guard import HEADERS
from dpstrata.web.app import Previews
from dpstrata.web.replies import Reply
from dpstrata.web.requests import Limits

STRATA = {"stratum": ["A", "B"], "size": [7000, 8000]}


def address_of(client):
    request = {"strata": STRATA, "options": OPTIONS, "questionnaire": QUESTIONS}
    reply = client.post("/api/preview", json=request)
    assert reply.status_code == 200, reply.text
    return reply.json()["address"]


def post(client, path, body):
    content = json.dumps(body).encode().ljust(LENGTH)
    return client.post(path, content=content, headers={"content-type": "application/json"}).json()


def test_every_form_is_listed_and_its_rows_are_dropped(client):
    address = address_of(client)
    page, base = client.get(address).text, address.removesuffix("preview")
    kit = dps.respondent_kit(planned())
    assert client.get(f"{base}kit.json").content == kit.content
    tokens = re.findall(r'href="\./#([\w-]{22})">Form', page)
    looked = [post(client, f"{base}look", {"token": token}) for token in tokens]
    assert [each["form"] for each in looked] == list(range(len(kit.cells)))
    assert post(client, f"{base}send", {"token": tokens[0], "cell": 0}) == {"state": "counted"}
    assert post(client, f"{base}send", {"token": tokens[0], "cell": 0}) == {"state": "used"}


def test_its_pages_have_the_headers_of_the_respondents_page_once(client):
    address = address_of(client)
    for path in (address, address.removesuffix("preview"), "/"):
        headers = client.get(path).headers
        policies = headers.get_list("content-security-policy")
        assert (policies == [POLICY]) == (path != "/")
        assert len(policies) == 1
        assert all(headers.get_list(name) == [value] for name, value in HEADERS.items())
    assert client.get(address, headers={"origin": "http://elsewhere"}).status_code == 403


@pytest.mark.parametrize("token", ["x", "A" * 22, "%2e%2e"])
def test_an_unknown_address_shows_nothing(client, token):
    reply = client.get(f"/respondents/{token}/preview")
    assert reply.status_code == 404
    assert "error" in reply.json()


def test_what_devices_cannot_do_has_no_preview(client, four):
    reply = client.post("/api/preview", json=four)
    assert reply.status_code == 422
    assert "devices that send one of a few cells" in reply.json()["error"]["message"]


def kept(limits):
    """How many of three previews of one kit are kept; they are the newest."""
    previews, kit = Previews("127.0.0.1", limits), Reply(dps.respondent_kit(planned()).content)
    made = [json.loads(previews.keep(kit).content)["address"].split("/")[2] for _ in range(3)]
    assert made[-len(previews._kept) :] == list(previews._kept)
    return len(previews._kept)


def test_the_oldest_previews_are_dropped():
    length = len(dps.respondent_kit(planned()).content)
    assert kept(Limits()) == 3
    assert kept(Limits(previews=2)) == 2
    assert kept(Limits(preview_bytes=2 * length)) == 2
    assert kept(Limits(preview_bytes=1)) == 1
