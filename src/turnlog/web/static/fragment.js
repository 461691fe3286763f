// The only place that creates elements from a string. It accepts only markup that `render` produced on the server,
// which escapes and cleans everything in a transcript.
// Import it by a relative address: a page can have only one policy of this name, and so one copy of this module.

const policy = window.trustedTypes
  ? window.trustedTypes.createPolicy("app", { createHTML: (text) => text })
  : { createHTML: (text) => text };

/** Convert the server's markup to a DocumentFragment. */
export function fragment(markup) {
  const template = document.createElement("template");
  template.innerHTML = policy.createHTML(markup);
  return template.content;
}

/** A failed request; the message is for people. */
export class RequestError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function sendRequest(address, accept, options) {
  const { headers, ...rest } = options;
  let answer;
  try {
    answer = await fetch(address, { ...rest, headers: { accept, ...headers }, redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError(0, "turnlog is not responding. Is it still running?");
  }
  if (!answer.ok) throw new RequestError(answer.status, await readReason(answer));
  return answer;
}

async function readReason(answer) {
  const text = await answer.text();
  try {
    return JSON.parse(text).error;
  } catch {
    return `${answer.status} ${answer.statusText}`;
  }
}

/** Load a fragment of a page. */
export async function load(address, options = {}) {
  return fragment(await (await sendRequest(address, "text/html", options)).text());
}

/** Load a text. */
export async function text(address, options = {}) {
  return (await sendRequest(address, "text/plain", options)).text();
}

/** Load a JSON document. */
export async function json(address, options = {}) {
  return (await sendRequest(address, "application/json", options)).json();
}

function readPageToken() {
  try {
    return localStorage.getItem("turnlog-token") ?? "";
  } catch {
    return "";
  }
}

/** Send a JSON document, and return the one in the response. */
export async function post(address, value, options = {}) {
  const headers = { "content-type": "application/json", "x-turnlog-token": readPageToken() }; // see page_token.js
  return json(address, { ...options, method: "POST", headers, body: JSON.stringify(value) });
}
