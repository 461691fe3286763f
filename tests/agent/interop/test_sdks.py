"""The documented features of both SDKs, through the real client and through ours: programs see and cause the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.interop.sdk.features import FEATURES
from tests.agent.interop.sdk.runs import Language, is_installed, run_feature

pytestmark = pytest.mark.interop


@pytest.mark.parametrize(
    ("name", "language"), [(name, language) for name, feature in FEATURES.items() for language in feature.languages]
)
def test_a_feature_works_alike(tmp_path: Path, name: str, language: Language) -> None:
    if not is_installed(language):
        pytest.skip("scripts/install-sdks has not installed this SDK")
    theirs = run_feature(FEATURES[name], language, tmp_path / "theirs", ours=False)
    ours = run_feature(FEATURES[name], language, tmp_path / "ours", ours=True)
    assert ours == theirs
