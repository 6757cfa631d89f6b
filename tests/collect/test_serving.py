"""The whole of it on the command line: invited, collected by a server of its own, closed, estimated."""

import asyncio
import json
import os
import re
import signal
import socket
import ssl
import sys
import threading
import time
from contextlib import ExitStack, closing
from http.client import HTTPConnection, HTTPSConnection

import psycopg
import pytest
from typer.testing import CliRunner

import dpstrata as dps
import engines
from collecting import (
    DATABASES,
    Server,
    Unreachable,
    drawn,
    give_back,
    invited,
    plan_for,
    post,
    random_cells,
    send_over,
    served,
    take_away,
)
from dpstrata.cli import app
from dpstrata.collect.serving import collect_survey
from problems import self_signed

ANSWERS = {"smokes": "yes", "home": "rent", "trust": 1}


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.output


def cell_of(plan, stratum, form):
    """What the device of someone sends whose answers are all the same as everyone's."""
    answers = {name: ANSWERS[name] for name in plan.forms[form - 1].questions}
    return dps.randomize(plan, stratum, answers, form).value


def office(made):
    return ("--sample", made.base / "sample.csv", "--key-file", made.base / "draw.key")


@pytest.mark.slow
@pytest.mark.parametrize("database", DATABASES)
def test_a_survey_from_the_invitation_to_the_estimates(tmp_path, database):
    made = invited(tmp_path, database=database)
    address = ("--database", made.database) if made.database else ()
    again = run(
        "invite", made.design, *office(made), "--survey", made.survey, "--office-key", tmp_path / "office.key",
        "--address", "https://survey.example.org", "--out", tmp_path / "invitations.csv", "--title", "Health", *address,
    )  # fmt: skip
    assert "200 people invited." in again
    plan, links = made.folder.plan, made.links
    with served(made) as server:
        people = made.people
        cells = {links[person]: cell_of(plan, stratum, form) for person, (stratum, form) in people.items()}
        for person, (_, form) in list(people.items())[:3]:
            assert server.look(links[person])["form"] == form - 1
        assert len(asyncio.run(send_over(server, cells.items()))[0]) == 200
        assert "200 of 200 people answered" in run("collect", "status", made.survey, *address)
        said = run(
            "collect", "close", made.survey, "--design", made.design, *office(made), "--office-key",
            tmp_path / "office.key", "--out", tmp_path / "results.csv", *address,
        )  # fmt: skip
        assert "The survey is closed: 200 of 200 people answered." in said
        assert server.look(links[person]) == {"state": "used"}
    shown = run("estimate", made.design, tmp_path / "results.csv", "--json")
    found = {
        (row["question"], row["level"]): row
        for row in json.loads(shown)["estimates"]
        if row["column"] == "all"
    }
    for question in ("smokes", "home"):  # which is 1; half of it is ten standard errors away
        assert abs(found[question, ANSWERS[question]]["estimate"] - 1) < 0.5


@pytest.mark.slow
def test_a_collector_says_what_it_promises_and_where_it_is(tmp_path):
    made = invited(tmp_path, plan_for(180))
    with served(made) as server:
        said = "\n".join(server.said)
    assert "learns at most E = 4: that is promised." in said
    assert re.search(r"sees batches of 20 answers: at most (E, too|\d\.\d\d, with δ = 1e-05)\.", said)
    assert "closed" not in said
    assert "The collector is at http://127.0.0.1:" in said


@pytest.mark.slow
def test_a_collector_of_a_closed_survey_says_so(tmp_path):
    made = invited(tmp_path, plan_for(180))
    with made.folder.connected() as tables:
        tables.mark_closed()
    with served(made) as server:
        assert server.look(next(iter(made.links.values()))) == {"state": "closed"}
    assert server.said[0] == "The survey is closed: respondents are told so, and no more answers are counted."
    assert not any("promised" in line for line in server.said)


@pytest.mark.parametrize(
    "name", ["https://x.org", "x.org:443", "x.org/survey", "x.org/", "x.org?a", "me@x.org", "[::1", ""]
)
def test_a_public_host_that_no_browser_would_ask_for(tmp_path, name):
    with pytest.raises(dps.InputError, match=r"public_host must be a name like survey\.example\.org"):
        collect_survey(tmp_path, public_host=name)


@pytest.mark.parametrize("name", ["survey.example.org", "Survey.Example.org", "192.0.2.7", "[2001:db8::1]"])
def test_a_public_host_may_be_a_name_or_a_number(tmp_path, name):
    with pytest.raises(dps.InputError, match="must be a folder that invite made"):
        collect_survey(tmp_path, public_host=name)


@pytest.mark.slow
def test_two_collectors_do_not_share_a_file(tmp_path):
    made = invited(tmp_path, plan_for(180))
    with served(made):
        result = CliRunner().invoke(app, ["collect", str(made.survey), "--port", "0"])
    assert isinstance(result.exception, dps.InputError)
    assert "only one collector can use the SQLite database" in str(result.exception)


def test_a_folder_that_is_none_is_refused(tmp_path):
    drawn(tmp_path, plan_for(180))
    result = CliRunner().invoke(app, ["collect", str(tmp_path)])
    assert "must be a folder that invite made, got one without kit.json" in str(result.exception)
    for name, said in (
        ("survy", "does not exist; give a folder that invite made."),
        ("design.json", "must be a folder that invite made, got a file."),
    ):
        result = CliRunner().invoke(app, ["collect", str(tmp_path / name)])
        assert str(result.exception) == f"{tmp_path / name} {said}"


@pytest.mark.slow
def test_a_collector_encrypts_by_itself(tmp_path):
    """Over TLS a respondent is answered who trusts the certificate; in plain text nobody is."""
    made = invited(tmp_path, plan_for(180))
    certificate, key = self_signed(tmp_path / "tls")
    person, (stratum, form) = next(iter(made.people.items()))
    token = made.links[person]
    body = json.dumps({"token": token, "cell": cell_of(made.folder.plan, stratum, form)}).ljust(128)
    with served(made, "--certificate", str(certificate), "--private-key", str(key)) as server:
        ready = f"The collector is at https://127.0.0.1:{server.port}/ (Ctrl-C stops it)."
        trusting = ssl.create_default_context(cafile=certificate)
        connection = HTTPSConnection("127.0.0.1", server.port, context=trusting, timeout=30)
        connection.request("POST", "/send", body, {"content-type": "application/json"})
        reply = connection.getresponse()
        assert json.loads(reply.read())["state"] == "counted"
        assert reply.headers["strict-transport-security"] == "max-age=31536000"
        connection.close()
        with pytest.raises(ssl.SSLCertVerificationError):
            HTTPSConnection("127.0.0.1", server.port, timeout=30).request("GET", "/")
        with pytest.raises(Unreachable):
            server.look(token)
    assert server.said[server.said.index(ready) + 1 :] == ["The collector has stopped."]  # nobody's address


@pytest.mark.slow
def test_more_connections_than_the_system_allows_fill_no_log(tmp_path):
    made = invited(tmp_path)
    token, cell = next(iter(random_cells(made).items()))
    command = [sys.executable, "-m", "dpstrata", "collect", str(made.survey), "--port", "0"]
    server = Server(made, ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *command])
    try:
        crowd = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(120)]
        time.sleep(1.5)  # it tries to take more of them every second
        for each in crowd:
            each.close()
        assert server.send(token, cell) == {"state": "counted"}
    finally:
        server.end()
    assert len("\n".join(server.said)) < 2000, server.said[:20]
    assert not [line for line in server.said if "Traceback" in line]


@pytest.mark.slow
def test_a_collector_that_can_open_no_more_files_shows_its_page_and_says_that_it_is_busy(tmp_path):
    """Connections have taken all files that it may open: there is none left for a journal."""
    made = invited(tmp_path)
    token, cell = next(iter(random_cells(made).items()))
    body = json.dumps({"token": token, "cell": cell}).ljust(128)
    command = [sys.executable, "-m", "dpstrata", "collect", str(made.survey), "--port", "0"]
    server = Server(made, ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *command])
    asked, statuses = [("GET", "/"), ("GET", "/static/page.css"), ("GET", "/healthz"), ("POST", "/send")], []
    with ExitStack() as crowd:
        crowd.callback(server.end)
        asking = crowd.enter_context(closing(HTTPConnection("127.0.0.1", server.port, timeout=30)))
        asking.connect()
        for _ in range(120):
            crowd.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
        end = time.monotonic() + 10
        while len(os.listdir(f"/proc/{server.process.pid}/fd")) < 64:
            assert time.monotonic() < end
        for method, path in asked:
            asking.request(
                method, path, body if method == "POST" else None, {"content-type": "application/json"}
            )
            reply = asking.getresponse()
            reply.read()
            statuses.append(reply.status)
    assert statuses == [200, 200, 200, 503]
    assert not [line for line in server.said if "Traceback" in line or "rror:" in line], server.said


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_collector_that_is_stopped_says_so_and_ends_well(tmp_path, how):
    made = invited(tmp_path, plan_for(180))
    with served(made) as server:
        server.end(how)
    assert server.process.returncode == 0
    assert server.said[-1] == "The collector has stopped."


def status_of(server, path):
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", path)
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.slow
@pytest.mark.parametrize("database", DATABASES)
def test_whoever_asks_learns_whether_answers_can_be_counted(tmp_path, database):
    made = invited(tmp_path, database=database)
    token, cell = next(iter(random_cells(made).items()))
    with served(made) as server:
        assert [status_of(server, path) for path in ("/healthz", "/readyz")] == [200, 200]
        take_away(made)
        assert asyncio.run(post(server.port, "/send", {"token": token, "cell": cell}))[0] == 503
        assert [status_of(server, path) for path in ("/healthz", "/readyz")] == [200, 503]
        give_back(made)
        assert [status_of(server, path) for path in ("/healthz", "/readyz")] == [200, 200]
        assert server.send(token, cell) == {"state": "counted"}
    said = [line for line in server.said if line.startswith("The database")]
    assert [line.split()[3].strip(":") for line in said] == ["lost", "back"]


@pytest.mark.postgresql
def test_a_collector_waits_for_postgresql(tmp_path):
    """Whose database gets its name a while later."""
    made = drawn(tmp_path, plan_for(180))
    address = engines.server()
    made.database = address.replace("/postgres", "/later")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS later")
        connection.execute("CREATE DATABASE later")
        made.invite()
        connection.execute("ALTER DATABASE later RENAME TO sooner")
        rename = "ALTER DATABASE sooner RENAME TO later"
        threading.Timer(8, connection.execute, [rename]).start()
        with served(made) as server:
            assert server.look(next(iter(made.links.values())))["state"] == "open"
        connection.execute("DROP DATABASE later WITH (FORCE)")
    waiting = [line for line in server.said if line.startswith("Waiting")]
    assert waiting == [server.said[0]]
    assert "/later; if this takes long, check its address and your rights." in waiting[0]
