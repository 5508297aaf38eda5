// SPDX-License-Identifier: Apache-2.0
// The overview: the cluster's health in one line, its figures over time, its workers, and what needs attention.
import { hasFailed } from "./changes.js";
import { about, connectors, counts, events } from "./cluster.js";
import { countText, NONE, rateText, timeText } from "./figures.js";
import { LastHour } from "./history.js";
import { html, useEffect } from "./html.js";
import { Badge, Card, Figures, Health, Trouble } from "./parts.js";
import { useRepeated } from "./repeated.js";
import { may } from "./roles.js";
import { isIdle, sum, VERDICTS } from "./rows.js";
import { to } from "./routes.js";
import { coresText, failedOf, loadText, membersOf, Name, useWorkers } from "./workers.js";

/** Of the workers and the newest changes. */
const PERIOD_MS = 15_000;
const MOST_EVENTS = 100;

export function Overview() {
  const found = connectors.value;
  const answer = useWorkers(PERIOD_MS);
  if (found === null) return html`<p class="quiet">Asking the worker …</p>`;
  const known = about.value ?? {};
  const members = membersOf(found, answer.content);
  return html`
    <div class="line"><h1>Overview</h1><span class="quiet">headrace ${known.headrace_version ?? ""}, Kafka cluster <span class="mono">${known.kafka_cluster_id ?? "unknown"}</span></span></div>
    <${Sentence} members=${members} />
    <${LastHour} />
    <div class="split"><${Attention} /><div class="stack"><${Workers} members=${members} error=${answer.error} /><${Events} /></div></div>`;
}

/** @param {{members: import("./workers.js").Member[]}} props */
function Sentence({ members }) {
  const found = counts.value;
  const worst = VERDICTS.find((verdict) => found[/** @type {keyof typeof found} */ (verdict)] > 0) ?? "healthy";
  const texts = VERDICTS.map((verdict) => [verdict, /** @type {any} */ (found)[verdict]]).filter(([, count]) => count > 0);
  const rows = connectors.value ?? [];
  const tasks = rows.flatMap((row) => row.tasks);
  const said = !found.all
    ? "There is no connector yet."
    : worst === "healthy" ? `All ${found.all - found.idle} connectors at work are healthy.` : `${texts.map(([verdict, count]) => `${count} ${verdict}`).join(", ")}.`;
  return html`<section class="card"><div class="body line"><${Badge} kind=${found.all ? worst : "idle"} text=${found.all ? worst : "empty"} />
      <strong data-test="cluster-health">${said}</strong>
      ${found.idle > 0 && html`<span class="quiet">${found.idle} paused or stopped</span>`}</div>
    <div class="body"><${Figures} figures=${[
      ["Connectors", countText(found.all)],
      ["Tasks running", `${tasks.filter((task) => task.state === "RUNNING").length} of ${tasks.length}`],
      ["Records/s", rateText(sum(rows.map((row) => row.records)))],
      ["Workers", countText(members.length)],
    ]} /></div></section>`;
}

function Attention() {
  const found = (connectors.value ?? []).filter((row) => row.verdict !== "healthy" && !isIdle(row));
  found.sort((one, other) => VERDICTS.indexOf(one.verdict) - VERDICTS.indexOf(other.verdict));
  return html`<${Card} title="Needs attention" padded=${false}>
    ${found.length === 0 && html`<div class="body quiet">Nothing.</div>`}
    <div class="scroll" tabindex="0" role="region" aria-label="Table"><table><tbody>${found.slice(0, 20).map((row) => html`<tr key=${row.name}><td class="short"><${Health} row=${row} /></td>
      <td><a href=${to("connectors", row.name)}>${row.name}</a><div class="quiet">${row.why}</div></td></tr>`)}</tbody></table></div>
    ${found.length > 20 && html`<div class="body"><a href=${to("connectors")}>${found.length - 20} more</a></div>`}<//>`;
}

/** @param {{members: import("./workers.js").Member[], error: Error | undefined}} props */
function Workers({ members, error }) {
  return html`<${Card} title="Workers" padded=${false} end=${html`<a href=${to("workers")}>All about workers</a>`}><${Trouble} error=${error} />
    <div class="scroll" tabindex="0" role="region" aria-label="Workers"><table><thead><tr><th>Worker</th><th class="number">Tasks</th><th class="number">Failed</th><th class="number">Records/s</th><th class="number">Cores in use</th><th class="number">Load</th><th class="number">Config lag</th><th>Version</th></tr></thead>
    <tbody>${members.map((member) => html`<tr key=${member.id}><${Name} member=${member} /><td class="number">${member.work.tasks.length}</td><td class="number">${failedOf(member.work)}</td><td class="number">${rateText(member.work.records)}</td>
      <td class="number">${coresText(member.info)}</td><td class="number">${loadText(member.info)}</td><td class="number">${countText(member.info?.config_lag)}</td><td class="short">${member.info?.version ?? NONE}</td></tr>`)}</tbody></table></div><//>`;
}

/** What has happened: changes that users and workers have made, and states that have changed since the page was opened. */
function Events() {
  const states = events.value;
  return may("operator") ? html`<${AuditedEvents} states=${states} />` : html`<${EventList} found=${states} end="since this page was opened" />`;
}

/** @param {{states: import("./events.js").Event[]}} props */
function AuditedEvents({ states }) {
  const answer = useRepeated(["changes"], PERIOD_MS, { limit: MOST_EVENTS });
  useEffect(() => (states.length ? answer.again() : undefined), [states]); // who has caused it
  const changes = (answer.content?.changes ?? []).map(eventOf);
  const found = [...states, ...changes].sort((one, other) => other.at - one.at).slice(0, MOST_EVENTS);
  return html`<${EventList} found=${found} error=${answer.error} end=${html`<a href=${to("audit")}>All changes</a>`} />`;
}

/** @param {any} change one of GET /changes */
function eventOf(change) {
  const { time, who, what, connector, result, reason } = change;
  const failed = hasFailed(change);
  return { at: time, name: connector, kind: failed ? "failed" : "idle", text: `${who}: ${what}${failed ? `, ${result}: ${reason ?? ""}` : ""}` };
}

/** @param {{found: {at: number, name: string | null, kind: string, text: string}[], end: unknown, error?: Error}} props */
function EventList({ found, end, error }) {
  return html`<${Card} title="Events" padded=${false} end=${html`<span class="quiet">${end}</span>`}><${Trouble} error=${error} />
    ${!found.length ? html`<div class="body quiet">None yet.</div>` : html`<div class="scroll short" tabindex="0" role="region" aria-label="Events"><table><tbody>${found.map((each) => html`<tr key=${`${each.at} ${each.name} ${each.text}`}>
      <td class="short quiet">${momentText(each.at)}</td><td class="short"><span class=${`badge ${each.kind}`}><span class="visually-hidden">${each.kind}</span></span></td><td>${each.name && html`<a href=${to("connectors", each.name)}>${each.name}</a> `}<div>${each.text}</div></td></tr>`)}</tbody></table></div>`}<//>`;
}

/** The time of day, before today the date. @param {number} at */
function momentText(at) {
  const moment = new Date(at);
  return moment.toDateString() === new Date().toDateString() ? moment.toTimeString().slice(0, 8) : timeText(at).slice(0, 10);
}
