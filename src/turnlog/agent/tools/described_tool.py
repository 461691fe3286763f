"""Tool descriptions for the model: `offered.json` contains each tool's name, description and input schema.

The names and schemas are Claude Code's. The descriptions are our own, and are kept out of the code as a reminder that
they are part of every request.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from turnlog.agent.tools.call_result import Object
from turnlog.agent.tools.tool import Tool


class DescribedTool(Tool):
    """A tool whose description is in `offered.json` under its class name."""

    only_reads = False
    """Whether the tool never changes anything."""

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def description(self) -> str:
        return "\n".join(_load_descriptions()[self.name]["description"])

    @property
    def schema(self) -> Object:
        schema: Object = _load_descriptions()[self.name]["input_schema"]
        return schema

    def is_safe(self, arguments: Object) -> bool:
        """Return whether a call may run in parallel with others."""
        return self.only_reads


@cache
def _load_descriptions() -> dict[str, Any]:
    descriptions: dict[str, Any] = json.loads(Path(__file__).with_name("offered.json").read_text(encoding="utf-8"))
    return descriptions
