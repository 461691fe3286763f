// The only place that makes elements from a string. What comes here was made by `render` on the server, which
// escapes and cleans whatever a transcript holds; nothing else may be passed.
// Import it by a relative address: a page may have one policy of this name, and so one copy of this module.

const policy = window.trustedTypes
  ? window.trustedTypes.createPolicy("app", { createHTML: (text) => text })
  : { createHTML: (text) => text };

/** A DocumentFragment with the elements that the server's markup describes. */
export function fragment(markup) {
  const template = document.createElement("template");
  template.innerHTML = policy.createHTML(markup);
  return template.content;
}

/** What went wrong with a request, in words for people. */
export class Failed extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

async function asked(address, accept, options) {
  const { headers, ...rest } = options;
  let answer;
  try {
    answer = await fetch(address, { ...rest, headers: { accept, ...headers }, redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failed(0, "turnlog does not answer: is it still running?");
  }
  if (!answer.ok) throw new Failed(answer.status, await reason(answer));
  return answer;
}

async function reason(answer) {
  const text = await answer.text();
  try {
    return JSON.parse(text).error;
  } catch {
    return `${answer.status} ${answer.statusText}`;
  }
}

/** Get a fragment of a page from the server. */
export async function load(address, options = {}) {
  return fragment(await (await asked(address, "text/html", options)).text());
}

/** Get a text from the server. */
export async function text(address, options = {}) {
  return (await asked(address, "text/plain", options)).text();
}

/** Get a JSON document from the server. */
export async function json(address, options = {}) {
  return (await asked(address, "application/json", options)).json();
}

/** Send a JSON document to the server, and get one back. */
export async function post(address, value, options = {}) {
  const headers = { "content-type": "application/json" };
  return json(address, { ...options, method: "POST", headers, body: JSON.stringify(value) });
}
