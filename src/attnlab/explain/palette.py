"""The colours of pictures in files: those of the report's page on light."""

from __future__ import annotations

import re

from attnlab.report import page


def light() -> dict[str, str]:
    """Colours by name, from the page's theme."""
    theme = page.asset("css", "theme.css")
    return dict(re.findall(r"--([\w-]+): light-dark\((#\w+),", theme))
