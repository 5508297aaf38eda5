// SPDX-License-Identifier: Apache-2.0
// One operation of the API: its parameters, body, answers, and the shapes of their JSON.
import { html, useState } from "../app/html.js";

const DEEPEST = 6;

/** @param {{path: string, method: string, operation: any, schemas: Record<string, any>}} props */
export function Operation({ path, method, operation, schemas }) {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${(/** @type {any} */ event) => setOpen(event.target.open)}><summary><span class=${`method ${method}`}>${method.toUpperCase()}</span><code>${path}</code><span class="quiet">${operation.summary}</span></summary>
    ${open && html`<div><${Parameters} parameters=${operation.parameters ?? []} /><${Body} body=${operation.requestBody} schemas=${schemas} />
      ${Object.entries(operation.responses).map(([status, answer]) => html`<${Answer} key=${status} status=${status} answer=${answer} schemas=${schemas} />`)}</div>`}</details>`;
}

/** @param {{parameters: any[]}} props */
function Parameters({ parameters }) {
  if (!parameters.length) return null;
  return html`<table><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${parameters.map((each) => html`<tr><td class="mono">${each.name}${each.required ? " *" : ""}</td><td>${each.in}</td>
    <td class="mono">${typeText(each.schema)}</td><td>${each.description ?? ""}${each.schema?.default !== undefined && html` <span class="quiet">Default: ${String(each.schema.default)}</span>`}</td></tr>`)}</tbody></table>`;
}

/** @param {{body: any, schemas: Record<string, any>}} props */
function Body({ body, schemas }) {
  const schema = body?.content?.["application/json"]?.schema;
  return schema ? html`<div><h3>Body</h3><pre class="example" tabindex="0">${shape(schema, schemas)}</pre></div>` : null;
}

/** @param {{status: string, answer: any, schemas: Record<string, any>}} props */
function Answer({ status, answer, schemas }) {
  const schema = (answer.content?.["application/json"] ?? answer.content?.["text/event-stream"])?.schema;
  const good = status < "400";
  return html`<div><h3>${status} <span class="quiet">${answer.description}</span></h3>${schema && good && html`<pre class="example" tabindex="0">${shape(schema, schemas)}</pre>`}</div>`;
}

/** @param {any} schema */
function typeText(schema) {
  if (!schema) return "";
  if (schema.anyOf) return schema.anyOf.map(typeText).join(" or ");
  return [schema.type ?? ""].flat().join(" or ");
}

/** The schema as JSON with types in the place of values. @param {any} schema @param {Record<string, any>} schemas */
function shape(schema, schemas) {
  const example = resolve(schema, schemas).examples?.[0];
  return JSON.stringify(example ?? outline(schema, schemas, 0), null, 2);
}

/** @param {any} schema @param {Record<string, any>} schemas */
function resolve(schema, schemas) {
  return schema.$ref ? schemas[schema.$ref.split("/").pop()] ?? {} : schema;
}

/** @param {any} given @param {Record<string, any>} schemas @param {number} depth @returns {any} */
function outline(given, schemas, depth) {
  const schema = resolve(given, schemas);
  if (depth > DEEPEST) return "…";
  const below = (/** @type {any} */ each) => outline(each, schemas, depth + 1);
  if (schema.anyOf) return below(schema.anyOf[0]);
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.properties) return Object.fromEntries(Object.entries(schema.properties).map(([name, each]) => [schema.required?.includes(name) ? name : `${name}?`, below(each)]));
  if (schema.additionalProperties && schema.additionalProperties !== true) return { "<name>": below(schema.additionalProperties) };
  if (schema.items) return [below(schema.items)];
  return typeText(schema) || "any";
}
