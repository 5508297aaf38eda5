// SPDX-License-Identifier: Apache-2.0
// The tasks of a connector, each with its stage, ages and restarts, and the trace of one that failed.
import { restartTask } from "./actions.js";
import { ageText, jsonText, lagText, rateText } from "./figures.js";
import { html } from "./html.js";
import { Badge, Card, State } from "./parts.js";
import { may } from "./roles.js";

/** @param {{row: import("./rows.js").Row, role: string | null}} props */
export function Tasks({ row, role }) {
  if (!row.tasks.length) return html`<${Card} title="Tasks"><span class="quiet">There is none at the moment.</span><//>`;
  return html`<${Card} title="Tasks" padded=${false}><div class="scroll" tabindex="0" role="region" aria-label="Tasks"><table><thead><tr>
    <th>Task</th><th>State</th><th>Health</th><th>Stage</th><th>Worker</th><th class="number">Records/s</th><th class="number">Lag</th><th class="number">Last record</th><th class="number">Last commit</th>
    <th class="number">Restarts</th><th><span class="visually-hidden">Changes</span></th></tr></thead>
    <tbody>${row.tasks.map((task) => html`<${Task} key=${task.id} name=${row.name} task=${task} role=${role} />`)}</tbody></table></div><//>
    ${row.tasks.map((task) => html`<${Trace} key=${task.id} task=${task} />`)}`;
}

/** @param {{name: string, task: any, role: string | null}} props */
function Task({ name, task, role }) {
  const health = task.health ?? {};
  const lag = health.lag ? lagText(health.lag[health.lag.unit], health.lag.unit) : "–";
  return html`<tr><td class="short">${task.id}</td><td class="short"><${State} state=${task.state} /></td><td class="short">${health.verdict ? html`<${Badge} kind=${health.verdict} text=${health.verdict} />` : "–"}</td>
    <td class="short">${health.stage ?? "–"} <span class="quiet">${health.stage ? ageText(health.stage_since) : ""}</span></td><td class="mono short">${task.worker_id ?? "–"}</td>
    <td class="number">${rateText(health.records_per_second)}</td><td class="number short">${lag}</td><td class="number short">${ageText(health.last_record)}</td><td class="number short">${ageText(health.last_commit)}</td>
    <td class="number" title=${health.restarts?.reason ?? ""}>${health.restarts?.count ?? "–"}</td>
    <td class="short">${may("operator", role) && html`<button onClick=${() => void restartTask(name, task.id)} aria-label=${`Restart task ${task.id}`}>Restart</button>`}</td></tr>`;
}

/** @param {{task: any}} props */
function Trace({ task }) {
  const error = task.health?.last_error;
  if (!task.trace && !error) return null;
  return html`<${Card} title=${`Task ${task.id}: ${task.trace ? "why it failed" : "the newest error"}`}><div class="fields">
    ${error && html`<div class="note ${task.trace ? "error" : "warn"}"><strong>${error.class}</strong> while ${error.stage}, ${error.handling} ${ageText(error.age)} ago: ${error.message}</div>`}
    ${error?.hint && html`<div class="note">${error.hint}</div>`}
    ${error?.record && html`<div><span class="quiet">Record </span><code>${jsonText(error.record)}</code></div>`}
    ${task.trace && html`<details open=${!error}><summary>Trace</summary><pre class="trace" tabindex="0" data-test="trace">${task.trace}</pre></details>`}</div><//>`;
}
