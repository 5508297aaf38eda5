// SPDX-License-Identifier: Apache-2.0
// Small parts of all screens.
import { html, useEffect, useState } from "./html.js";

/** @param {{row: import("./rows.js").Row}} props */
export function Health({ row }) {
  const idle = row.state === "PAUSED" || row.state === "STOPPED";
  return html`<${Badge} kind=${idle ? "idle" : row.verdict} text=${idle ? row.state.toLowerCase() : row.verdict} />`;
}

/** @param {{kind: string, text: string}} props */
export function Badge({ kind, text }) {
  return html`<span class=${`badge ${kind}`}>${text}</span>`;
}

const STATES = { RUNNING: "healthy", FAILED: "failed", RESTARTING: "degraded", UNASSIGNED: "degraded" };

/** @param {{state: string}} props */
export function State({ state }) {
  return html`<${Badge} kind=${STATES[/** @type {keyof typeof STATES} */ (state)] ?? "idle"} text=${state.toLowerCase()} />`;
}

/** An error in the API's own words. @param {{error: Error | null | undefined, retry?: () => void}} props */
export function Trouble({ error, retry }) {
  if (!error) return null;
  return html`<div class="note error line" role="alert"><span>${error.message}</span>
    ${retry && html`<span class="end"><button onClick=${retry}>Try again</button></span>`}</div>`;
}

/** `sticky`: it stays in sight beside what is scrolled. @param {{title: string, end?: unknown, children?: unknown, padded?: boolean, sticky?: boolean}} props */
export function Card({ title, end, children, padded = true, sticky = false }) {
  return html`<section class=${`card ${sticky ? "sticky" : ""}`}><header><h2>${title}</h2>${end && html`<div class="end">${end}</div>`}</header>
    ${padded ? html`<div class="body">${children}</div>` : children}</section>`;
}

/** What can be unfolded. It unfolds by itself when `open` becomes true, and is folded by the user alone. @param {{summary: unknown, open: boolean, children?: unknown}} props */
export function Fold({ summary, open, children }) {
  const [shown, setShown] = useState(open);
  useEffect(() => {
    if (open) setShown(true);
  }, [open]);
  return html`<details open=${shown} onToggle=${(/** @type {any} */ event) => setShown(event.target.open)}><summary>${summary}</summary>${children}</details>`;
}

/** @param {{figures: [string, unknown][]}} props */
export function Figures({ figures }) {
  return html`<dl class="figures">${figures.map(([name, figure]) => html`<div><dt>${name}</dt><dd>${figure}</dd></div>`)}</dl>`;
}

/**
 * What an asynchronous function returns, asked for again when one of `inputs` is another.
 * @param {(signal: AbortSignal) => Promise<any>} ask
 * @param {unknown[]} inputs
 */
export function useAnswer(ask, inputs) {
  const [found, setFound] = useState(/** @type {{content?: any, error?: Error}} */ ({}));
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const ending = new AbortController();
    ask(ending.signal).then(
      (content) => ending.signal.aborted || setFound({ content }),
      (error) => ending.signal.aborted || setFound((before) => ({ ...before, error })),
    );
    return () => ending.abort();
  }, [...inputs, turn]);
  return { ...found, again: () => setTurn((before) => before + 1) };
}

/** @param {string} text @param {string} name of the file */
export function download(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A button that copies. @param {{text: string, label: string}} props */
export function Copy({ text, label }) {
  const [done, setDone] = useState(false);
  const copy = () => navigator.clipboard.writeText(text).then(() => setDone(true), () => setDone(false));
  return html`<button onClick=${copy} onBlur=${() => setDone(false)}>${done ? "Copied" : label}</button>`;
}
