// SPDX-License-Identifier: Apache-2.0
// Workers: what each of those runs that connectors and tasks name, and the figures of the one that answers.
import { get, getText } from "./api.js";
import { about, connectors } from "./cluster.js";
import { ageText, bytesText, countText, rateText } from "./figures.js";
import { html } from "./html.js";
import { Badge, Card, Figures, Trouble, useAnswer } from "./parts.js";
import { to } from "./routes.js";
import { sum } from "./rows.js";
import { figure, label, samples } from "./samples.js";

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
    const name = worker || "(unassigned)";
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

/** @param {Work} work */
export function failedOf(work) {
  return work.tasks.filter((task) => task.state === "FAILED").length;
}

export function Workers() {
  const rows = connectors.value;
  const metrics = useAnswer((signal) => getText(["metrics"], signal), []);
  const spark = useAnswer((signal) => get(["connectors"], { expand: "spark" }, signal), []);
  const health = useAnswer((signal) => get(["health"], {}, signal), []);
  if (rows === null) return html`<p class="quiet">Asking the worker …</p>`;
  const found = samples(metrics.content ?? "");
  const again = () => [metrics, spark, health].forEach((each) => each.again());
  return html`<div class="line"><h1>Workers</h1><span class="quiet">those with connectors or tasks</span><span class="end"><button onClick=${again}>Read again</button></span></div>
    <${Table} rows=${rows} leader=${(label(found, "leader_name") ?? "").replace(/^\w+:\/\//, "").replace(/\/$/, "")} />
    <${Answering} found=${found} health=${health} error=${metrics.error} /><${SparkTasks} status=${spark.content} error=${spark.error} />`;
}

/** @param {{rows: import("./rows.js").Row[], leader: string}} props */
function Table({ rows, leader }) {
  const found = workersOf(rows);
  const most = Math.max(...found.map(([, work]) => work.tasks.length), 1);
  return html`<${Card} title="Work" padded=${false}>${!found.length ? html`<div class="body quiet">No worker runs anything.</div>` : html`<div class="scroll" tabindex="0" role="region" aria-label="Workers"><table>
    <thead><tr><th>Worker</th><th class="number">Connectors</th><th class="number">Tasks</th><th>Share of the tasks</th><th class="number">Failed</th><th class="number">Records/s</th><th class="number">Bytes/s</th></tr></thead>
    <tbody>${found.map(([worker, work]) => html`<tr key=${worker}><td class="mono">${worker} ${worker === leader && html`<span class="tag">leader</span>`}</td><td class="number">${countText(work.connectors)}</td><td class="number">${countText(work.tasks.length)}</td>
      <td><progress max=${most} value=${work.tasks.length} aria-label=${`Tasks of ${worker}`}></progress></td><td class="number">${failedOf(work) ? html`<span class="removed">${failedOf(work)}</span>` : "0"}</td>
      <td class="number">${rateText(work.records)}</td><td class="number">${bytesText(work.bytes)}</td></tr>`)}</tbody></table></div>`}<//>`;
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
