"""Tests in several processes are all run, once, and whatever goes wrong in one of them is a failure."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CONFTEST = """
import pytest
from workers import run_tests

def pytest_runtestloop(session):
    run_tests(session, 2)
    return True

@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    yield tmp_path_factory.mktemp("shared")
    open({log!r}, "a").write("torn down\\n")
"""
WELL = """
import os, pytest

@pytest.mark.parametrize("k", range(20))
def test_it(k, shared, capfd, tmp_path):
    open({log!r}, "a").write(f"{{__name__}} {{k}} {{os.getpid()}}\\n")
    print(k)
    assert capfd.readouterr().out == f"{{k}}\\n"
"""
ENDINGS = {
    "fails": ("def test_bad():\n    assert 1 == 2\n", "assert 1 == 2", 1),
    "is killed": ("import os\ndef test_bad():\n    os._exit(0)\n", "the process that ran it ended", 1),
    "fails before it is killed": (
        "import os, pytest\n"
        "@pytest.fixture\n"
        "def other():\n"
        "    yield\n"
        "    os._exit(0)\n"
        "def test_bad(other):\n    assert 1 == 2\n",
        "assert 1 == 2",
        2,
    ),
    "is interrupted": ("def test_bad():\n    raise KeyboardInterrupt\n", "KeyboardInterrupt", 1),
    "ends badly": (
        "import atexit, pytest\n"
        "@pytest.fixture(scope='session')\n"
        "def other():\n"
        "    yield\n"
        "    raise OSError('at the very end')\n"
        "def test_bad(other):\n    pass\n",
        "at the very end",
        1,
    ),
}


def outcome(folder, *arguments, **files):
    log = folder / "log"
    log.touch()
    (folder / "conftest.py").write_text(CONFTEST.format(log=str(log)))
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text.format(log=str(log)) if text is WELL else text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", f"--basetemp={folder / 'own'}", *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(HERE), "PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done, log.read_text().splitlines()


@pytest.mark.parametrize("modules", ["abcde", "abcdefghijklmnopqrstuvwxyz"])
def test_every_test_is_run_once_and_what_they_share_is_made_once_in_a_process(modules, tmp_path):
    done, lines = outcome(tmp_path, **dict.fromkeys(modules, WELL))
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1].startswith(f"{20 * len(modules)} passed")
    ran = [line.rpartition(" ") for line in lines if line != "torn down"]
    assert sorted(name for name, _, _ in ran) == sorted(f"test_{m} {k}" for m in modules for k in range(20))
    assert lines.count("torn down") == len({process for _, _, process in ran}) <= 2


@pytest.mark.parametrize("ending", ENDINGS)
def test_whatever_ends_a_test_is_a_failure_and_all_others_are_run(ending, tmp_path):
    bad, words, failed = ENDINGS[ending]
    done, lines = outcome(tmp_path, a=WELL, b=bad, c=WELL, d=WELL)
    assert done.returncode == 1, done.stdout
    assert words in done.stdout
    assert re.search(rf"\b{failed} (failed|error)", done.stdout.splitlines()[-1])
    assert len([line for line in lines if line != "torn down"]) == 60


@pytest.mark.parametrize("others", ["bcdefghij", "bcdefghijklmnopqrstuvwxyz"])
def test_it_stops_at_the_first_failure_if_asked_to(others, tmp_path):
    bad = WELL.replace("def test_it", "def test_bad").replace("    print(k)", "    assert False")
    (tmp_path / "test_a.py").write_text(bad.format(log=str(tmp_path / "log")))
    done, lines = outcome(tmp_path, "-x", **dict.fromkeys(others, WELL))
    assert done.returncode == 1
    assert "stopping after" in done.stdout
    assert len([line for line in lines if line.startswith("test_a")]) <= 4
    assert len(lines) < 100
