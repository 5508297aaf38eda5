// SPDX-License-Identifier: Apache-2.0
// Changes of a connector and who has made them: the lines of `headrace.audit` about it, as far as workers keep them.
import { get } from "./api.js";
import { timeText } from "./figures.js";
import { html } from "./html.js";
import { Badge, Card, Trouble, useAnswer } from "./parts.js";

const FIELD = /(\w+)=(?:"((?:[^"\\]|\\.)*)"|([^\s"=\\]+))/g;
const MOST = 1000;

/** The fields of an audit line. @param {string} line @returns {Record<string, string>} */
export function fieldsOf(line) {
  return Object.fromEntries([...line.matchAll(FIELD)].map(([, name, text, plain]) => [name, plain ?? unquoted(text)]));
}

/** @param {string} text of a JSON string */
function unquoted(text) {
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    return text; // with an escape that is none of JSON's, for a character that is not to be printed
  }
}

/** @param {{name: string}} props */
export function Changes({ name }) {
  const found = useAnswer((signal) => get(["connectors", name, "logs"], { limit: MOST }, signal), [name]);
  const lines = (found.content?.lines ?? []).filter((/** @type {any} */ line) => line.logger === "headrace.audit").reverse();
  const missing = Object.keys(found.content?.missing ?? {});
  return html`<${Trouble} error=${found.error} retry=${found.again} />
    ${missing.length > 0 && html`<div class="note warn">These workers have not answered: ${missing.join(", ")}.</div>`}
    <${Card} title="Changes" padded=${false} end=${html`<span class="quiet">those that workers keep in memory</span><button onClick=${found.again}>Read again</button>`}>
      ${!lines.length ? html`<div class="body quiet">${found.content ? "No change is known." : "Asking the workers …"}</div>` : html`<div class="scroll" tabindex="0" role="region" aria-label="Changes"><table>
        <thead><tr><th>Time (UTC)</th><th>By</th><th>Request</th><th>Change</th><th>Result</th></tr></thead><tbody>
        ${lines.map((/** @type {any} */ line) => html`<${Change} key=${`${line.worker} ${line.time} ${line.message}`} time=${line.time} fields=${fieldsOf(line.message)} />`)}</tbody></table></div>`}<//>`;
}

/** @param {{time: number, fields: Record<string, string>}} props */
function Change({ time, fields }) {
  const { who, address, worker, what, change, result, reason } = fields;
  const refused = Number(result) >= 400 || result === "failed" || result === "unknown";
  return html`<tr><td class="short quiet">${timeText(time)}</td><td class="short"><strong>${who}</strong><div class="quiet mono">${address ?? worker}</div></td><td class="mono">${what}</td>
    <td>${change ?? ""}${reason && html`<div class=${refused ? "removed" : "quiet"}>${reason}</div>`}</td><td class="short"><${Badge} kind=${refused ? "failed" : "healthy"} text=${result} /></td></tr>`;
}
