"""What every server shows: files of a page, and that it is alive."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

_NAMED_BY_CONTENT = re.compile(r"part-[A-Z0-9]{8}\.js")


class _File(NamedTuple):
    content: bytes
    kind: str | None
    headers: dict[str, str]


def files_route(folder: Path) -> Route:
    """Serve the files of a folder under ``/static``, from memory.

    All are read when the server starts: one whose connections have taken all files that it may open can still
    show its page. Browsers ask every time whether a file has changed, so that an update is seen at once.
    Parts whose name is a digest of their content never change, and are kept for a year.

    Parameters
    ----------
    folder : path
        Where the files are.
    """
    files = _read(folder)

    async def show(request: Request) -> Response:
        found = files.get(request.path_params["path"])
        if found is None:
            raise HTTPException(404)
        if request.headers.get("if-none-match", "").removeprefix("W/") == found.headers["etag"]:
            return Response(status_code=304, headers=found.headers)
        return Response(found.content, media_type=found.kind, headers=found.headers)

    return Route("/static/{path:path}", show)


def page_route(path: Path, *, cache_control: str) -> Route:
    """Serve a page at ``/``, from memory, with what browsers are told about keeping it."""
    content, _, _ = _read(path.parent)[path.name]

    async def show(request: Request) -> Response:
        return Response(content, media_type="text/html", headers={"cache-control": cache_control})

    return Route("/", show)


@cache
def _read(folder: Path) -> dict[str, _File]:
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            lasting = _NAMED_BY_CONTENT.fullmatch(path.name)
            headers = {
                "etag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
                "cache-control": "public, max-age=31536000, immutable" if lasting else "no-cache",
            }
            kind, _ = mimetypes.guess_type(path.name)
            found[path.relative_to(folder).as_posix()] = _File(content, kind, headers)
    return found


async def _say_alive(request: Request) -> Response:
    return JSONResponse({"state": "alive"}, headers={"cache-control": "no-store"})


HEALTH = Route("/healthz", _say_alive)
"""Tells whoever starts a server again whether that is needed."""
