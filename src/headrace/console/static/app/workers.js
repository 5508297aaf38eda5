// SPDX-License-Identifier: Apache-2.0
// Workers: what each of them runs and its own figures, and more about the one that answers.
import { get, getText } from "./api.js";
import { about, connectors } from "./cluster.js";
import { ageText, bytesText, countText, NONE, rateText } from "./figures.js";
import { html } from "./html.js";
import { Badge, Card, Figures, Trouble, useAnswer } from "./parts.js";
import { useRepeated } from "./repeated.js";
import { to } from "./routes.js";
import { sum } from "./rows.js";
import { figure, samples } from "./samples.js";

const PERIOD_MS = 5000;
const UNASSIGNED = "(unassigned)";

/**
 * @typedef {object} Work
 * @property {number} connectors
 * @property {any[]} tasks
 * @property {number | null} records a second
 * @property {number | null} bytes a second
 */

/** The work of each worker by its id; `(unassigned)` has what no worker runs. @param {import("./rows.js").Row[]} rows @returns {[string, Work][]} */
export function workersOf(rows) {
  /** @type {Map<string, Work>} */
  const found = new Map();
  const of = (/** @type {string | null} */ worker) => {
    const name = worker || UNASSIGNED;
    const work = found.get(name) ?? { connectors: 0, tasks: [], records: null, bytes: null };
    found.set(name, work);
    return work;
  };
  for (const row of rows) {
    of(row.worker).connectors += 1;
    for (const task of row.tasks) {
      const work = of(task.worker_id);
      work.tasks.push({ ...task, connector: row.name });
      work.records = sum([work.records, task.health?.records_per_second]);
      work.bytes = sum([work.bytes, task.health?.bytes_per_second]);
    }
  }
  return [...found].sort(([one], [other]) => one.localeCompare(other));
}

/**
 * A worker with its work and what GET /workers says of it: `info`, or `trouble`, the reason why it has not answered.
 * @typedef {object} Member
 * @property {string} id
 * @property {Work} work
 * @property {any} info null while it is not known
 * @property {string | null} trouble
 * @property {boolean} leader
 */

/** All members of the group, and what else the statuses name. @param {import("./rows.js").Row[]} rows @param {any} answer of GET /workers @returns {Member[]} */
export function membersOf(rows, answer) {
  const works = new Map(workersOf(rows));
  const infos = new Map((answer?.workers ?? []).map((/** @type {any} */ each) => [each.worker_id, each]));
  const missing = answer?.missing ?? {};
  const none = { connectors: 0, tasks: [], records: null, bytes: null };
  return [...new Set([...works.keys(), ...infos.keys(), ...Object.keys(missing)])].sort().map((id) => ({
    id, work: works.get(id) ?? none, info: infos.get(id) ?? null, leader: id === answer?.leader,
    trouble: missing[id] ?? (answer && !infos.has(id) && id !== UNASSIGNED ? "It is not in the group." : null),
  }));
}

/** GET /workers, asked for again every `period` ms while the page is visible. @param {number} period */
export function useWorkers(period) {
  return useRepeated(["workers"], period);
}

/** @param {{member: Member}} props */
export function Name({ member: { id, info, trouble, leader } }) {
  const lag = info?.config_lag ?? 0;
  return html`<td class="mono">${id} ${leader && html`<span class="tag">leader</span>`}
    ${lag > 0 && html`<div><${Badge} kind="degraded" text="lags" /> <span class="quiet">it is ${countText(lag)} offsets behind the end of the config topic</span></div>`}
    ${trouble && html`<div><${Badge} kind="failed" text="no answer" /> <span class="quiet">${trouble}</span></div>`}</td>`;
}

/** @param {any} info */
export function coresText(info) {
  return info?.spark ? `${countText(info.spark.busy)} of ${countText(info.spark.total)}` : NONE;
}

/** The machine's load and its processors. @param {any} info */
export function loadText(info) {
  return info ? `${info.load.toFixed(1)} of ${countText(info.cpus)}` : NONE;
}

/** @param {Work} work */
export function failedOf(work) {
  return work.tasks.filter((task) => task.state === "FAILED").length;
}

export function Workers() {
  const rows = connectors.value;
  const members = useWorkers(PERIOD_MS);
  const metrics = useAnswer((signal) => getText(["metrics"], signal), []);
  const spark = useAnswer((signal) => get(["connectors"], { expand: "spark" }, signal), []);
  const health = useAnswer((signal) => get(["health"], {}, signal), []);
  if (rows === null) return html`<p class="quiet">Asking the worker …</p>`;
  const found = samples(metrics.content ?? "");
  const again = () => [members, metrics, spark, health].forEach((each) => each.again());
  return html`<div class="line"><h1>Workers</h1><span class="quiet">all of the group</span><span class="end"><button onClick=${again}>Read again</button></span></div>
    <${Trouble} error=${members.error} /><${Table} members=${membersOf(rows, members.content)} />
    <${Answering} found=${found} health=${health} error=${metrics.error} /><${SparkTasks} status=${spark.content} error=${spark.error} />`;
}

/** @param {{members: Member[]}} props */
function Table({ members }) {
  const most = Math.max(...members.map(({ work }) => work.tasks.length), 1);
  return html`<${Card} title="Workers of the group" padded=${false}><div class="scroll" tabindex="0" role="region" aria-label="Workers"><table>
    <thead><tr><th>Worker</th><th class="number">Connectors</th><th class="number">Tasks</th><th>Share of the tasks</th><th class="number">Failed</th><th class="number">Records/s</th><th class="number">Bytes/s</th>
      <th class="number">Spark cores in use</th><th class="number">Load</th><th class="number">Memory</th><th class="number">Config lag</th><th class="number">Config offset</th><th>Version</th><th class="number">Up for</th></tr></thead>
    <tbody>${members.map((member) => html`<tr key=${member.id}><${Name} member=${member} /><${Runs} work=${member.work} most=${most} id=${member.id} /><${About} info=${member.info} /></tr>`)}</tbody></table></div><//>`;
}

/** @param {{work: Work, most: number, id: string}} props */
function Runs({ work, most, id }) {
  return html`<td class="number">${countText(work.connectors)}</td><td class="number">${countText(work.tasks.length)}</td><td><progress max=${most} value=${work.tasks.length} aria-label=${`Tasks of ${id}`}></progress></td>
    <td class="number">${failedOf(work) ? html`<span class="removed">${failedOf(work)}</span>` : "0"}</td><td class="number">${rateText(work.records)}</td><td class="number">${bytesText(work.bytes)}</td>`;
}

/** @param {{info: any}} props */
function About({ info }) {
  return html`<td class="number">${coresText(info)}</td><td class="number">${loadText(info)}</td><td class="number">${bytesText(info?.memory_bytes)}</td><td class="number">${countText(info?.config_lag)}</td><td class="number">${countText(info?.config_offset)}</td>
    <td class="short">${info?.version ?? NONE}</td><td class="number">${ageText(info ? Date.now() - info.started_at : null)}</td>`;
}

/** @param {{found: import("./samples.js").Sample[], health: {content?: any, error?: Error}, error: Error | undefined}} props */
function Answering({ found, health, error }) {
  const of = (/** @type {string} */ name) => figure(found, name);
  const started = of("process_start_time_seconds");
  return html`<${Card} title="The worker that answers" end=${html`<a href="metrics">All metrics</a>`}><div class="fields"><${Trouble} error=${error} />
    <div class="line"><${Badge} kind=${health.content ? health.content.status : health.error ? "failed" : "idle"} text=${health.content?.status ?? (health.error ? "unhealthy" : "asked")} /><span>${health.content?.message ?? health.error?.message}</span></div>
    <${Figures} figures=${[["Version", about.value?.headrace_version ?? "–"], ["Started", started === null ? "–" : `${ageText(Date.now() - started * 1000)} ago`], ["Memory", bytesText(of("process_resident_memory_bytes"))],
      ["CPU time", of("process_cpu_seconds_total") === null ? "–" : `${countText(Math.round(/** @type {number} */ (of("process_cpu_seconds_total"))))} s`],
      ["Connectors", countText(of("connector_count"))], ["Tasks", countText(of("task_count"))], ["Tasks without a core", countText(of("tasks_waiting_for_cores"))],
      ["Generation of the group", countText(of("epoch"))], ["Rebalances", countText(of("completed_rebalances_total"))], ["Since the last", ageText(of("time_since_last_rebalance_ms"))]]} /></div><//>`;
}

/** @param {{status: Record<string, any> | undefined, error: Error | undefined}} props */
function SparkTasks({ status, error }) {
  const found = Object.entries(status ?? {}).flatMap(([name, { status: one }]) => one.tasks.filter((/** @type {any} */ task) => task.spark).map((/** @type {any} */ task) => ({ name, ...task })));
  return html`<${Card} title="What Spark runs for it" padded=${false} end=${html`<span class="quiet">of the worker that answers</span>`}><${Trouble} error=${error} />
    ${!found.length ? html`<div class="body quiet">Nothing.</div>` : html`<div class="scroll" tabindex="0" role="region" aria-label="Spark"><table><thead><tr><th>Task</th><th>Spark application</th><th class="number">Spark job</th><th>Executor</th><th class="number">Attempt</th><th>Host</th><th class="number">Process</th></tr></thead>
    <tbody>${found.map(({ name, id, spark }) => html`<tr key=${`${name}-${id}`}><td><a href=${to("connectors", name)}>${name}</a> ${id}</td><td class="mono short">${spark.app_id ?? "–"}</td><td class="number">${spark.job_id ?? "–"}</td><td class="mono short">${spark.executor ?? "–"}</td>
      <td class="number">${spark.attempt}</td><td class="mono short">${spark.host ?? "–"}</td><td class="number">${spark.pid}</td></tr>`)}</tbody></table></div>`}<//>`;
}
