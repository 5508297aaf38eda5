// SPDX-License-Identifier: Apache-2.0
// The page /docs: an introduction, examples, and every operation of /openapi.json.
import { credentialHeaders } from "../app/credentials.js";
import { html, render, useEffect, useState } from "../app/html.js";
import { Operation } from "./operation.js";

const EXAMPLES = [
  ["Create a connector", `curl -X POST -H 'Content-Type: application/json' BASE/connectors \\
  -d '{"name": "lines", "config": {"connector.class": "FileStreamSource", "file": "/tmp/lines.txt", "topic": "lines"}}'`],
  ["How do all of them fare?", "curl 'BASE/connectors?expand=status&expand=health'"],
  ["See what changes, as it does", "curl -N BASE/events"],
  ["Change one property", `curl -X PATCH -H 'Content-Type: application/json' BASE/connectors/lines/config -d '{"batch.size": "500"}'`],
  ["See what a configuration would write, and write nothing", "curl -X POST -H 'Content-Type: application/json' 'BASE/connectors/lines/preview?records=3'"],
  ["Restart what has failed", "curl -X POST 'BASE/connectors/lines/restart?includeTasks=true&onlyFailed=true'"],
  ["Stop it, and read its offsets", "curl -X PUT BASE/connectors/lines/stop && curl BASE/connectors/lines/offsets"],
];
const METHODS = ["get", "post", "put", "patch", "delete"];

function Page() {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [error, setError] = useState("");
  const [filter, setFilter] = useState("");
  useEffect(() => {
    fetch(new URL("openapi.json", document.baseURI), { headers: credentialHeaders() }).then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(answer.status === 401 ? "sign in to the console first" : `${answer.status} ${answer.statusText}`)))).then(setFound, (problem) => setError(problem.message));
  }, []);
  return html`<header class="bar"><a class="brand" href="console">headrace</a><nav aria-label="Screens"><a href="console">Console</a><a aria-current="page" href="docs">REST API</a></nav></header>
    <main class="page">${error && html`<div class="note error" role="alert">/openapi.json cannot be read: ${error}</div>`}
    ${found ? html`<${Introduction} version=${found.info.version} /><div class="line"><input type="text" size="34" placeholder="Filter operations" aria-label="Filter operations" value=${filter} onInput=${(/** @type {any} */ event) => setFilter(event.target.value)} /></div>
      <${Operations} document=${found} filter=${filter.toLowerCase()} />` : html`<p class="quiet">Reading /openapi.json …</p>`}</main>`;
}

/** @param {{version: string}} props */
function Introduction({ version }) {
  const base = new URL(".", document.baseURI).href.replace(/\/$/, "");
  return html`<div class="line"><h1>REST API of headrace ${version}</h1><span class="end"><a class="button" href="openapi.json">openapi.json</a></span></div>
    <section class="card"><div class="body fields"><p>This is Kafka Connect's REST API, with headrace's additions: health, previews, records of topics, log lines and dead letters. Every worker of a cluster answers for all of it, and forwards changes to the leader.</p>
      <p>Bodies are JSON with the header <code>Content-Type: application/json</code>. An error has a status and a message that says what to do: <code>${'{"error_code": 404, "message": "Connector lines not found"}'}</code>. 409 with <code>Retry-After</code> means: not now, ask again. Names in paths are percent-encoded.</p>
      <p>With <code>X-Headrace-Secrets: hidden</code> an answer has no secrets, whatever its reader may see.</p></div></section>
    <section class="card"><header><h2>Examples</h2></header><div class="body fields">${EXAMPLES.map(([what, command]) => html`<div><h3>${what}</h3><pre class="example" tabindex="0">${command.replaceAll("BASE", base)}</pre></div>`)}</div></section>`;
}

/** @param {{document: any, filter: string}} props */
function Operations({ document: described, filter }) {
  /** @type {Map<string, any[]>} */
  const groups = new Map();
  for (const [path, operations] of Object.entries(described.paths)) {
    for (const method of METHODS.filter((each) => each in operations)) {
      const operation = operations[method];
      if (!`${method} ${path} ${operation.summary ?? ""}`.toLowerCase().includes(filter)) continue;
      const tag = operation.tags?.[0] ?? "other";
      groups.set(tag, [...(groups.get(tag) ?? []), { path, method, operation }]);
    }
  }
  return html`${[...groups].map(([tag, found]) => html`<section class="card operations" key=${tag}><header><h2>${tag}</h2></header>
    ${found.map((each) => html`<${Operation} key=${each.method + each.path} ...${each} schemas=${described.components.schemas} />`)}</section>`)}`;
}

const place = /** @type {Element} */ (document.getElementById("app"));
place.replaceChildren();
render(html`<${Page} />`, place);
