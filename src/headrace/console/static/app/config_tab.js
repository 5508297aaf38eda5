// SPDX-License-Identifier: Apache-2.0
// A connector's configuration: changed properties are shown and sent alone, so secrets stay what they are, unseen.
import { confirm, perform } from "./actions.js";
import { get, send } from "./api.js";
import { ConfigEditor } from "./config_editor.js";
import { html, useState } from "./html.js";
import { Card, Trouble, useAnswer } from "./parts.js";
import { may } from "./roles.js";

/** @param {{name: string, role: string | null}} props */
export function ConfigTab({ name, role }) {
  const found = useAnswer((signal) => get(["connectors", name, "config"], {}, signal), [name]);
  if (!found.content) return html`<${Trouble} error=${found.error} retry=${found.again} />`;
  if (!may("editor", role)) return html`<${Properties} stored=${found.content} />`;
  return html`<${Editor} key=${JSON.stringify(found.content)} name=${name} stored=${found.content} again=${found.again} />`;
}

/** @param {Record<string, string | null>} before @param {Record<string, string | null>} after What a PATCH takes: null removes. */
export function difference(before, after) {
  /** @type {Record<string, string | null>} */
  const changes = {};
  for (const [name, text] of Object.entries(after)) if (before[name] !== text) changes[name] = text;
  for (const name of Object.keys(before)) if (!(name in after)) changes[name] = null;
  return changes;
}

/** @param {{name: string, stored: Record<string, string | null>, again: () => void}} props */
function Editor({ name, stored, again }) {
  const [values, setValues] = useState(stored);
  const changes = difference(stored, values);
  const count = Object.keys(changes).length;
  const save = async () => {
    if (await perform(`${name} is reconfigured`, () => send("PATCH", ["connectors", name, "config"], changes))) again();
  };
  const asked = () => confirm({ title: "Save the changes", text: html`<${Changes} before=${stored} changes=${changes} /><p>Its tasks are started again with them.</p>`, action: "Save", run: save });
  const preview = () => (count ? previewChanged(name, values) : send("POST", ["connectors", name, "preview"], undefined, { records: 5 }));
  const buttons = (/** @type {number} */ wrong) => html`<button class="primary" disabled=${!count || wrong > 0} onClick=${asked}>Save ${count || ""} ${count === 1 ? "change" : "changes"}</button>
    <button disabled=${!count} onClick=${() => setValues(stored)}>Undo</button>`;
  return html`<${ConfigEditor} plugin=${stored["connector.class"] ?? ""} values=${values} setValues=${setValues} preview=${preview} fixed=${["connector.class", "name"]} end=${buttons} />
    ${count > 0 && html`<${Card} title="Changes"><${Changes} before=${stored} changes=${changes} /><//>`}`;
}

/** Of a user who may see them only. @param {{stored: Record<string, string | null>}} props */
function Properties({ stored }) {
  return html`<${Card} title="Configuration" padded=${false}><div class="scroll" tabindex="0" role="region" aria-label="Properties"><table><tbody>
    ${Object.entries(stored).sort().map(([name, text]) => html`<tr key=${name}><td class="mono">${name}</td><td class="mono">${text}</td></tr>`)}</tbody></table></div><//>`;
}

/** @param {string} name @param {Record<string, string | null>} values */
function previewChanged(name, values) {
  if (Object.values(values).includes("[hidden]")) {
    throw new Error("A change of a connector that has secrets in its configuration cannot be previewed here: the page does not have them. Save the change, or put the secrets into a config provider.");
  }
  return send("POST", ["connectors", name, "preview"], values, { records: 5 });
}

/** @param {{before: Record<string, string | null>, changes: Record<string, string | null>}} props */
function Changes({ before, changes }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Table"><table><tbody>${Object.entries(changes).map(([name, text]) => html`<tr key=${name}><td class="mono">${name}</td><td>
    ${name in before && html`<div class="removed mono">− ${before[name]}</div>`}${text !== null && html`<div class="added mono">+ ${text}</div>`}</td></tr>`)}</tbody></table></div>`;
}
