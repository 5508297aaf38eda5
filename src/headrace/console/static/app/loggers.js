// SPDX-License-Identifier: Apache-2.0
// Loggers and their levels. A level is for a logger and all below it, on the worker that answers or on all of them.
import { perform } from "./actions.js";
import { get, send } from "./api.js";
import { timeText } from "./figures.js";
import { html, useState } from "./html.js";
import { Card, Trouble, useAnswer } from "./parts.js";

const LEVELS = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"];

export function Loggers() {
  const found = useAnswer((signal) => get(["admin", "loggers"], {}, signal), []);
  const [filter, setFilter] = useState("");
  const [scope, setScope] = useState("cluster");
  const all = Object.entries(found.content ?? {});
  const shown = all.filter(([name]) => name.toLowerCase().includes(filter.toLowerCase()));
  const known = filter in (found.content ?? {});
  const change = async (/** @type {string} */ name, /** @type {string} */ level) => {
    const where = scope === "cluster" ? "on all workers" : "on this worker";
    await perform(`${name} and all loggers below it have the level ${level} ${where}`, () => send("PUT", ["admin", "loggers", name], { level }, { scope }));
    found.again();
  };
  return html`<div class="line"><h1>Loggers</h1><span class="quiet" role="status">${shown.length === all.length ? all.length : `${shown.length} of ${all.length}`}</span></div>
    <${Trouble} error=${found.error} retry=${found.again} />
    <div class="line"><input id="search" type="text" size="34" placeholder="Filter, or the name of another logger" aria-label="Filter loggers" value=${filter} onInput=${(/** @type {any} */ event) => setFilter(event.target.value.trim())} />
      <label class="line">Change the level on <select value=${scope} onChange=${(/** @type {any} */ event) => setScope(event.target.value)}><option value="cluster">all workers</option><option value="worker">this worker</option></select></label></div>
    <${Card} title="Levels on this worker" padded=${false} end=${html`<button onClick=${found.again}>Read again</button>`}><div class="scroll" tabindex="0" role="region" aria-label="Loggers"><table>
      <thead><tr><th>Logger</th><th>Level</th><th>Changed (UTC)</th></tr></thead><tbody>
      ${shown.map(([name, level]) => html`<${Logger} key=${name} name=${name} level=${level.level} modified=${level.last_modified} change=${change} />`)}
      ${filter && !known && html`<${Logger} key=${`new ${filter}`} name=${filter} level="" modified=${null} change=${change} />`}</tbody></table></div><//>`;
}

/** @param {{name: string, level: string | null, modified: number | null, change: (name: string, level: string) => void}} props */
function Logger({ name, level, modified, change }) {
  const pick = (/** @type {any} */ event) => event.target.value && change(name, event.target.value);
  return html`<tr><td class="mono">${name}</td><td class="short"><select aria-label=${`Level of ${name}`} value=${level ?? ""} onChange=${pick}>
    ${!level && html`<option value="">of the logger above</option>`}${LEVELS.map((each) => html`<option value=${each}>${each}</option>`)}</select></td><td class="short quiet">${timeText(modified)}</td></tr>`;
}
