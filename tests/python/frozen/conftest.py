"""What is frozen is compared with what it was; the other tests hold it against the schemas."""

import pytest


@pytest.fixture(autouse=True)
def schemas_hold() -> None:
    """Stand in for the fixture of all tests."""
