// A program that uses the TypeScript SDK as a list of plans says: node program.mjs <its folder> <the client> < plans.json
// program.py, its twin for the Python SDK, describes plans and what is printed.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, client] = process.argv.slice(2);
const find = createRequire(`${folder}/`);
const sdk = await import(pathToFileURL(`${folder}/node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs`).href);
const { z } = await import(pathToFileURL(find.resolve("zod")).href);

const show = (kind, value) => process.stdout.write(JSON.stringify({ [kind]: value ?? null }) + "\n");

/** Prompts that the plan sends one after the other. */
class Prompts {
  #waiting = [];
  #wake = () => {};
  #ended = false;

  send(text, uuid) {
    this.#waiting.push({ type: "user", message: { role: "user", content: text }, parent_tool_use_id: null, uuid });
    this.#wake();
  }

  end() {
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      while (this.#waiting.length) yield this.#waiting.shift();
      if (this.#ended) return;
      await new Promise((wake) => (this.#wake = wake));
    }
  }
}

const makePermissionCallback = (answers) => async (name, input, { suggestions }) => {
  show("asked", [name, input, suggestions ?? []]);
  const { updatedInput, ...answer } = answers[name] ?? { behavior: "deny", message: "no" };
  return answer.behavior === "allow" ? { ...answer, updatedInput: updatedInput ?? input } : answer;
};

function makeHook({ matcher, output }) {
  const run = async (value) => {
    show("hook", value);
    return output;
  };
  return { matcher, hooks: [run] };
}

function buildNoteServer() {
  const note = sdk.tool("note", "Keep a note", { text: z.string() }, async (given) => {
    show("noted", given);
    return { content: [{ type: "text", text: `kept: ${given.text}` }] };
  });
  return sdk.createSdkMcpServer({ name: "program", tools: [note] });
}

async function showMessages(messages, last) {
  for (;;) {
    const { value, done } = await messages.next();
    if (done) return;
    show("message", value);
    if (value.type === last) return;
  }
}

async function call(session, name, words) {
  try {
    show("answer", [name, await session[name](...words)]);
  } catch (error) {
    show("answer", [name, { error: error.constructor.name }]);
  }
}

function buildOptions(plan) {
  const options = { pathToClaudeCodeExecutable: client, ...plan.options };
  if (plan.note_server) options.mcpServers = { ...options.mcpServers, program: buildNoteServer() };
  if (plan.permission) options.canUseTool = makePermissionCallback(plan.permission);
  if (plan.hooks) {
    const made = Object.entries(plan.hooks).map(([event, matchers]) => [event, matchers.map(makeHook)]);
    options.hooks = Object.fromEntries(made);
  }
  return options;
}

async function run(plan) {
  const prompts = new Prompts();
  const session = sdk.query({ prompt: prompts, options: buildOptions(plan) });
  try {
    const messages = session[Symbol.asyncIterator]();
    for (const [verb, ...words] of plan.steps) {
      if (verb === "send") prompts.send(...words);
      else if (verb === "until") await showMessages(messages, words[0]);
      else await call(session, words[0], words.slice(1));
    }
    prompts.end();
    await showMessages(messages, null);
  } catch (error) {
    show("error", error.constructor.name);
  }
}

for (const plan of JSON.parse(readFileSync(0, "utf8"))) await run(plan);
