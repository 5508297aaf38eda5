// SPDX-License-Identifier: Apache-2.0
// A form made of the answer of a validation: groups, types, recommended values, and the words about what is wrong.
import { html, useRef } from "./html.js";
import { Fold } from "./parts.js";

export const HIDDEN = "[hidden]";
/** Properties of plugins that the configuration names, which seldom have another value than their default. */
const OF_PLUGINS = /\.converter\.|plugin\.version$/;

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
 * @param {{infos: any, values: Record<string, string | null>, change: (name: string, text: string | null) => void, isElsewhere: (name: string) => boolean}} props
 */
export function ConfigForm({ infos, values, change, isElsewhere }) {
  const wrong = mistakes(infos, values);
  const all = fieldsOf(infos).filter((each) => !isElsewhere(each.definition.name));
  /** Where each one was shown first, it stays: a field that is typed in must not move. @type {{current: Map<string, boolean>}} */
  const placed = useRef(new Map());
  const isFirst = (/** @type {any} */ each) => /** @type {boolean} */ (placed.current.get(each.definition.name));
  const comesFirst = (/** @type {any} */ each) => each.definition.name in wrong || each.definition.name in values || (each.definition.importance === "HIGH" && !OF_PLUGINS.test(each.definition.name));
  for (const each of all) if (!placed.current.has(each.definition.name)) placed.current.set(each.definition.name, comesFirst(each));
  /** @type {Map<string, any[]>} */
  const groups = new Map();
  for (const each of all.filter((one) => !isFirst(one))) {
    const group = each.definition.group ?? "Other properties";
    groups.set(group, [...(groups.get(group) ?? []), each]);
  }
  const shown = (/** @type {any} */ each) => html`<${Field} key=${each.definition.name} info=${each} text=${values[each.definition.name]} wrong=${wrong[each.definition.name]} change=${change} />`;
  return html`<div class="fields">${all.filter(isFirst).map(shown)}
    ${[...groups].map(([group, fields]) => html`<${Fold} key=${group} summary=${`${group} (${fields.length})`} open=${fields.some((each) => each.definition.name in wrong)}><div class="fields">${fields.map(shown)}</div><//>`)}</div>`;
}

/** @param {{info: any, label?: string, text: string | null | undefined, wrong: string[] | undefined, change: (name: string, text: string | null) => void}} props */
export function Field({ info, label, text, wrong, change }) {
  const { name, type, documentation, default_value: initial, required } = info.definition;
  const id = `field-${name}`;
  const changed = (/** @type {any} */ event) => change(name, event.target.value === "" ? null : event.target.value);
  const common = { id, "aria-invalid": wrong ? "true" : undefined, "aria-describedby": `${id}-help`, value: text ?? "" };
  const recommended = info.value.recommended_values ?? [];
  const choices = type === "BOOLEAN" ? ["true", "false"] : recommended;
  return html`<div class="field"><label for=${id}><span class="mono">${label ?? name}</span>${required ? html` <span class="quiet">required</span>` : ""}</label>
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
