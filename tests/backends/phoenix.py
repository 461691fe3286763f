"""Reads back from Arize Phoenix: what its own pages ask for (GraphQL), and its REST API."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

from tests.backends.seen_spans import SeenSpan, SeenTrace, Tokens, ask, nanoseconds
from turnlog.trace.spans.span import SpanKind
from turnlog.trace.targets.target import TraceTarget

KINDS: dict[str, SpanKind] = {"agent": "agent", "llm": "generation", "tool": "tool"}

TRACE = """
query($project: String!, $trace: ID!) {
  getProjectByName(name: $project) {
    trace(traceId: $trace) {
      startTime
      endTime
      session { sessionId }
      costSummary { total { cost } }
      rootSpan { cumulativeTokenCountPrompt cumulativeTokenCountCompletion }
      spans(first: 1000) {
        edges {
          node {
            spanId parentId name spanKind statusCode statusMessage startTime endTime
            tokenCountPrompt tokenCountCompletion tokenPromptDetails { cacheRead cacheWrite }
            costSummary { total { cost } }
            attributes
          }
        }
      }
    }
  }
}
"""


class Phoenix:
    """A Phoenix server."""

    name = "phoenix"

    def __init__(self, address: str) -> None:
        self.address = address

    def target(self, project: str) -> TraceTarget:
        """Where to send; Phoenix makes the project when something comes for it."""
        return TraceTarget(name="phoenix", url=f"{self.address}/v1/traces", headers={"x-project-name": project})

    def trace(self, project: str, trace: str) -> SeenTrace | None:
        """A trace, by its id in hexadecimal."""
        answer = ask(f"{self.address}/graphql", {"query": TRACE, "variables": {"project": project, "trace": trace}})
        found = ((answer["data"] or {}).get("getProjectByName") or {}).get("trace")
        return _trace(found) if found else None

    def session(self, project: str, session: str) -> set[str]:
        """The ids of the traces that it shows as one session."""
        try:
            found = ask(f"{self.address}/v1/sessions/{quote(session)}")["data"]
        except HTTPError as error:
            if error.code == 404:
                return set()
            raise
        return {trace["trace_id"] for trace in found["traces"]}

    def list_span_ids(self, project: str) -> list[str]:
        """The ids of all spans of a project, each as often as it is there."""
        found: list[str] = []
        cursor = ""
        while True:
            try:
                answer = ask(f"{self.address}/v1/projects/{quote(project)}/spans?limit=1000{cursor}")
            except HTTPError as error:
                if error.code == 404:
                    return []
                raise
            found += (span["context"]["span_id"] for span in answer["data"])
            if not answer["next_cursor"]:
                return found
            cursor = f"&cursor={quote(answer['next_cursor'])}"


def _trace(found: dict[str, Any]) -> SeenTrace:
    spans = [edge["node"] for edge in found["spans"]["edges"]]
    contents = [json.loads(span["attributes"]) for span in spans]
    root = found["rootSpan"] or {}
    prompt, completion = root.get("cumulativeTokenCountPrompt"), root.get("cumulativeTokenCountCompletion")
    users = {content.get("user", {}).get("id") for content in contents}
    return SeenTrace(
        session=(found["session"] or {}).get("sessionId"),
        user=users.pop() if len(users) == 1 else None,
        start=nanoseconds(found["startTime"]),
        end=nanoseconds(found["endTime"]),
        tokens=Tokens(int(prompt or 0), int(completion or 0)),
        cost=_cost(found),
        spans={span["spanId"]: _span(span, content) for span, content in zip(spans, contents, strict=True)},
    )


def _span(span: dict[str, Any], content: dict[str, Any]) -> SeenSpan:
    details = span["tokenPromptDetails"] or {}
    counts = (
        span["tokenCountPrompt"],
        span["tokenCountCompletion"],
        details.get("cacheRead"),
        details.get("cacheWrite"),
    )
    kind = KINDS[span["spanKind"]]
    asked, answered = _texts(kind, content)
    return SeenSpan(
        parent=span["parentId"],
        kind=kind,
        name=span["name"],
        start=nanoseconds(span["startTime"]),
        end=nanoseconds(span["endTime"]),
        error=span["statusMessage"] if span["statusCode"] == "ERROR" else None,
        tokens=Tokens(*(count or 0 for count in counts)),
        cost=_cost(span),
        input=asked,
        output=answered,
    )


def _texts(kind: SpanKind, content: dict[str, Any]) -> tuple[Any, Any]:
    """What its page shows as input and output."""
    if kind == "generation":
        said = content.get("llm", {})
        return _messages(said.get("input_messages")), _messages(said.get("output_messages"))
    output = content.get("output", {}).get("value")
    if kind == "tool":
        return content.get("tool", {}).get("parameters"), output
    return content.get("input", {}).get("value"), output


def _messages(found: list[dict[str, Any]] | None) -> list[str]:
    """The texts of messages, and the names of the calls in them."""
    texts: list[str] = []
    for message in (item["message"] for item in found or []):
        parts = [part["message_content"].get("text") for part in message.get("contents") or []]
        calls = [call["tool_call"]["function"]["name"] for call in message.get("tool_calls") or []]
        texts += [text for text in (message.get("content"), *parts, *calls) if text]
    return texts


def _cost(found: dict[str, Any]) -> float | None:
    total = (found["costSummary"] or {}).get("total") or {}
    return total.get("cost")
