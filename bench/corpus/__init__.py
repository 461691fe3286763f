"""A seeded generator of session collections, for benchmarks and tests.

It writes a tree shaped like a config folder (`<out>/projects/<slug>/<session>.jsonl` and what belongs to it)
together with `<out>/truth.json`: the facts that a correct reader has to find. Same arguments, same bytes.

The shapes, key orders, line sizes and the mix of tools follow genuine sessions of four eras of the client
(see `eras`):

* one answer spread over several lines with the same message id, with either repeated usage (1.0, 2.0) or
  place-holder output tokens on all but the last line (2.1 early);
* results doubled in `toolUseResult`;
* sub-agents inside the file (1.0), beside it (2.0) or in `<session>/subagents` (2.1), echoed into the session
  as `agent_progress` lines that carry the same usage again (2.1 early);
* progress of hooks and commands, file history, queue operations, attachments, titles;
* compactions, rewinds, interrupts, API errors, synthetic messages;
* resumed sessions that repeat an older session's lines; images; outputs moved to `tool-results/`; now and then
  a torn last line.
"""
