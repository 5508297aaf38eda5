// SPDX-License-Identifier: Apache-2.0
// All changes of the cluster that the user may see, the newest first, and who has made them.
import { get } from "./api.js";
import { ChangeTable, MOST } from "./changes.js";
import { html, useEffect, useState } from "./html.js";
import { Card, Trouble, useAnswer } from "./parts.js";
import { may } from "./roles.js";

const SETTLED_MS = 300;
const NO_FILTER = { who: "", connector: "", text: "", result: "" };

export function Audit() {
  const [filter, setFilter] = useState(NO_FILTER);
  const settled = useSettled(filter);
  const found = useAnswer((signal) => get(["changes"], queryOf(settled), signal), [settled]);
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setFilter({ ...filter, [name]: event.target.value });
  return html`<div class="line"><h1>Audit</h1><span class="quiet" role="status">${found.content ? `${found.content.changes.length} changes` : ""}</span></div>
    <${Trouble} error=${found.error} retry=${found.again} />
    <div class="line"><input id="search" type="text" placeholder="Any text ( / )" aria-label="Text" value=${filter.text} onInput=${set("text")} /><input type="text" placeholder="User" aria-label="User" value=${filter.who} onInput=${set("who")} />
      <input type="text" placeholder="Connector" aria-label="Connector" value=${filter.connector} onInput=${set("connector")} />
      <label class="line">Result <select value=${filter.result} onChange=${set("result")}><option value="">any</option><option value="succeeded">succeeded</option><option value="failed">failed or refused</option></select></label>
      <button disabled=${filter === NO_FILTER} onClick=${() => setFilter(NO_FILTER)}>All</button></div>
    <${Card} title="Changes of the cluster" padded=${false} end=${html`<span class="quiet">${may("admin") ? "those that workers keep in memory" : "of your connectors, as far as workers keep them in memory"}</span><button onClick=${found.again}>Read again</button>`}><${ChangeTable} answer=${found.content} named /><//>`;
}

/** @param {typeof NO_FILTER} filter */
function queryOf({ who, connector, text, result }) {
  return { who: who && `*${who}*`, connector: connector && `*${connector}*`, text, result, limit: MOST };
}

/** A value that has not changed for a moment, so that not every key asks all workers. @template T @param {T} value @returns {T} */
function useSettled(value) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
