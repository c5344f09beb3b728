"""Fixtures of the report's tests: a profile, a validation and mappings that look like measured ones."""

from __future__ import annotations

import pytest

import sample_figures
from rankwise.machine.profile import Profile
from rankwise.report.inputs import MappingInstance, mappings_from_record, validation_from_record
from rankwise.workloads.comparison import Validation


@pytest.fixture
def profile() -> Profile:
    return sample_figures.profile()


@pytest.fixture
def validation() -> Validation:
    return validation_from_record(sample_figures.validation_record(), "validate.json")


@pytest.fixture(scope="session")
def mappings() -> list[MappingInstance]:
    return mappings_from_record(sample_figures.mapping_record(), "map.json")
