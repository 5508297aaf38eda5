// SPDX-License-Identifier: Apache-2.0
// Changes of connectors: what cannot be undone says what will happen and asks for the name; errors stay until read.
import { send } from "./api.js";
import { refresh } from "./cluster.js";
import { html, signal, useEffect, useRef, useState } from "./html.js";

/**
 * @typedef {object} Question
 * @property {string} title
 * @property {unknown} text what will happen
 * @property {string} action the button's text
 * @property {string} [name] to be typed before it is done
 * @property {() => Promise<any>} run
 */

/** @type {import("../vendor/signals.js").Signal<Question | null>} */
const question = signal(null);
/** @type {import("../vendor/signals.js").Signal<{kind: string, text: string, id: number}[]>} */
const messages = signal([]);
let count = 0;

/** @param {Question} wanted */
export function confirm(wanted) {
  question.value = wanted;
}

/** @param {"good" | "error"} kind @param {string} text */
export function notify(kind, text) {
  const id = ++count;
  messages.value = [...messages.value, { kind, text, id }];
  if (kind === "good") setTimeout(() => dismiss(id), 4000);
}

/** @param {number} id */
function dismiss(id) {
  messages.value = messages.value.filter((each) => each.id !== id);
}

/** Run it, show its error in the API's words, and show the new state. @param {string} done @param {() => Promise<any>} run */
export async function perform(done, run) {
  try {
    const answer = await run();
    notify("good", done);
    return answer ?? true;
  } catch (error) {
    notify("error", /** @type {Error} */ (error).message);
    return null;
  } finally {
    void refresh();
  }
}

const CHANGES = {
  pause: { method: "PUT", path: ["pause"], done: "is being paused" },
  resume: { method: "PUT", path: ["resume"], done: "is being resumed" },
  stop: { method: "PUT", path: ["stop"], done: "is being stopped" },
  restart: { method: "POST", path: ["restart"], query: { includeTasks: true }, done: "is being restarted" },
};

/** @param {keyof typeof CHANGES} change @param {string[]} names */
export async function changeState(change, names) {
  const { method, path, done, ...more } = CHANGES[change];
  const query = /** @type {any} */ (more).query;
  const failed = [];
  for (const name of names) {
    try {
      await send(/** @type {any} */ (method), ["connectors", name, ...path], undefined, query);
    } catch (error) {
      failed.push(`${name}: ${/** @type {Error} */ (error).message}`);
    }
  }
  const good = names.length - failed.length;
  if (good) notify("good", names.length === 1 ? `${names[0]} ${done}` : `${good} connectors: each ${done}`);
  for (const text of failed.slice(0, 3)) notify("error", text);
  if (failed.length > 3) notify("error", `${failed.length - 3} more connectors failed likewise`);
  void refresh();
}

/** @param {string} name @param {number} task */
export function restartTask(name, task) {
  return perform(`Task ${task} is being restarted`, () => send("POST", ["connectors", name, "tasks", String(task), "restart"]));
}

/** @param {string} name */
export function deleteConnector(name) {
  confirm({
    title: "Delete the connector",
    text: html`Its tasks end and its configuration is removed. Its committed offsets stay: a connector of the same name continues there. This cannot be undone.`,
    action: "Delete",
    name,
    run: async () => {
      if (await perform(`${name} is deleted`, () => send("DELETE", ["connectors", name]))) location.hash = "#/connectors";
    },
  });
}

/** The dialog that is open, if one is, and the messages. */
export function Overlays() {
  const asked = question.value;
  return html`${asked && html`<${Confirmation} asked=${asked} />`}
    <div class="toasts" role="status">${messages.value.map((each) => html`<div key=${each.id} class=${`note ${each.kind}`}>
      <span>${each.text}</span><button class="plain" aria-label="Dismiss" onClick=${() => dismiss(each.id)}>✕</button></div>`)}</div>`;
}

/** @param {{asked: Question}} props */
function Confirmation({ asked }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [typed, setTyped] = useState("");
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => (question.value = null);
  const ready = asked.name === undefined || typed === asked.name;
  const run = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!ready) return;
    close();
    void asked.run();
  };
  return html`<dialog ref=${dialog} onClose=${close} aria-labelledby="question"><form method="dialog" onSubmit=${run}>
    <h1 id="question">${asked.title}</h1><div>${asked.text}</div>
    ${asked.name !== undefined && html`<div class="field"><label for="typed-name">Type the name to confirm: <code>${asked.name}</code></label>
      <input id="typed-name" type="text" autocomplete="off" value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></div>`}
    <div class="end"><button type="button" onClick=${() => dialog.current?.close()}>Cancel</button>
      <button class="danger" disabled=${!ready}>${asked.action}</button></div></form></dialog>`;
}
