"""Generate collections of sessions from a seed, for benchmarks and tests.

The generator writes a tree shaped like a config folder (`<out>/projects/<slug>/<session>.jsonl` and related files)
and `<out>/truth.json`, which contains the facts that a correct reader finds. The same arguments produce the same bytes.

The shapes, the order of keys, the sizes of lines and the mix of tools match genuine sessions from four eras of the
client (see `eras`):

* one answer spread over several lines with the same message id, with either repeated usage (1.0, 2.0) or
  placeholder output tokens on all but the last line (early 2.1);
* results repeated in `toolUseResult`;
* sub-agents inside the file (1.0), beside it (2.0) or in `<session>/subagents` (2.1), echoed into the session
  as `agent_progress` lines that repeat the usage (early 2.1);
* progress of hooks and commands, file history, queue operations, attachments and titles;
* compactions, rewinds, interrupts, API errors and synthetic messages;
* resumed sessions that repeat the lines of an older session, images, output moved to `tool-results/`, and sometimes
  a torn last line.
"""
