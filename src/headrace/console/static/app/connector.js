// SPDX-License-Identifier: Apache-2.0
// One connector: what it does and how it fares, and below that a screen for each thing that can be seen or changed.
import { changeState, deleteConnector } from "./actions.js";
import { getWithRole } from "./api.js";
import { Changes } from "./changes.js";
import { connectors } from "./cluster.js";
import { ConfigTab } from "./config_tab.js";
import { DeadLetters } from "./dead_letters.js";
import { ageText, bytesText, countText, lagText, rateText } from "./figures.js";
import { LastHour } from "./history.js";
import { html } from "./html.js";
import { Logs } from "./logs.js";
import { Offsets } from "./offsets.js";
import { Card, Figures, Health, Trouble, useAnswer } from "./parts.js";
import { Pipeline } from "./pipeline.js";
import { may } from "./roles.js";
import { to } from "./routes.js";
import { useSteps } from "./step_counts.js";
import { Tasks } from "./tasks.js";
import { Topics } from "./topics.js";

/** Of each its path, its name, its part of the screen, and the role that it takes. @type {[string, string, any, "viewer" | "operator" | "editor"][]} */
const TABS = [["", "State", StateTab, "viewer"], ["config", "Configuration", ConfigTab, "viewer"], ["offsets", "Offsets", Offsets, "operator"], ["topics", "Topics", Topics, "viewer"],
  ["dead-letters", "Dead letters", DeadLetters, "editor"], ["logs", "Log", Logs, "operator"], ["changes", "Changes", Changes, "operator"]];

/** @param {{name: string, tab: string}} props */
export function Connector({ name, tab }) {
  const all = connectors.value;
  const row = all?.find((each) => each.name === name);
  const found = useAnswer((signal) => getWithRole(["connectors", name], signal), [name, tab]);
  const role = found.content?.role ?? null;
  if (all === null) return html`<p class="quiet">Asking the worker …</p>`;
  if (!row) return html`<div class="note">There is no connector <strong>${name}</strong>, or you may not see it. <a href=${to("connectors")}>To the connectors</a></div>`;
  const [, , Tab] = TABS.find(([key]) => key === tab) ?? TABS[0];
  return html`
    <div class="line"><h1>${name}</h1><${Health} row=${row} /><span class="tag">${row.type}</span><${Buttons} row=${row} role=${role} /></div>
    <nav class="tabs" aria-label="Parts of the connector">${TABS.filter(([key, , , least]) => key === tab || least === "viewer" || may(least, role)).map(([key, text]) => html`<a href=${key ? to("connectors", name, key) : to("connectors", name)}
      aria-current=${key === tab ? "page" : undefined}>${text}</a>`)}</nav>
    <${Tab} name=${name} row=${row} role=${role} found=${found} />`;
}

/** @param {{row: import("./rows.js").Row, role: string | null}} props */
function Buttons({ row, role }) {
  if (!may("operator", role)) return null;
  const change = (/** @type {"pause" | "resume" | "stop" | "restart"} */ wanted) => () => void changeState(wanted, [row.name]);
  return html`<span class="end">
    ${row.state === "PAUSED" || row.state === "STOPPED" ? html`<button onClick=${change("resume")}>Resume</button>` : html`<button onClick=${change("pause")}>Pause</button>`}
    ${row.state !== "STOPPED" && html`<button onClick=${change("stop")}>Stop</button>`}
    <button onClick=${change("restart")}>Restart</button>${may("editor", role) && html`<button class="danger" onClick=${() => deleteConnector(row.name)}>Delete</button>`}</span>`;
}

/** @param {{row: import("./rows.js").Row, role: string | null, found: {content?: any, error?: Error, again: () => void}}} props */
function StateTab({ row, role, found }) {
  const counted = row.tasks.map((task) => task.health?.errors).filter(Boolean);
  const total = (/** @type {string} */ key) => (counted.length ? counted.reduce((sum, each) => sum + each[key], 0) : null);
  const steps = useSteps(row.name);
  const commits = row.tasks.map((task) => task.health?.last_commit).filter((age) => age !== null && age !== undefined);
  return html`
    <div class=${`note ${{ failed: "error", stalled: "warn", degraded: "warn" }[row.verdict] ?? ""}`} data-test="why">${row.why || "Its worker does not report its health."}</div>
    <${Trouble} error=${found.error} retry=${found.again} />
    <${Card} title="Pipeline" padded=${false}>${found.content ? html`<${Pipeline} config=${found.content.content.config} row=${row} steps=${steps} />` : html`<div class="body quiet">Asking the worker …</div>`}<//>
    <${Card} title="Figures" end=${html`<span class="quiet">of all tasks, of the present attempts</span>`}><${Figures} figures=${[
      ["Records/s", rateText(row.records)], ["Bytes/s", bytesText(row.bytes)], ["Lag", lagText(row.lag, row.lagUnit)],
      ["Last commit", commits.length ? ageText(Math.max(...commits)) : "–"], ["Records with errors", countText(total("errors"))], ["Skipped", countText(total("skipped"))],
      ["Retries", countText(total("retries"))], ["Dead letters", countText(total("dead_letters"))]]} /><//>
    <${LastHour} name=${row.name} lag=${row.type === "sink"} /><${Tasks} row=${row} role=${role} />`;
}
