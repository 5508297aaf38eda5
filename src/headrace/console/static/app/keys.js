// SPDX-License-Identifier: Apache-2.0
// The keyboard: `/` filters, `g` and a letter goes to a screen, `c` creates, `?` shows them all.
import { html, signal, useEffect, useRef } from "./html.js";
import { may } from "./roles.js";

/** @type {[string, string, string][]} */
const PLACES = [["o", "#/", "Overview"], ["c", "#/connectors", "Connectors"], ["d", "#/dead-letters", "Dead letters"], ["w", "#/workers", "Workers"],
  ["p", "#/plugins", "Plugins"], ["a", "#/audit", "Audit"], ["l", "#/loggers", "Loggers"]];
const WAIT_MS = 1200;
const open = signal(false);
let goingUntil = 0;

export function listen() {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    if (act(event.key)) event.preventDefault();
  });
}

/** @param {string} key */
function act(key) {
  const place = PLACES.find(([letter]) => letter === key);
  if (performance.now() < goingUntil && place) {
    goingUntil = 0;
    location.hash = place[1];
  } else if (key === "g") goingUntil = performance.now() + WAIT_MS;
  else if (key === "/") search();
  else if (key === "n" && may("editor")) location.hash = "#/create";
  else if (key === "?") open.value = true;
  else return false;
  return true;
}

function search() {
  if (!document.getElementById("search")) location.hash = "#/connectors";
  setTimeout(() => document.getElementById("search")?.focus(), 50);
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

export function Help() {
  return html`<button class="plain" onClick=${() => (open.value = true)} aria-label="Keyboard">?</button>${open.value && html`<${Keys} />`}`;
}

function Keys() {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => dialog.current?.showModal(), []);
  const rows = [["/", "Filter connectors"], ...PLACES.map(([letter, , text]) => [`g ${letter}`, text]), ["n", "Create a connector"], ["Esc", "Close a dialog"], ["?", "This list"]];
  return html`<dialog ref=${dialog} onClose=${() => (open.value = false)} aria-labelledby="keys"><form method="dialog"><h1 id="keys">Keyboard</h1>
    <table><tbody>${rows.map(([keys, text]) => html`<tr><td class="short">${keys.split(" ").map((key) => html`<kbd>${key}</kbd> `)}</td><td>${text}</td></tr>`)}</tbody></table>
    <div class="end"><button>Close</button></div></form></dialog>`;
}
