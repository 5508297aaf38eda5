// SPDX-License-Identifier: Apache-2.0
// Real records through the chain, of which none is written: polled, after each step, and as Kafka would hold them.
import { jsonText } from "./figures.js";
import { html, useState } from "./html.js";
import { Badge, Card, Trouble } from "./parts.js";

const KINDS = { written: "healthy", put: "healthy", dropped: "idle", combined: "idle", skipped: "degraded", "dead letter": "degraded", "fails the task": "failed" };

/** @param {{ask: () => Promise<any>, stamp: string}} props `stamp` is another one for another configuration */
export function Preview({ ask, stamp }) {
  const [previewed, setPreviewed] = useState("");
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [asking, setAsking] = useState(false);
  const run = async () => {
    setAsking(true);
    setError(null);
    try {
      setFound(await ask());
      setPreviewed(stamp);
    } catch (problem) {
      setError(/** @type {Error} */ (problem));
    }
    setAsking(false);
  };
  return html`<${Card} title="Preview" sticky end=${html`<button onClick=${run} disabled=${asking}>${asking ? "Running …" : "Preview records"}</button>`}>
    <div class="fields"><${Trouble} error=${error} />
    ${found === null ? html`<p class="quiet">The first records that this configuration would give, step by step. Nothing is written.</p>` : html`${previewed !== stamp && html`<div class="note warn">The configuration has changed since.</div>`}<${Result} found=${found} />`}</div><//>`;
}

/** @param {{found: any}} props */
function Result({ found }) {
  return html`${found.error && html`<${Failure} error=${found.error} />`}
    ${found.notes.map((/** @type {string} */ note) => html`<div class="note">${note}</div>`)}
    ${!found.records.length && !found.error && html`<p class="quiet">No record came.</p>`}
    ${found.records.map((/** @type {any} */ record, /** @type {number} */ index) => html`<${Record} key=${index} record=${record} number=${index + 1} />`)}
    ${found.dryRun && html`<details open><summary>What the sink would write</summary><pre class="trace">${JSON.stringify(found.dryRun, null, 2)}</pre></details>`}`;
}

/** @param {{error: any}} props */
function Failure({ error }) {
  return html`<div class="note error"><strong>${error.stage}${error.transform ? ` ${error.transform}` : ""}</strong>: ${error.message}${error.hint && html`<div>${error.hint}</div>`}</div>`;
}

/** @param {{record: any, number: number}} props */
function Record({ record, number }) {
  const kind = KINDS[/** @type {keyof typeof KINDS} */ (record.outcome)] ?? "idle";
  const last = record.result ?? record.polled ?? record.consumed;
  return html`<details data-test="previewed"><summary>${number}. <${Badge} kind=${kind} text=${record.outcome} /> <span class="mono">${record.result ? record.result.topic : ""} ${part(last?.value)}</span></summary>
    <table><tbody>
    <${Step} name=${record.consumed ? "consumed" : "polled"} record=${record.consumed ?? record.polled} />
    ${record.steps.map((/** @type {any} */ step) => html`<${Step} name=${`${step.transform} (${step.outcome})`} record=${step.after} />`)}
    ${record.result && html`<${Step} name="in Kafka" record=${record.result} />`}</tbody></table>
    ${record.error && html`<${Failure} error=${record.error} />`}</details>`;
}

/** @param {{name: string, record: any}} props */
function Step({ name, record }) {
  return html`<tr><td class="short quiet">${name}</td><td>${record ? html`<code>${record.topic}</code> <code>${part(record.key)}</code> → <code>${part(record.value)}</code>` : ""}</td></tr>`;
}

/** @param {any} content */
export function part(content) {
  if (!content) return "";
  return content.error ?? jsonText(content.value);
}
