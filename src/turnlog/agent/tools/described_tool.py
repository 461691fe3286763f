"""What the model is told of the tools: `offered.json`, which has the names, the words and the inputs of all of them.

The names and the inputs are Claude Code's. The words are ours; they stand apart from the code, so that whoever changes
one sees that it is part of every request.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from turnlog.agent.tools.call_result import Object
from turnlog.agent.tools.tool import Tool


class DescribedTool(Tool):
    """A tool that is described there, under the name of its class."""

    only_reads = False
    """Whether calls change nothing."""

    @property
    def name(self) -> str:
        """Its name."""
        return type(self).__name__

    @property
    def description(self) -> str:
        """What the model is told of it."""
        return "\n".join(_load_descriptions()[self.name]["description"])

    @property
    def schema(self) -> Object:
        """The JSON schema of its input."""
        schema: Object = _load_descriptions()[self.name]["input_schema"]
        return schema

    def is_safe(self, given: Object) -> bool:
        """Whether a call may run beside others."""
        return self.only_reads


@cache
def _load_descriptions() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(__file__).with_name("offered.json").read_text(encoding="utf-8"))
    return found
