"""Derived files named by what they were derived from, made once whoever asks."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock

from attnlab.data.corpus import content_hash
from attnlab.errors import UserError


def once(cache: Path, kind: str, identity: dict[str, Any], make: Callable[[Path], None]) -> Path:
    """The folder `<cache>/<kind>/<hash of identity>`, made by `make(empty folder)` where it is missing.

    A lock lets one process do the work while others wait; the folder gets its name when it is complete,
    so that an interrupted one is never used.

    Raises:
        UserError: the cache can't be written.
    """
    folder = cache / kind / content_hash([json.dumps(identity, sort_keys=True)])
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if not folder.is_dir():
                for left in folder.parent.glob(f"{folder.name}.*/"):  # by a process that was killed
                    shutil.rmtree(left, ignore_errors=True)
                building = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
                try:
                    make(building)
                    (building / "identity.json").write_text(json.dumps(identity, indent=1), encoding="utf-8")
                    building.chmod(0o755)
                    building.replace(folder)
                finally:
                    shutil.rmtree(building, ignore_errors=True)
    except OSError as error:
        raise UserError(
            f"{folder}: the cache can't be written ({error.strerror or error}); "
            "set data.cache_dir or ATTNLAB_CACHE to a writable folder"
        ) from error
    return folder
