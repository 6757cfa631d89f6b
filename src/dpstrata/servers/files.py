"""Files of a page."""

from __future__ import annotations

from starlette.responses import Response
from starlette.staticfiles import StaticFiles


class FreshFiles(StaticFiles):
    """The files of a page, asked for again every time, so that an update is seen at once."""

    def file_response(self, *arguments: object, **options: object) -> Response:
        """Let browsers ask whether a file has changed."""
        response = super().file_response(*arguments, **options)  # type: ignore[arg-type]
        response.headers["cache-control"] = "no-cache"
        return response
