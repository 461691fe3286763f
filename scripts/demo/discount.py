"""Volume discounts for the webshop (2.1.325): a plan, agents, the web, hooks, a queue and a compaction."""

from __future__ import annotations

from demo import shapes
from demo.home import Home
from demo.ids import Row
from demo.project import Call, Project, build_text, build_thinking
from demo.recorder import Recorder

PLAN = """# Volume discounts

1. `shop/discount.py`: a table of steps (from 10 pieces 5 %, from 50 pieces 10 %) and `discount(quantity)`
2. `Cart.subtotal()` applies it per line, before tax
3. Coupons from `shop/legacy` are **not** combined with volume discounts (Dana's answer)
4. Tests for the borders: 9, 10, 49, 50
"""
MODULE = '''"""Volume discounts: the more pieces of one article, the cheaper."""

from decimal import Decimal

STEPS = [(50, Decimal("0.10")), (10, Decimal("0.05"))]


def discount(quantity: int) -> Decimal:
    """The share of the price that is taken off."""
    return next((share for least, share in STEPS if quantity >= least), Decimal(0))
'''
COUPON_REPORT = (
    "`shop/legacy/coupons.py` holds one table, `CODES`. Nothing in `shop/` imports it; only the newsletter "
    "export does. A coupon is a flat share, so combining it with a volume discount needs a decision."
)
PRICE_REPORT = (
    "Prices enter in `Cart.add()` only. `subtotal()` is called by `tax()`, `total()` and "
    "`checkout.order()`; a discount inside `subtotal()` reaches all three."
)


def record_discount_session(home: Home, p: Project) -> None:
    """Record a session that plans, builds and reviews a feature, opens a pull request, compacts, and continues."""
    rec = Recorder(
        home,
        "discount",
        p,
        "2.1.325",
        "2026-11-11T13:05:40",
        "claude-opus-5-5",
        branch="volume-discount",
        base=18_400,
    )
    rec.mode, rec.slug = "plan", "volume-discounts-quiet-otter"
    shapes.begin_session(rec)
    _record_plan(rec, p)
    _record_build(rec, p)
    _record_review(rec, p)
    _record_publishing(rec, p)
    _record_compaction(rec, p)
    rec.save_session()
    home.put_json(f"{rec.find_folder()}/{rec.sid}/custom-title.json", {"customTitle": "Volume discounts"})


def _record_plan(rec: Recorder, p: Project) -> None:
    rec.add_prompt(
        "We need volume discounts: 10 or more of the same article 5 %, 50 or more 10 %. Make a plan first. "
        "I don't remember how the old coupons work, look at that too."
    )
    shapes.add_opening(rec, "(clean)", "e3b90c4 Keep money in Decimal, round halves up\n8c1f2ab Add checkout\n")
    plan = f"/home/dana/.claude/plans/{rec.slug}.md"
    rec.add_attachment(
        "plan_mode",
        "Plan mode is active. Make no changes except to the plan file.",
        reminderType="full",
        isSubAgent=False,
        planFilePath=plan,
        planExists=False,
    )
    first, second = (shapes.make_agent_id(f"discount/{n}", 16) for n in (1, 2))
    prompts = {
        first: "Find out how the coupons in shop/legacy work and who uses them. Report in five lines.",
        second: "Find every place where a price or a subtotal is read. Report in five lines.",
    }
    started = rec.clock
    calls = rec.add_answer(
        build_thinking(
            "Two independent questions: coupons and price flow. Two read-only agents can look at them at the same time."
        ),
        build_text("I'll send two agents to look around while I read the cart."),
        shapes.build_launch_call(rec, first, "Explore", "Look at old coupons", prompts[first]),
        shapes.build_launch_call(rec, second, "Explore", "Trace price flow", prompts[second]),
        early_run=True,
    )
    used = _record_exploration(
        rec,
        first,
        prompts[first],
        calls[0],
        "Look at old coupons",
        p.read_file("shop/legacy/coupons.py"),
        COUPON_REPORT,
    )
    more = _record_exploration(
        rec, second, prompts[second], calls[1], "Trace price flow", p.search_files(r"subtotal\("), PRICE_REPORT
    )
    rec.clock = started
    rec.pass_time(14)
    rec.add_answer(p.read_file("shop/cart.py"))
    rec.pass_time(16)
    notification = shapes.build_notification(
        rec, first, calls[0], 'Agent "Look at old coupons" finished', COUPON_REPORT, used
    )
    shapes.absorb_prompt(rec, notification, notification)
    rec.add_answer(
        build_text("The first agent is back: coupons are separate. I wait for the second before I write the plan.")
    )
    rec.end_turn()
    rec.pass_time(11)
    shapes.add_notification(
        rec,
        shapes.build_notification(rec, second, calls[1], 'Agent "Trace price flow" finished', PRICE_REPORT, more),
    )
    questions = [
        {
            "question": "May a coupon be combined with a volume discount?",
            "header": "Coupons",
            "options": [
                {"label": "No, the better one wins", "description": "Customers get the larger of the two"},
                {"label": "No, volume only", "description": "Coupons are ignored on discounted lines"},
                {"label": "Yes, both", "description": "First the volume discount, then the coupon"},
            ],
            "multiSelect": False,
        }
    ]
    answers = {questions[0]["question"]: "No, volume only"}
    rec.add_answer(
        build_text("Both reports are in. One thing only you can decide:"),
        Call(
            "AskUserQuestion",
            {"questions": questions},
            'User has answered your questions: "May a coupon be combined with a volume discount?"="No, '
            "volume only\". You can now continue with the user's answers in mind.",
            {"questions": questions, "answers": answers, "annotations": {}},
            None,
            41,
        ),
    )
    rec.home.put_file(f"plans/{rec.slug}.md", PLAN)
    result: Row = {
        "type": "create",
        "filePath": plan,
        "content": PLAN,
        "structuredPatch": [],
        "originalFile": None,
        "userModified": False,
    }
    rec.add_answer(Call("Write", {"file_path": plan, "content": PLAN}, f"File created successfully at: {plan}", result))
    rec.add_answer(
        build_text("The plan is ready."),
        Call(
            "ExitPlanMode",
            {"plan": PLAN, "planFilePath": plan},
            "User has approved your plan. You can now start coding. Start with updating your todo list "
            "if applicable\n\n"
            f"Your plan has been saved to: {plan}\n\n## Approved Plan:\n{PLAN}",
            {"plan": PLAN, "isAgent": False, "filePath": plan},
            None,
            27,
        ),
    )
    rec.mode = "acceptEdits"
    rec.add_attachment(
        "plan_mode_exit", "## Exited Plan Mode\n\nYou can now make edits.", planFilePath=plan, planExists=True
    )


def _record_exploration(
    rec: Recorder, agent: str, prompt: str, call: str, about: str, look: Call, report: str
) -> tuple[int, int, int]:
    child = rec.start_sub_agent(agent, "Explore", "claude-haiku-4-5-20251001")
    child.add_task_prompt(prompt)
    child.add_answer(build_thinking("Start with the obvious file."), look)
    child.add_answer(rec.project.search_files("coupon|CODES|price"))
    child.add_answer(build_text(report))
    rec.keep_sub_agent(child, "folder", shapes.build_agent_meta("Explore", about, call))
    return child.count_context_tokens(), 2, round((child.clock - child.start).total_seconds() * 1000)


def _record_build(rec: Recorder, p: Project) -> None:
    tools = ["WebSearch", "WebFetch"]
    rec.add_answer(
        build_thinking("Before I write borders into code: is there a rule for how discounts must be shown?"),
        Call(
            "ToolSearch",
            {"query": "select:WebSearch,WebFetch", "max_results": 5},
            [{"type": "tool_reference", "tool_name": name} for name in tools],
            {"matches": tools, "query": "select:WebSearch,WebFetch", "total_deferred_tools": 11},
        ),
    )
    schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    rec.add_attachment(
        "deferred_tools_record",
        entries=[
            {
                "name": "WebSearch",
                "description": "Search the web.",
                "input_schema": schema,
                "defer_loading": True,
            }
        ],
    )
    links = [
        {"title": "Showing discounts on invoices", "url": "https://example.com/invoices/discounts"},
        {"title": "Rounding of discounted prices", "url": "https://example.org/rounding"},
    ]
    query = "show volume discount per line on invoice"
    rec.add_answer(
        Call(
            "WebSearch",
            {"query": query},
            f'Web search results for query: "{query}"\n\nLinks: [{links[0]["title"]}]({links[0]["url"]})',
            {
                "query": query,
                "results": [
                    {"tool_use_id": "srvtoolu_01demo", "content": links},
                    "Both pages say: show the discount per line, before tax.",
                ],
                "durationSeconds": 3.4,
                "searchCount": 1,
            },
            None,
            3.4,
        ),
        searches=1,
    )
    url = links[0]["url"]
    rec.add_answer(
        Call(
            "WebFetch",
            {"url": url, "prompt": "How must a volume discount be shown?"},
            "A discount that is agreed before the sale lowers the net price of its line; tax is computed "
            "from the "
            "lowered price.",
            {
                "bytes": 18_211,
                "code": 200,
                "codeText": "OK",
                "durationMs": 912,
                "url": url,
                "result": "Discount lowers the net price of its line.",
            },
            None,
            0.9,
        )
    )
    rec.add_answer(build_text("Per line, before tax, as planned."), p.write_file("shop/discount.py", MODULE))
    rec.add_answer(
        p.edit_file(
            "shop/cart.py",
            "from decimal import ROUND_HALF_UP, Decimal\n",
            "from decimal import ROUND_HALF_UP, Decimal\n\nfrom shop.discount import discount\n",
        ),
        p.edit_file(
            "shop/cart.py",
            "sum((line.price * line.quantity for line in self.lines), Decimal(0))",
            "sum((self.net(line) for line in self.lines), Decimal(0))\n\n    def net(self, line: Line) "
            "-> Decimal:\n"
            "        return line.price * line.quantity * (1 - discount(line.quantity))",
        ),
    )
    lines = "\n".join(f"{n:>4} pieces  {n * 4.5:>9.2f}  {5 if n < 50 else 10} %" for n in range(10, 110))
    out = f"{rec.find_tool_results()}/b7k2m9x4q.txt"
    rec.home.put_file(f"{rec.find_folder()}/{rec.sid}/tool-results/b7k2m9x4q.txt", lines * 3)
    content = (
        f"<persisted-output>\nOutput too large ({len(lines) * 3 / 1024:.1f}KB). Full output saved to: "
        f"{out}\n\n"
        f"Preview (first 2KB):\n{lines[:2000]}\n...\n</persisted-output>"
    )
    result = {
        "stdout": lines[:2000],
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
        "persistedOutputPath": out,
        "persistedOutputSize": len(lines) * 3,
    }
    rec.add_answer(
        Call(
            "Bash",
            {"command": "python -m shop.pricelist --all", "description": "Print the whole price list"},
            content,
            result,
            False,
            4.2,
            {"sandboxed": False},
        )
    )
    shapes.absorb_prompt(rec, "also show the discount in the order, please")
    rec.add_answer(build_text("Noted: the order gets a `discount` field too."), p.read_file("shop/checkout.py"))
    rec.add_answer(
        p.edit_file(
            "shop/checkout.py",
            '        "net": cart.subtotal(),\n',
            '        "discount": cart.savings(),\n        "net": cart.subtotal(),\n',
        )
    )
    rec.add_answer(build_text("The discount is in: per line, before tax, and in the order."))
    hook = rec.next_uuid()
    rec.add_attachment(
        "hook_blocking_error",
        'Stop hook blocking error from command: "scripts/check-tests": shop/discount.py has no test',
        hookName="Stop",
        toolUseID=hook,
        hookEvent="Stop",
        blockingError={"blockingError": "shop/discount.py has no test", "command": "scripts/check-tests"},
    )
    rec.add_system_row(
        "stop_hook_summary",
        hookCount=1,
        hookInfos=[{"command": "scripts/check-tests", "durationMs": 88}],
        hookErrors=["shop/discount.py has no test"],
        hookAdditionalContext=[],
        preventedContinuation=False,
        stopReason="",
        hasOutput=True,
        level="suggestion",
        toolUseID=hook,
    )
    rec.add_note("Stop hook feedback:\nshop/discount.py has no test", isMeta=True)
    rec.add_answer(
        build_text("Right, the hook wants a test."),
        p.write_file(
            "tests/test_discount.py",
            """from decimal import Decimal

import pytest

from shop.discount import discount


@pytest.mark.parametrize("quantity, share", [(9, "0"), (10, "0.05"), (49, "0.05"), (50, "0.10")])
def test_borders(quantity, share):
    assert discount(quantity) == Decimal(share)
""",
        ),
        p.edit_file(
            "shop/cart.py",
            "    def net(self, line: Line) -> Decimal:",
            "    def savings(self) -> Decimal:\n        return sum((line.price * line.quantity - "
            "self.net(line) "
            "for line in self.lines), Decimal(0))\n\n    def net(self, line: Line) -> Decimal:",
        ),
    )
    rec.add_answer(
        p.run_command(
            "python -m pytest -q",
            "........                                            [100%]\n8 passed in 0.05s",
            "Run the tests",
            seconds=1.5,
        )
    )
    rec.add_answer(build_text("All 8 tests pass."))
    rec.end_turn()
    rec.title = ("custom-title", "Volume discounts")


def _record_review(rec: Recorder, p: Project) -> None:
    rec.pass_time(48)
    rec.add_metadata("custom-title", customTitle="Volume discounts")
    rec.add_metadata("agent-name", agentName="Volume discounts")
    rec.add_local_command("rename", "Volume discounts", "Session renamed to: Volume discounts")
    rec.pass_time(10)
    rec.add_prompt("Let someone else review it before I open the PR.")
    prompt = "Review the diff of branch volume-discount for bugs. Be short."
    report = (
        "One real finding: `net()` multiplies before rounding, so a line of 3 × 0.333 can differ from "
        "its printed "
        "net by a cent. Round the line, then add.\n\nEverything else is fine."
    )
    about = "Review the discount diff"
    child = rec.start_sub_agent(shapes.make_agent_id("discount/review", 16), "general-purpose")
    child.add_task_prompt(prompt)
    child.add_answer(
        build_text("Reading the changed files."), p.read_file("shop/discount.py"), p.read_file("shop/cart.py")
    )
    child.add_answer(
        build_thinking(
            "Where does rounding happen now? cents() is called in total() and tax() but net() is unrounded."
        ),
        build_text(report),
    )
    call = rec.add_answer(shapes.build_agent_call(child, "general-purpose", about, prompt, report, name="Task"))[0]
    rec.keep_sub_agent(
        child, "folder", shapes.build_agent_meta("general-purpose", about, call, requestShape="foreground")
    )
    rec.add_answer(
        build_thinking("A valid point: rounding per line."),
        build_text("The reviewer is right about the rounding. Fixing it."),
        p.edit_file(
            "shop/cart.py",
            "        return line.price * line.quantity * (1 - discount(line.quantity))",
            "        return cents(line.price * line.quantity * (1 - discount(line.quantity)))",
        ),
    )
    second = shapes.make_agent_id("discount/fork", 16)
    wanted = "Draft the sentence for the newsletter about volume discounts."
    call = rec.add_answer(shapes.build_launch_call(rec, second, "fork", "Draft newsletter text", wanted))[0]
    other = rec.start_sub_agent(second, "fork")
    other.rows.append(
        {
            "type": "fork-context-ref",
            "agentId": second,
            "parentSessionId": rec.sid,
            "parentLastUuid": rec.parent,
            "contextLength": rec.count_context_tokens(),
        }
    )
    other.add_task_prompt(wanted)
    other.add_answer(build_text("*Buy ten of a kind and save 5 %, buy fifty and save 10 %. No code needed.*"))
    rec.keep_sub_agent(other, "folder", shapes.build_agent_meta("fork", "Draft newsletter text", call, isFork=True))
    rec.add_answer(
        build_text(
            "Fixed: every line is rounded on its own, so the printed lines add up to the printed net. A "
            "draft for "
            "the newsletter is on its way."
        )
    )
    rec.end_turn(state=False)
    rec.pass_time(4)
    draft = "*Buy ten of a kind and save 5 %, buy fifty and save 10 %. No code needed.*"
    shapes.add_notification(
        rec,
        shapes.build_notification(
            rec,
            second,
            call,
            'Agent "Draft newsletter text" finished',
            draft,
            (other.count_context_tokens(), 0, 3911),
        ),
    )
    rec.add_answer(build_text(f"Here is the draft:\n\n> {draft}"))
    rec.end_turn()


def _record_publishing(rec: Recorder, p: Project) -> None:
    rec.pass_time(95)
    rec.add_prompt(
        "<command-message>changelog</command-message>\n<command-name>/changelog</command-name>\n<command-args>"
        "for customers</command-args>",
        shown="/changelog for customers",
    )
    rec.add_note(
        [
            {
                "type": "text",
                "text": "Write the changelog entry for the current branch.\n\nARGUMENTS: for customers",
            }
        ],
        isMeta=True,
    )
    rec.add_attachment("command_permissions", allowedTools=["Bash(git log:*)"])
    rec.add_answer(
        p.run_command(
            "git log --oneline main..",
            "5d1c0aa Round every line\n09b7e15 Volume discounts",
            "List the commits",
        ),
        attributionSkill="changelog",
    )
    rec.add_answer(
        p.write_file(
            "CHANGELOG.md",
            "# Changelog\n\n## Unreleased\n\n- 10 or more of one article: 5 % off; 50 or more: 10 % off.\n",
        ),
        attributionSkill="changelog",
    )
    rec.add_answer(
        p.run_command(
            "git push -q -u origin volume-discount && gh pr create --fill",
            "https://github.com/dana-example/webshop/pull/12",
            "Open the pull request",
            seconds=6,
        )
    )
    rec.rows.append(
        {
            "type": "pr-link",
            "sessionId": rec.sid,
            "prNumber": 12,
            "prRepository": "dana-example/webshop",
            "prUrl": "https://github.com/dana-example/webshop/pull/12",
            "timestamp": rec.next_time(),
        }
    )
    rec.add_answer(
        build_text(
            "The entry is written and the pull request is open: [#12](https://github.com/dana-example/webshop/pull/12)"
        )
    )
    rec.end_turn()


def _record_compaction(rec: Recorder, p: Project) -> None:
    rec.pass_time(1260)
    rec.add_system_row(
        "away_summary",
        content="Volume discounts are built and reviewed; pull request 12 waits for its checks.",
        isMeta=False,
    )
    rec.pass_time(35)
    shapes.add_compaction(
        rec,
        "1. Primary Request and Intent:\n   Volume discounts: 5 % from 10 pieces, 10 % from 50, not "
        "combined with coupons.\n2. Files: shop/discount.py, shop/cart.py, shop/checkout.py, "
        "tests/test_discount.py\n3. State: pull request 12 is open, all tests pass.\n4. Next: the checks of "
        "the pull request.",
        3,
        "keep what is needed for the PR",
        3_900,
    )
    content = p.files["shop/cart.py"]
    count = content.count("\n") + 1
    file = {
        "filePath": p.resolve_path("shop/cart.py"),
        "content": content,
        "numLines": count,
        "startLine": 1,
        "totalLines": count,
    }
    rec.add_attachment(
        "file",
        f"Result of calling the Read tool:\n{p.number_lines(content)}",
        role="user",
        filename=p.resolve_path("shop/cart.py"),
        content={"type": "text", "file": file},
        displayPath="shop/cart.py",
        savedCopyFraming={"enveloped": False},
    )
    rec.add_attachment(
        "compact_file_reference",
        "shop/checkout.py was read before the compaction.",
        filename=p.resolve_path("shop/checkout.py"),
        displayPath="shop/checkout.py",
    )
    rec.add_state_rows()
    rec.pass_time(20)
    rec.add_prompt("CI is red on the PR, can you look?")
    rec.add_system_row(
        "api_error",
        level="error",
        error={
            "message": '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
            "status": 529,
            "requestId": "req_01demoOverloaded",
            "formatted": "529 Overloaded",
            "connection": None,
            "isNetworkDown": False,
            "rateLimits": None,
            "noResponse": None,
        },
        retryInMs=612,
        retryAttempt=1,
        maxRetries=10,
        source="request_retry",
    )
    rec.pass_time(0.7)
    rec.add_answer(
        p.run_command(
            "gh pr checks 12",
            "lint\tfail\t14s\ntest (3.11)\tpass\t31s\ntest (3.13)\tpass\t30s",
            "See the checks",
            seconds=2.2,
        )
    )
    rec.add_answer(
        p.run_command(
            "ruff check .",
            "shop/cart.py:7:1: I001 Import block is un-sorted or un-formatted\nFound 1 error.",
            "Run the linter",
            code=1,
        )
    )
    rec.add_answer(
        p.edit_file(
            "shop/cart.py",
            "from dataclasses import dataclass, field\nfrom decimal import ROUND_HALF_UP, Decimal\n\n"
            "from shop.discount import discount\n\nCENT",
            "from dataclasses import dataclass, field\n"
            "from decimal import ROUND_HALF_UP, Decimal\n\nfrom shop.discount import discount\n\n\nCENT",
        ),
        p.run_command(
            "ruff check --fix -q . && git commit -qam 'Sort imports' && git push -q",
            "",
            "Fix, commit and push",
            seconds=3.1,
        ),
    )
    rec.add_answer(
        build_text(
            "Only the linter was unhappy: the import block in `shop/cart.py`. It is fixed and pushed; "
            "the tests were "
            "green all along.\n\n| check | before | now |\n|---|---|---|\n| lint | ❌ | ✅ |\n| test "
            "(3.11) | ✅ | ✅ |\n"
            "| test (3.13) | ✅ | ✅ |"
        )
    )
    rec.end_turn()
