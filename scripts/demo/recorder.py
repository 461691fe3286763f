"""Record a whole session: what the model does, how turns end, and sub-agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from demo.ids import Row, estimate_tokens, hash_text, make_api_id, make_slug, pick_number
from demo.project import Block, Call
from demo.prompts import Prompts

ZERO = "00000000-0000-0000-0000-000000000000"


class Recorder(Prompts):
    """A made-up session while it is being recorded."""

    def add_answer(
        self,
        *blocks: Block | Call,
        model: str | None = None,
        stop: str | None = None,
        early_run: bool = False,
        write_results: bool = True,
        seconds: float | None = None,
        searches: int = 0,
        during: Callable[[list[str]], None] | None = None,
        **more: Any,
    ) -> list[str]:
        """Add an answer of the model and the results of its calls, and return the ids of the calls."""
        model = model or self.model
        key = f"{self.name}/{self.agent}/{len(self.rows)}"
        mid, rid = make_api_id("msg", key), make_api_id("req", key)
        request = self._add_request(model) if self.requests else None
        raw_blocks = [self._build_block(block, f"{key}/{n}") for n, block in enumerate(blocks)]
        self.pass_time(seconds if seconds is not None else 1.4 + estimate_tokens(raw_blocks) / 55)
        calls = [(block, raw_blocks[n]) for n, block in enumerate(blocks) if isinstance(block, Call)]
        stop = stop or ("tool_use" if calls else "end_turn")
        usage = self._count_usage(model, raw_blocks, searches)
        for call, _ in calls:
            self._note_tool_use(call.name)
        row_ids: dict[str, str] = {}
        for n, raw in enumerate(raw_blocks):
            last = n == len(raw_blocks) - 1
            row_ids[raw.get("id", "")] = self._add_answer_row(raw, mid, rid, model, stop, usage, n, last, request, more)
            block = blocks[n]
            if early_run and isinstance(block, Call) and not last:
                self._add_result(block, raw["id"], row_ids[raw["id"]])
        if during:
            during([raw["id"] for _, raw in calls])
        if write_results:
            for call, raw in calls:
                if not (early_run and raw is not raw_blocks[-1]):
                    self._add_result(call, raw["id"], row_ids[raw["id"]])
        self._note_sent_messages(raw_blocks, calls)
        return [raw["id"] for _, raw in calls]

    def _build_block(self, block: Block | Call, seed: str) -> Row:
        if isinstance(block, Call):
            return {"type": "tool_use", "id": make_api_id("toolu", seed), "name": block.name, "input": block.input}
        if block.type == "thinking":
            signature = hash_text(seed) + hash_text(seed + "+")
            return {"type": "thinking", "thinking": block.text, "signature": f"Eq{signature}=="}
        return {"type": "text", "text": block.text}

    def _add_answer_row(
        self,
        raw: Row,
        mid: str,
        rid: str,
        model: str,
        stop: str,
        usage: Row,
        n: int,
        last: bool,
        request: str | None,
        more: Row,
    ) -> str:
        reason: str | None = stop
        if not self.late:
            reason = stop if last and not self.early else None
            if self.early or not last:
                usage = {**usage, "output_tokens": pick_number(mid, 1, 8)}
        message: Row = {
            "id": mid,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [raw],
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": usage,
        }
        if not self.late:
            return self.add_row("assistant", {"message": message, "requestId": rid, **more})
        extra: Row = {"thinkingDurationMs": pick_number(mid, 900, 9000)} if raw["type"] == "thinking" else {}
        if self.newest:
            message["stop_details"] = None
            extra |= {
                "apiBlockIndex": n,
                "requestId": rid,
                **({"requestRef": request} if request else {}),
                "requestedModel": model,
                "promptCacheRequested": "5m",
            }
        else:
            extra = {"requestId": rid}
        if self.agent_type:
            extra["attributionAgent"] = self.agent_type
        effort = {"effort": "medium", "perTurnEffort": "medium", "madeBy": "model"} if self.newest else {}
        return self.add_row("assistant", {"message": message, **extra, **more}, tail=effort)

    def _add_result(self, call: Call, call_id: str, source: str) -> None:
        if call.content is None:
            return
        self.pass_time(call.seconds)
        block: Row = {"tool_use_id": call_id, "type": "tool_result", "content": call.content}
        if call.is_error is not None:
            block["is_error"] = call.is_error
        hangs = source if self.early or self.late else "-"
        if call.before and not self.agent:
            self._track_edit(call, source)
        bare = self.agent and (self.early or (self.newest and self.entrypoint != "cli"))
        tail: Row = {} if bare or call.result is None else {"toolUseResult": call.result}
        if self.early or self.late:
            tail["sourceToolAssistantUUID"] = source
        decision = {
            "decision": "accept",
            "source": "config",
            "reasonType": "rule",
            "ruleSource": "userSettings",
        }
        if self.newest:
            tail |= {"permissionDecision": decision}
        self.add_row(
            "user",
            {"message": {"role": "user", "content": [block]}},
            parent=hangs,
            tail={**tail, **(call.extra or {})},
        )

    def _note_tool_use(self, name: str) -> None:
        name = "Agent" if name == "Task" else name
        if name not in self.tools:
            self.tools.append(name)
            if self.newest and not self.agent:
                self.add_metadata("tools-used", tools=list(self.tools))

    def add_state_rows(self) -> None:
        """Add the metadata rows that late versions append repeatedly."""
        if not self.late:
            return
        if self.last_prompt and self.parent:
            self.add_metadata("last-prompt", lastPrompt=self.last_prompt, leafUuid=self.parent)
        if self.title:
            self.add_metadata(
                self.title[0],
                **{"customTitle" if self.title[0] == "custom-title" else "aiTitle": self.title[1]},
            )
        self.add_metadata("mode", mode="normal")
        if self.entrypoint == "cli":
            self.add_metadata("permission-mode", permissionMode=self.mode)
        if self.newest:
            self.add_metadata("atis-latch", atis="")

    def end_turn(self, state: bool = True) -> None:
        """End the turn: add its duration and the metadata rows."""
        if self.early or self.late:
            milliseconds = round((self.clock - self._turn_start).total_seconds() * 1000)
            count = {"messageCount": self._turn_rows} if self.late else {}
            self.add_system_row("turn_duration", durationMs=milliseconds, **count, isMeta=False)
        if state:
            self.add_state_rows()

    def rewind_to(self, row: str | None) -> None:
        """Rewind, so that the next prompt becomes a sibling of what followed this row."""
        self.parent = row
        if self.newest:
            self.add_metadata("last-prompt", leafUuid=ZERO, explicit=True)

    def find_folder(self) -> str:
        """Return the session's project folder."""
        return f"projects/{make_slug(self.project.cwd)}"

    def find_tool_results(self) -> str:
        """Return the folder on Dana's machine that contains this session's large outputs."""
        return f"/home/dana/.claude/{self.find_folder()}/{self.sid}/tool-results"

    def save_session(self) -> None:
        """Write the file into the config folder."""
        if self.newest and not self.agent:
            self.add_cost_row()
        self.home.put_rows(f"{self.find_folder()}/{self.sid}.jsonl", self.rows)

    def start_sub_agent(self, agent: str, kind: str, model: str | None = None, base: int = 9_400) -> Recorder:
        """Return a recorder for a sub-agent that starts now."""
        child = Recorder(
            self.home,
            self.name,
            self.project,
            self.version,
            "2026-01-01",
            model or self.model,
            entrypoint=self.entrypoint,
            branch=self.branch,
            base=base,
        )
        child.agent, child.agent_type, child.clock = agent, kind if self.newest else None, self.clock
        child.prompt_id, child.slug = self.prompt_id, self.slug
        child.pass_time(6)
        child.start = child._last_call = child.clock
        return child

    def add_task_prompt(self, prompt: str) -> None:
        """Add the first row of a sub-agent, which contains its task."""
        self.add_row("user", {"message": {"role": "user", "content": prompt}})
        self._fresh += estimate_tokens(prompt)

    def keep_sub_agent(self, child: Recorder, layout: str, meta: Row | None = None) -> None:
        """Store a sub-agent's rows (`inside`, `flat` or `folder`) and add its costs to this session."""
        if layout == "inside":
            self.rows += child.rows
        elif layout == "flat":
            self.home.put_rows(f"{self.find_folder()}/agent-{child.agent}.jsonl", child.rows)
        else:
            place = f"{self.find_folder()}/{self.sid}/subagents/agent-{child.agent}"
            self.home.put_rows(place + ".jsonl", child.rows)
            if meta:
                self.home.put_json(place + ".meta.json", meta)
        for model, total in child.spent.items():
            mine = self.spent.setdefault(model, dict.fromkeys(total, 0))
            for key, value in total.items():
                mine[key] = round(mine[key] + value, 6)
