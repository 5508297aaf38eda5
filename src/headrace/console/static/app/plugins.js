// SPDX-License-Identifier: Apache-2.0
// All plugins that configurations may name, with their versions and the reasons why some cannot be used.
import { get } from "./api.js";
import { html, useState } from "./html.js";
import { Card, Trouble, useAnswer } from "./parts.js";
import { may } from "./roles.js";
import { to } from "./routes.js";

export function Plugins() {
  const found = useAnswer((signal) => get(["connector-plugins"], { connectorsOnly: false }, signal), []);
  const [filter, setFilter] = useState("");
  const plugins = (found.content ?? []).filter((/** @type {any} */ each) => `${each.class} ${each.type}`.toLowerCase().includes(filter.toLowerCase()));
  return html`<div class="line"><h1>Plugins</h1><span class="quiet">${plugins.length}</span></div><${Trouble} error=${found.error} retry=${found.again} />
    <div class="line"><input id="search" type="text" size="34" placeholder="Filter ( / )" aria-label="Filter plugins" value=${filter} onInput=${(/** @type {any} */ event) => setFilter(event.target.value)} /></div>
    <${Card} title="Of this worker" padded=${false}><div class="scroll" tabindex="0" role="region" aria-label="Plugins"><table><thead><tr><th>Class</th><th>Type</th><th>Version</th></tr></thead><tbody>${plugins.map((/** @type {any} */ each) => html`<tr key=${`${each.type}-${each.class}`}>
      <td class="mono">${may("editor") && (each.type === "source" || each.type === "sink") ? html`<a href=${to("create", each.class)}>${each.class}</a>` : each.class}${each.error && html`<div class="removed">${each.error}</div>`}</td><td class="short">${each.type}</td><td class="short quiet">${each.version ?? ""}</td></tr>`)}</tbody></table></div><//>`;
}
