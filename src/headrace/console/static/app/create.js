// SPDX-License-Identifier: Apache-2.0
// A new connector: its plugin, its configuration with validation and preview, and the same as a command.
import { perform } from "./actions.js";
import { get, send } from "./api.js";
import { ConfigEditor } from "./config_editor.js";
import { html, useState } from "./html.js";
import { Card, Copy, Trouble, useAnswer } from "./parts.js";
import { shortName } from "./pipeline.js";
import { to } from "./routes.js";

/** @param {{plugin: string | undefined}} props */
export function Create({ plugin }) {
  return plugin === undefined ? html`<${Choice} />` : html`<${Editor} key=${plugin} plugin=${plugin} />`;
}

function Choice() {
  const found = useAnswer((signal) => get(["connector-plugins"], {}, signal), []);
  const plugins = (found.content ?? []).filter((/** @type {any} */ each) => each.type === "source" || each.type === "sink");
  return html`<h1>Create a connector</h1><${Trouble} error=${found.error} retry=${found.again} />
    ${["source", "sink"].map((type) => html`<${Card} title=${type === "source" ? "Sources: into Kafka" : "Sinks: out of Kafka"} padded=${false}><div class="scroll" tabindex="0" role="region" aria-label="Table"><table><tbody>
      ${plugins.filter((/** @type {any} */ each) => each.type === type).map((/** @type {any} */ each) => html`<tr key=${each.class}><td><a href=${to("create", each.class)}>${shortName(each.class)}</a><div class="quiet mono">${each.class}</div>
        ${each.error && html`<div class="wrong">${each.error}</div>`}</td><td class="short quiet number">${each.version ?? ""}</td></tr>`)}</tbody></table></div><//>`)}`;
}

/** @param {{plugin: string}} props */
function Editor({ plugin }) {
  const [values, setValues] = useState(/** @type {Record<string, string | null>} */ ({}));
  const name = values.name ?? "";
  const config = { "connector.class": plugin, ...values };
  const create = async () => {
    if (await perform(`${name} is created`, () => send("POST", ["connectors"], { name, config }))) location.hash = to("connectors", name);
  };
  const preview = () => send("POST", ["connector-plugins", plugin, "config", "preview"], { ...config, name: name || "preview" }, { records: 5 });
  const buttons = (/** @type {number} */ wrong) => html`<button class="primary" disabled=${!name || wrong > 0} onClick=${create}>Create</button>
    <${Copy} label="Copy as curl" text=${curl(name, config)} /><${Copy} label="Copy as a file" text=${JSON.stringify({ name, config }, null, 2)} />`;
  return html`<div class="line"><h1>Create: ${shortName(plugin)}</h1><span class="quiet mono">${plugin}</span><span class="end"><a class="button" href=${to("create")}>Another plugin</a></span></div>
    <${ConfigEditor} plugin=${plugin} values=${values} setValues=${setValues} preview=${preview} fixed=${["connector.class"]} end=${buttons} />`;
}

/** @param {string} name @param {Record<string, string | null>} config */
function curl(name, config) {
  const quoted = JSON.stringify({ name, config }).replaceAll("'", "'\\''");
  return `curl -X POST -H 'Content-Type: application/json' -d '${quoted}' '${new URL("connectors", document.baseURI).href}'`;
}
