"""Write a whole session down: what the model does, how turns end, sub-agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from demo.ids import Row, api_id, digest, pick, slug, tokens
from demo.project import Block, Call
from demo.prompts import Prompts

ZERO = "00000000-0000-0000-0000-000000000000"


class Recorder(Prompts):
    """A session that is being made up."""

    def act(
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
        """One answer of the model and the results of its calls; gives the calls' ids."""
        model = model or self.model
        key = f"{self.name}/{self.agent}/{len(self.rows)}"
        mid, rid = api_id("msg", key), api_id("req", key)
        request = self._request(model) if self.requests else None
        made = [self._block(block, f"{key}/{n}") for n, block in enumerate(blocks)]
        self.wait(seconds if seconds is not None else 1.4 + tokens(made) / 55)
        calls = [(block, made[n]) for n, block in enumerate(blocks) if isinstance(block, Call)]
        stop = stop or ("tool_use" if calls else "end_turn")
        usage = self._usage(model, made, searches)
        for call, _ in calls:
            self._use_tool(call.name)
        where: dict[str, str] = {}
        for n, raw in enumerate(made):
            last = n == len(made) - 1
            where[raw.get("id", "")] = self._answer(raw, mid, rid, model, stop, usage, n, last, request, more)
            block = blocks[n]
            if early_run and isinstance(block, Call) and not last:
                self._result(block, raw["id"], where[raw["id"]])
        if during:
            during([raw["id"] for _, raw in calls])
        if write_results:
            for call, raw in calls:
                if not (early_run and raw is not made[-1]):
                    self._result(call, raw["id"], where[raw["id"]])
        self._sent(made, calls)
        return [raw["id"] for _, raw in calls]

    def _block(self, block: Block | Call, seed: str) -> Row:
        if isinstance(block, Call):
            return {"type": "tool_use", "id": api_id("toolu", seed), "name": block.name, "input": block.input}
        if block.type == "thinking":
            signature = digest(seed) + digest(seed + "+")
            return {"type": "thinking", "thinking": block.text, "signature": f"Eq{signature}=="}
        return {"type": "text", "text": block.text}

    def _answer(
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
                usage = {**usage, "output_tokens": pick(mid, 1, 8)}
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
            return self.row("assistant", {"message": message, "requestId": rid, **more})
        extra: Row = {"thinkingDurationMs": pick(mid, 900, 9000)} if raw["type"] == "thinking" else {}
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
        return self.row("assistant", {"message": message, **extra, **more}, tail=effort)

    def _result(self, call: Call, call_id: str, source: str) -> None:
        if call.content is None:
            return
        self.wait(call.seconds)
        block: Row = {"tool_use_id": call_id, "type": "tool_result", "content": call.content}
        if call.is_error is not None:
            block["is_error"] = call.is_error
        hangs = source if self.early or self.late else "-"
        if call.before and not self.agent:
            self._track(call, source)
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
        self.row(
            "user",
            {"message": {"role": "user", "content": [block]}},
            parent=hangs,
            tail={**tail, **(call.extra or {})},
        )

    def _use_tool(self, name: str) -> None:
        name = "Agent" if name == "Task" else name
        if name not in self.tools:
            self.tools.append(name)
            if self.newest and not self.agent:
                self.meta("tools-used", tools=list(self.tools))

    def state(self) -> None:
        """The metadata rows that late versions append again and again."""
        if not self.late:
            return
        if self.last_prompt and self.parent:
            self.meta("last-prompt", lastPrompt=self.last_prompt, leafUuid=self.parent)
        if self.title:
            self.meta(
                self.title[0],
                **{"customTitle" if self.title[0] == "custom-title" else "aiTitle": self.title[1]},
            )
        self.meta("mode", mode="normal")
        if self.entrypoint == "cli":
            self.meta("permission-mode", permissionMode=self.mode)
        if self.newest:
            self.meta("atis-latch", atis="")

    def end_turn(self, state: bool = True) -> None:
        """The turn is over: its duration, and the metadata rows."""
        if self.early or self.late:
            took = round((self.clock - self._turn_start).total_seconds() * 1000)
            count = {"messageCount": self._turn_rows} if self.late else {}
            self.system("turn_duration", durationMs=took, **count, isMeta=False)
        if state:
            self.state()

    def rewind(self, row: str | None) -> None:
        """Go back: the next prompt becomes a sibling of what followed this row."""
        self.parent = row
        if self.newest:
            self.meta("last-prompt", leafUuid=ZERO, explicit=True)

    def folder(self) -> str:
        """The session's project folder."""
        return f"projects/{slug(self.project.cwd)}"

    def home_tool_results(self) -> str:
        """Where large outputs of this session are kept on Dana's machine."""
        return f"/home/dana/.claude/{self.folder()}/{self.sid}/tool-results"

    def save(self) -> None:
        """Put the file into the config folder."""
        if self.newest and not self.agent:
            self.cost()
        self.home.rows(f"{self.folder()}/{self.sid}.jsonl", self.rows)

    def spawn(self, agent: str, kind: str, model: str | None = None, base: int = 9_400) -> Recorder:
        """A recorder for a sub-agent's rows; it starts now."""
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
        child.wait(6)
        child.begun = child._last_call = child.clock
        return child

    def ask(self, prompt: str) -> None:
        """The first row of a sub-agent: what it was asked."""
        self.row("user", {"message": {"role": "user", "content": prompt}})
        self._fresh += tokens(prompt)

    def keep_agent(self, child: Recorder, layout: str, meta: Row | None = None) -> None:
        """Keep a sub-agent's rows: `inside`, `flat` or `folder`; its spending counts here too."""
        if layout == "inside":
            self.rows += child.rows
        elif layout == "flat":
            self.home.rows(f"{self.folder()}/agent-{child.agent}.jsonl", child.rows)
        else:
            place = f"{self.folder()}/{self.sid}/subagents/agent-{child.agent}"
            self.home.rows(place + ".jsonl", child.rows)
            if meta:
                self.home.put_json(place + ".meta.json", meta)
        for model, total in child.spent.items():
            mine = self.spent.setdefault(model, dict.fromkeys(total, 0))
            for key, value in total.items():
                mine[key] = round(mine[key] + value, 6)
