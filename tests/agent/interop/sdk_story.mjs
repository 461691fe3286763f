// What a program does with the SDK for TypeScript, told as JSON; runs in the folder where the SDK is installed.
//
//     node sdk_story.mjs SDK_FOLDER CLIENT FOLDER
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [place, client, folder] = process.argv.slice(2);
const load = createRequire(path.join(place, "package.json"));
const sdk = await import(pathToFileURL(path.join(place, "node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs")));
const { z } = load("zod");
const told = { heard: [] };
const env = { ...process.env };

const textOf = (block) => String(block.text ?? (typeof block.content === "string" ? block.content : JSON.stringify(block.content)) ?? "");
function describe(message) {
  if (message.type === "result") {
    const denied = (message.permission_denials ?? []).map((one) => one.tool_name);
    return [message.type, message.subtype, message.is_error, message.result, message.structured_output, message.num_turns, denied];
  }
  const content = message.message?.content;
  const blocks = Array.isArray(content) ? content : [];
  return [message.type, message.subtype, blocks.map((block) => block.type), blocks.map((block) => textOf(block).replaceAll(folder, ""))];
}

async function canUseTool(name, input) {
  told.heard.push(["permit", name]);
  const text = JSON.stringify(input);
  if (text.includes("deny")) return { behavior: "deny", message: "no way" };
  const changes = text.includes("swap") ? { command: "echo swapped > swapped.txt" } : {};
  return { behavior: "allow", updatedInput: { ...input, ...changes } };
}

async function hearHook(given) {
  told.heard.push([given.hook_event_name, given.tool_name, given.prompt]);
  return {};
}

const add = sdk.tool("add", "Adds", { a: z.number(), b: z.number() }, async ({ a, b }) => ({
  content: [{ type: "text", text: `sum ${a + b}` }],
}));
const common = { pathToClaudeCodeExecutable: client, cwd: folder, env, settingSources: [] };

const waiting = [];
let wake = () => {};
let isOver = false;
async function* prompts() {
  while (!isOver) {
    while (waiting.length) yield waiting.shift();
    await new Promise((resolve) => (wake = resolve));
  }
}
function say(text) {
  waiting.push({ type: "user", message: { role: "user", content: text }, parent_tool_use_id: null, session_id: "" });
  wake();
}

const hooks = Object.fromEntries(
  ["PreToolUse", "PostToolUse", "UserPromptSubmit"].map((name) => [name, [{ hooks: [hearHook] }]]),
);
const conversation = sdk.query({
  prompt: prompts(),
  options: {
    ...common,
    canUseTool,
    hooks,
    mcpServers: { calc: sdk.createSdkMcpServer({ name: "calc", version: "1.0.0", tools: [add] }) },
    allowedTools: ["mcp__calc__add"],
    agents: { helper: { description: "Helps", prompt: "You help.", tools: ["Read"], model: "haiku" } },
    maxTurns: 8,
    effort: "low",
    fallbackModel: "claude-haiku-5-5",
  },
});
for (const prompt of ["write", "swap", "deny", "calculate"]) {
  say(prompt);
  told[prompt] = [];
  for (let message; message?.type !== "result"; ) {
    message = (await conversation.next()).value;
    told[prompt].push(describe(message));
  }
}
async function attempt(name, act) {
  try {
    told[name] = (await act()) ?? "done";
  } catch {
    told[name] = "refused";
  }
}
fs.writeFileSync(path.join(folder, "seen.txt"), "seen\n");
await attempt("servers", async () => (await conversation.mcpServerStatus()).map((one) => [one.name, one.status]));
await attempt("usage", async () => typeof (await conversation.getContextUsage()).totalTokens);
await attempt("agents", async () => (await conversation.supportedAgents()).some((one) => one.name === "helper"));
await attempt("commands", async () => (await conversation.supportedCommands()).length > 0);
await attempt("models", async () => (await conversation.supportedModels()).length > 0);
await attempt("read", async () => (await conversation.readFile("seen.txt")).contents);
await attempt("read nothing", async () => String(await conversation.readFile("none.txt")));
await attempt("read outside", async () => String(await conversation.readFile("/etc/passwd")));
await attempt("seed", () => conversation.seedReadState("seen.txt", 5));
await attempt("set model", () => conversation.setModel("claude-opus-5-5"));
await attempt("set thinking", () => conversation.setMaxThinkingTokens(1000));
await attempt("flag settings", () => conversation.applyFlagSettings({ permissions: { deny: ["Bash(rm:*)"] }, effortLevel: "high" }));
await attempt("wrong flag settings", () => conversation.applyFlagSettings({ permissions: 5 }));
await attempt("toggle", () => conversation.toggleMcpServer("calc", false));
await attempt("toggle nothing", () => conversation.toggleMcpServer("nothing", false));
await attempt("stop nothing", () => conversation.stopTask("nothing"));
told.files = fs.readdirSync(folder).sort();
isOver = true;
wake();
for await (const _ of conversation);

let session;
const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
async function askOnce(prompt, options) {
  told[prompt] = [];
  for await (const message of sdk.query({ prompt, options: { ...common, ...options } })) {
    told[prompt].push(describe(message));
    session = message.session_id ?? session;
  }
}
await askOnce("data", { outputFormat: { type: "json_schema", schema }, model: "claude-sonnet-5-5" });
await askOnce("again", { resume: session, forkSession: true });
console.log(JSON.stringify(told));
