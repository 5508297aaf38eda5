// SPDX-License-Identifier: Apache-2.0
// Changes of a connector and who has made them, and the table of changes: lines of `headrace.audit`, as far as workers keep them.
import { get } from "./api.js";
import { timeText } from "./figures.js";
import { html } from "./html.js";
import { Badge, Card, Trouble, useAnswer } from "./parts.js";
import { to } from "./routes.js";

export const MOST = 1000;

/** @param {any} change one of GET /changes */
export function hasFailed({ result }) {
  return Number(result) >= 400 || result === "failed" || result === "unknown";
}

/** @param {{name: string}} props */
export function Changes({ name }) {
  const found = useAnswer((signal) => get(["changes"], { connector: name, limit: MOST }, signal), [name]);
  return html`<${Trouble} error=${found.error} retry=${found.again} />
    <${Card} title="Changes" padded=${false} end=${html`<span class="quiet">those that workers keep in memory</span><button onClick=${found.again}>Read again</button>`}><${ChangeTable} answer=${found.content} /><//>`;
}

/** @param {{answer: any, named?: boolean}} props `answer` of GET /changes; `named`: of all connectors, so that each is named */
export function ChangeTable({ answer, named = false }) {
  const missing = Object.entries(answer?.missing ?? {});
  return html`${missing.length > 0 && html`<div class="body"><div class="note warn">Without the changes of ${missing.map(([worker, reason]) => `${worker}: ${reason}`).join("; ")}</div></div>`}
    ${!answer?.changes.length ? html`<div class="body quiet">${answer ? "No change is known." : "Asking the workers …"}</div>` : html`<div class="scroll" tabindex="0" role="region" aria-label="Changes"><table>
      <thead><tr><th>Time (UTC)</th><th>By</th>${named && html`<th>Connector</th>`}<th>Request</th><th>Change</th><th>Result</th></tr></thead><tbody>
      ${answer.changes.map((/** @type {any} */ each, /** @type {number} */ index) => html`<${Change} key=${`${each.worker} ${each.time} ${index}`} change=${each} named=${named} />`)}</tbody></table></div>`}`;
}

/** @param {{change: any, named: boolean}} props */
function Change({ change: each, named }) {
  const { time, who, address, worker, what, connector, change, forwarded, result, reason } = each;
  const failed = hasFailed(each);
  return html`<tr><td class="short quiet">${timeText(time)}</td><td class="short"><strong>${who}</strong><div class="quiet mono">${address ?? worker}</div></td>
    ${named && html`<td class="name">${connector && html`<a href=${to("connectors", connector)}>${connector}</a>`}</td>`}<td class="mono">${what}<div class="quiet">${forwarded ? `forwarded to ${worker}` : address && `asked of ${worker}`}</div></td>
    <td>${change ?? ""}${reason && html`<div class=${failed ? "removed" : "quiet"}>${reason}</div>`}</td><td class="short"><${Badge} kind=${failed ? "failed" : "healthy"} text=${result} /></td></tr>`;
}
