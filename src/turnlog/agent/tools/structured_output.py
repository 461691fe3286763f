"""StructuredOutput: the model returns its answer as data that matches the caller's schema (`--json-schema`).

The call ends the turn. If the model stops without it, it is reminded once; after five invalid answers, the turn fails.
"""

from __future__ import annotations

import json
from typing import Any

from turnlog.agent.tools.call_result import CallResult, Object, ToolError
from turnlog.agent.tools.json_schema import InvalidSchema, SchemaChecker
from turnlog.agent.tools.tool import CallContext, Tool
from turnlog.errors import UsageError

MAX_OUTPUT_ATTEMPTS = 5


class StructuredOutput(Tool):
    """Checks and keeps the output of the current turn."""

    def __init__(self, schema: Object, where: str) -> None:
        try:
            self._checker = SchemaChecker(schema)
        except InvalidSchema as error:
            raise UsageError(f"{where} is not a schema that turnlog supports: {error}") from None
        self._schema = schema
        self.start_turn()

    def start_turn(self) -> None:
        self.output: Object | None = None
        """What the model returned, once it matches the schema."""
        self._failures = 0
        self._last_error = ""
        self._is_reminded = False

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def description(self) -> str:
        return "Returns your final answer as structured data. Call it exactly once, when all other work is done."

    @property
    def schema(self) -> Object:
        return self._schema

    @property
    def exhaustion(self) -> str | None:
        """Why the turn fails, or None if the model may try again."""
        if self._failures < MAX_OUTPUT_ATTEMPTS or self.output is not None:
            return None
        attempts = f"Failed to provide valid structured output after {self._failures} attempts"
        return f"{attempts} — last StructuredOutput error: {self._last_error}"

    def is_safe(self, arguments: Object) -> bool:
        return False

    def needs_reminder(self) -> bool:
        """Return whether the model must be reminded, which happens once in a turn."""
        is_needed = self.output is None and not self._is_reminded
        self._is_reminded = True
        return is_needed

    def run(self, arguments: Object, context: CallContext) -> CallResult:
        """Keep the output, or raise ToolError with everything that does not match the schema."""
        violations = self._checker.find_violations(dict(arguments))
        if violations:
            self._failures += 1
            self._last_error = f"Output does not match required schema: {', '.join(map(str, violations))}"
            raise ToolError(self._last_error)
        self.output = arguments
        text = "Structured output provided successfully"
        return CallResult(text, text)

    def to_text(self) -> str:
        return json.dumps(self.output, separators=(",", ":"), ensure_ascii=False)


def parse_output_schema(text: str) -> dict[str, Any]:
    """Parse `--json-schema`; raise UsageError if it is not a JSON object."""
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--json-schema is not valid JSON: {error}") from None
    if not isinstance(schema, dict):
        raise UsageError("--json-schema is not a JSON object")
    return schema
