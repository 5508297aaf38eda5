// SPDX-License-Identifier: Apache-2.0
// Committed offsets: to be seen, exported, changed and reset; what would be different is shown before it is.
import { confirm, perform } from "./actions.js";
import { get, send } from "./api.js";
import { countText, jsonText } from "./figures.js";
import { html, useState } from "./html.js";
import { Card, download, Trouble, useAnswer } from "./parts.js";
import { may } from "./roles.js";

/** @param {{name: string, row: import("./rows.js").Row, role: string | null}} props */
export function Offsets({ name, row, role }) {
  const found = useAnswer((signal) => get(["connectors", name, "offsets"], { expand: "bounds" }, signal), [name]);
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  const path = ["connectors", name, "offsets"];
  const offsets = found.content?.offsets ?? [];
  const ask = async (/** @type {"PATCH" | "DELETE"} */ method, /** @type {any} */ body) => {
    setProblem(null);
    try {
      const plan = await send(method, path, body, { dryRun: true });
      confirm({ title: method === "DELETE" ? "Reset all offsets" : "Change offsets", text: html`<${Differences} plan=${plan} />`, name, action: method === "DELETE" ? "Reset" : "Change", run: () => change(method, body) });
    } catch (error) {
      setProblem(/** @type {Error} */ (error));
    }
  };
  const change = async (/** @type {"PATCH" | "DELETE"} */ method, /** @type {any} */ body) => {
    if (await perform("The offsets are changed", () => send(method, path, body))) {
      setText(null);
      found.again();
    }
  };
  const edited = () => {
    try {
      void ask("PATCH", { offsets: JSON.parse(text ?? "") });
    } catch (error) {
      setProblem(/** @type {Error} */ (error));
    }
  };
  const buttons = html`<button onClick=${found.again}>Read again</button><button disabled=${!offsets.length} onClick=${() => download(JSON.stringify({ offsets }, null, 2), `${name}.offsets.json`)}>Export</button>
    ${may("editor", role) && html`<button onClick=${() => setText(text === null ? JSON.stringify(offsets, null, 2) : null)}>${text === null ? "Edit" : "Do not edit"}</button><button class="danger" onClick=${() => void ask("DELETE", undefined)}>Reset …</button>`}`;
  return html`<${Trouble} error=${found.error ?? problem} />
    ${row.state !== "STOPPED" && may("editor", role) && html`<div class="note">Offsets can be changed while the connector is stopped.</div>`}
    <${Card} title="Offsets" end=${buttons} padded=${false}>
      ${text !== null && html`<div class="body fields"><textarea rows="14" spellcheck=${false} aria-label="Offsets as JSON" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)}></textarea>
        <div class="line"><span class="quiet">Partitions that are left out stay as they are; an offset of null is deleted.</span><span class="end"><button class="primary" onClick=${edited}>Show the differences …</button></span></div></div>`}
      ${found.content && (offsets.length ? html`<${Table} offsets=${offsets} bounds=${found.content.bounds} />` : html`<div class="body quiet">Nothing is committed yet.</div>`)}<//>`;
}

/** @param {{offsets: any[], bounds: any}} props */
function Table({ offsets, bounds }) {
  const limits = new Map((bounds?.partitions ?? []).map((/** @type {any} */ each) => [jsonText(each.partition), each]));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Table"><table><thead><tr><th>Partition</th><th>Offset</th>${bounds && html`<th class="number">First</th><th class="number">End</th>`}</tr></thead><tbody>
    ${offsets.map((each) => {
      const limit = /** @type {any} */ (limits.get(jsonText(each.partition)));
      return html`<tr><td class="mono">${jsonText(each.partition)}</td><td class="mono">${jsonText(each.offset)}</td>${bounds && html`<td class="number">${countText(limit?.first)}</td><td class="number">${countText(limit?.end)}</td>`}</tr>`;
    })}</tbody></table></div>`;
}

/** @param {{plan: any}} props */
function Differences({ plan }) {
  if (!plan.changes.length) return html`<p>Nothing would be different.</p>`;
  return html`<p>${plan.message}</p><div class="scroll" tabindex="0" role="region" aria-label="Table"><table><tbody>${plan.changes.map((/** @type {any} */ each) => html`<tr><td class="mono">${jsonText(each.partition)}</td><td class="mono">
    <div class="removed">− ${jsonText(each.before)}</div><div class="added">+ ${jsonText(each.after)}</div></td></tr>`)}</tbody></table></div>`;
}
