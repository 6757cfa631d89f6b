"""Files of a page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

_NAMED_BY_CONTENT = re.compile(r"part-[A-Z0-9]{8}\.js")


class FreshFiles(StaticFiles):
    """The files of a page, asked for again every time, so that an update is seen at once.

    Parts whose name is a digest of their content never change, and are kept for a year.
    """

    def file_response(self, full_path: Any, *arguments: Any, **options: Any) -> Response:
        """Let browsers ask whether a file has changed, unless it cannot."""
        response = super().file_response(full_path, *arguments, **options)
        lasting = _NAMED_BY_CONTENT.fullmatch(Path(full_path).name)
        response.headers["cache-control"] = "public, max-age=31536000, immutable" if lasting else "no-cache"
        return read_response(response) if isinstance(response, FileResponse) else response


def read_response(response: FileResponse) -> Response:
    """Read a file before anything is sent, so that a server that can open no more files says that it is busy.

    Starlette opens it after the head of the reply, when it is too late for another status.
    """
    try:
        content = Path(response.path).read_bytes()
    except OSError:
        raise HTTPException(503) from None
    return Response(content, response.status_code, dict(response.headers))
