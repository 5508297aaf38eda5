// SPDX-License-Identifier: Apache-2.0
// One connector: what it does and how it fares, and below that a screen for each thing that can be seen or changed.
import { changeState, deleteConnector } from "./actions.js";
import { get } from "./api.js";
import { connectors } from "./cluster.js";
import { ConfigTab } from "./config_tab.js";
import { DeadLetters } from "./dead_letters.js";
import { ageText, bytesText, countText, lagText, rateText } from "./figures.js";
import { html } from "./html.js";
import { Logs } from "./logs.js";
import { Offsets } from "./offsets.js";
import { Card, Figures, Health, Trouble, useAnswer } from "./parts.js";
import { Pipeline } from "./pipeline.js";
import { to } from "./routes.js";
import { Tasks } from "./tasks.js";
import { Topics } from "./topics.js";

/** @type {[string, string, any][]} */
const TABS = [["", "State", StateTab], ["config", "Configuration", ConfigTab], ["offsets", "Offsets", Offsets], ["topics", "Topics", Topics],
  ["dead-letters", "Dead letters", DeadLetters], ["logs", "Log", Logs]];

/** @param {{name: string, tab: string}} props */
export function Connector({ name, tab }) {
  const all = connectors.value;
  const row = all?.find((each) => each.name === name);
  if (all === null) return html`<p class="quiet">Asking the worker …</p>`;
  if (!row) return html`<div class="note">There is no connector <strong>${name}</strong>, or you may not see it. <a href=${to("connectors")}>To the connectors</a></div>`;
  const [, , Tab] = TABS.find(([key]) => key === tab) ?? TABS[0];
  return html`
    <div class="line"><h1>${name}</h1><${Health} row=${row} /><span class="tag">${row.type}</span><${Buttons} row=${row} /></div>
    <nav class="tabs" aria-label="Parts of the connector">${TABS.map(([key, text]) => html`<a href=${key ? to("connectors", name, key) : to("connectors", name)}
      aria-current=${key === tab ? "page" : undefined}>${text}</a>`)}</nav>
    <${Tab} name=${name} row=${row} />`;
}

/** @param {{row: import("./rows.js").Row}} props */
function Buttons({ row }) {
  const change = (/** @type {"pause" | "resume" | "stop" | "restart"} */ wanted) => () => void changeState(wanted, [row.name]);
  return html`<span class="end">
    ${row.state === "PAUSED" || row.state === "STOPPED" ? html`<button onClick=${change("resume")}>Resume</button>` : html`<button onClick=${change("pause")}>Pause</button>`}
    ${row.state !== "STOPPED" && html`<button onClick=${change("stop")}>Stop</button>`}
    <button onClick=${change("restart")}>Restart</button><button class="danger" onClick=${() => deleteConnector(row.name)}>Delete</button></span>`;
}

/** @param {{name: string, row: import("./rows.js").Row}} props */
function StateTab({ name, row }) {
  const found = useAnswer((signal) => get(["connectors", name], {}, signal), [name]);
  const counted = row.tasks.map((task) => task.health?.errors).filter(Boolean);
  const total = (/** @type {string} */ key) => (counted.length ? counted.reduce((sum, each) => sum + each[key], 0) : null);
  const commits = row.tasks.map((task) => task.health?.last_commit).filter((age) => age !== null && age !== undefined);
  return html`
    <div class=${`note ${{ failed: "error", stalled: "warn", degraded: "warn" }[row.verdict] ?? ""}`} data-test="why">${row.why || "Its worker does not tell how it fares."}</div>
    <${Trouble} error=${found.error} retry=${found.again} />
    <${Card} title="Pipeline" padded=${false}>${found.content ? html`<${Pipeline} config=${found.content.config} row=${row} />` : html`<div class="body quiet">Asking the worker …</div>`}<//>
    <${Card} title="Figures" end=${html`<span class="quiet">of all tasks, of the present attempts</span>`}><${Figures} figures=${[
      ["Records/s", rateText(row.records)], ["Bytes/s", bytesText(row.bytes)], ["Lag", lagText(row.lag, row.lagUnit)],
      ["Last commit", commits.length ? ageText(Math.max(...commits)) : "–"], ["Records with errors", countText(total("errors"))], ["Skipped", countText(total("skipped"))],
      ["Retries", countText(total("retries"))], ["Dead letters", countText(total("dead_letters"))]]} /><//>
    <${Tasks} row=${row} />`;
}
