"""W&B without a key, and with its own files under a folder of the test's."""

import pytest


def keyless(patch, folder):
    """Takes away all that W&B might find at home."""
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_BASE_URL", "WANDB_DATA_DIR"):
        patch.delenv(name, raising=False)
    patch.setenv("NETRC", str(folder / "no-netrc"))
    patch.setenv("WANDB_CONFIG_DIR", str(folder / "wandb-config"))
    patch.setenv("WANDB_CACHE_DIR", str(folder / "wandb-cache"))
    patch.setenv("XDG_DATA_HOME", str(folder / "home"))


@pytest.fixture
def offline(monkeypatch, tmp_path):
    keyless(monkeypatch, tmp_path)
