"""The contract is tried as its users meet it: without the checks of shapes under which the other tests run."""

import jaxtyping
import pytest


@pytest.fixture(autouse=True)
def no_checks_of_shapes():
    """They would refuse in the contract's place, and take more time than it does."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)
