// SPDX-License-Identifier: Apache-2.0
// A form made of the answer of a validation: groups, types, recommended values, and the words about what is wrong.
import { html } from "./html.js";

export const HIDDEN = "[hidden]";

/** @param {any} infos @returns {any[]} those that are to be seen, with a definition */
export function fieldsOf(infos) {
  return (infos?.configs ?? []).filter((/** @type {any} */ each) => each.definition && each.value.visible !== false);
}

/** Mistakes by property; a secret that stays as it is was not sent, so nothing can be wrong with it. @param {any} infos @param {Record<string, string | null>} values */
export function mistakes(infos, values) {
  /** @type {Record<string, string[]>} */
  const found = {};
  for (const each of infos?.configs ?? []) {
    const { name, errors } = each.value ?? {};
    if (errors?.length && values[name] !== HIDDEN) found[name] = errors;
  }
  return found;
}

/**
 * @param {{infos: any, values: Record<string, string | null>, change: (name: string, text: string | null) => void, fixed?: string[]}} props
 */
export function ConfigForm({ infos, values, change, fixed = [] }) {
  const wrong = mistakes(infos, values);
  const all = fieldsOf(infos).filter((each) => !fixed.includes(each.definition.name));
  const isFirst = (/** @type {any} */ each) => each.definition.required || each.definition.importance === "HIGH" || each.definition.name in wrong || each.definition.name in values;
  /** @type {Map<string, any[]>} */
  const groups = new Map();
  for (const each of all.filter((one) => !isFirst(one))) {
    const group = each.definition.group ?? "Other properties";
    groups.set(group, [...(groups.get(group) ?? []), each]);
  }
  const shown = (/** @type {any} */ each) => html`<${Field} key=${each.definition.name} info=${each} text=${values[each.definition.name]} wrong=${wrong[each.definition.name]} change=${change} />`;
  return html`<div class="fields">${all.filter(isFirst).map(shown)}
    ${[...groups].map(([group, fields]) => html`<details key=${group}><summary>${group} (${fields.length})</summary><div class="fields">${fields.map(shown)}</div></details>`)}</div>`;
}

/** @param {{info: any, text: string | null | undefined, wrong: string[] | undefined, change: (name: string, text: string | null) => void}} props */
function Field({ info, text, wrong, change }) {
  const { name, type, documentation, default_value: initial, required } = info.definition;
  const id = `field-${name}`;
  const changed = (/** @type {any} */ event) => change(name, event.target.value === "" ? null : event.target.value);
  const common = { id, "aria-invalid": wrong ? "true" : undefined, "aria-describedby": `${id}-help`, value: text ?? "" };
  const recommended = info.value.recommended_values ?? [];
  const choices = type === "BOOLEAN" ? ["true", "false"] : recommended;
  return html`<div class="field"><label for=${id}><span class="mono">${name}</span>${required ? html` <span class="quiet">required</span>` : ""}</label>
    ${choices.length && choices.length < 40
      ? html`<select ...${common} onChange=${changed}><option value="">${initial === null ? "" : `default: ${initial}`}</option>${extra(choices, text).map((each) => html`<option value=${each}>${each}</option>`)}</select>`
      : html`<input ...${common} type=${type === "PASSWORD" ? "password" : "text"} autocomplete="off" spellcheck=${false} placeholder=${initial ?? ""} onInput=${changed} />`}
    ${(wrong ?? []).map((each) => html`<div class="wrong">${each}</div>`)}
    <div class="help" id=${`${id}-help`}>${documentation}</div></div>`;
}

/** @param {string[]} choices @param {string | null | undefined} text */
function extra(choices, text) {
  return text && !choices.includes(text) ? [text, ...choices] : choices;
}
