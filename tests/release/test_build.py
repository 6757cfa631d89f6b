"""What is shipped: wheel and sdist, built twice alike, with what they need and nothing else."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import dpstrata

ROOT = Path(__file__).parent.parent.parent


def committed_files():
    command = ["git", "-c", "core.quotePath=off", "ls-files"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build both, twice."""
    folders = [tmp_path_factory.mktemp("dist") for _ in range(2)]
    for folder in folders:
        command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
        variables = {**os.environ, "SOURCE_DATE_EPOCH": "1790000000"}
        done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    return folders


@pytest.mark.slow
def test_builds_are_the_same_every_time(built):
    names = sorted(path.name for path in built[0].iterdir())
    assert [name.rpartition("dpstrata-")[2] for name in names] == [
        f"{dpstrata.__version__}-py3-none-any.whl",
        f"{dpstrata.__version__}.tar.gz",
    ]
    for name in names:
        assert (built[0] / name).read_bytes() == (built[1] / name).read_bytes()


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(built):
    (wheel,) = built[0].glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = next(archive.read(name).decode() for name in names if name.endswith("/METADATA"))
    committed = {name.removeprefix("src/") for name in committed_files() if name.startswith("src/")}
    shipped = {name for name in names if ".dist-info/" not in name}
    assert shipped == committed
    for needed in (
        "web/static/index.html",
        "web/static/planner.js",
        "collect/static/dpstrata-respond.js",
        "examples/fair1978.csv",
        "py.typed",
    ):
        assert f"dpstrata/{needed}" in shipped
    licences = [name for name in names if "/licenses/" in name]
    assert any(name.endswith("LICENSE") for name in licences)
    assert any(name.endswith("THIRD-PARTY.txt") for name in licences)
    assert f"Version: {dpstrata.__version__}" in metadata
    for extra in ("files", "charts", "survey", "spark", "web", "pdf", "all"):
        assert f"Provides-Extra: {extra}\n" in metadata


@pytest.mark.slow
def test_the_sdist_can_be_tested_and_holds_no_leftovers(built):
    (sdist,) = built[0].glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    for needed in (
        "Makefile",
        "constraints.txt",
        "tests/test_package.py",
        "web/build.mjs",
        "web/respond/page.js",
        "docs/index.md",
        "LICENSE",
    ):
        assert needed in names
    for name in names:
        leftover = re.search(r"node_modules|__pycache__|\.venv|docs/_build|\.pyc$|\.key$", name)
        assert not leftover, name


def test_nothing_committed_names_a_machine_or_a_registry():
    """No absolute path of a home or a workplace, and no address that packages are fetched from."""
    folders = [f"/{folder}/" for folder in ("home", "root", "work", "Users")]
    hosts = [".".join(parts) for parts in (("pypi", "org"), ("npmjs", "org"), ("pythonhosted", "org"))]
    forbidden = re.compile("|".join(map(re.escape, [*folders, *hosts, '"resolved' + '":'])).encode())
    for name in committed_files():
        path = ROOT / name
        if not path.is_file() or path.suffix in (".png", ".parquet"):
            continue
        found = forbidden.search(path.read_bytes())
        assert found is None, (name, found)


def test_the_citation_is_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {dpstrata.__version__}\n" in citation
    assert f"## {dpstrata.__version__} " in (ROOT / "CHANGELOG.md").read_text()
