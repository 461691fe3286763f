"""What scripts/install-backends installs: exactly what is pinned here, from whatever registry."""

from __future__ import annotations

from pathlib import Path

import pytest
from install_backends import REQUIREMENTS
from packaging.requirements import Requirement


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_a_backend_is_pinned_by_hash_and_no_registry_is_named(name: str) -> None:
    text = Path(__file__).with_name(f"requirements-{name}.txt").read_text("utf-8")
    assert "://" not in text
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line]
    assert [line for line in lines if "--hash=sha256:" not in line] == []
    asked = Requirement(REQUIREMENTS[name])
    pins = dict(line.split()[0].split("==") for line in lines)
    assert asked.specifier.contains(pins[asked.name])
