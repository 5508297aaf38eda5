// SPDX-License-Identifier: Apache-2.0
// Transformations and predicates in the form: added, put into another order and removed, each with its own properties.
import { Field, fieldsOf } from "./config_form.js";
import { html, useState } from "./html.js";
import { Fold } from "./parts.js";
import { shortName } from "./pipeline.js";
import { added, aliases, moved, ownerOf, removed } from "./steps.js";

/** `one` is also the type of such plugins. @type {Record<import("./steps.js").List, {title: string, one: string, none: string}>} */
const TEXTS = {
  transforms: { title: "Transformations", one: "transformation", none: "Records stay as they are." },
  predicates: { title: "Predicates", one: "predicate", none: "A transformation can name one, and is then applied to the records that match." },
};

/**
 * @typedef {object} Editing
 * @property {import("./steps.js").Values} values
 * @property {(values: import("./steps.js").Values) => void} setValues
 * @property {any} infos of the validation
 * @property {Record<string, string[]>} wrong
 * @property {any[]} plugins all that the worker has
 * @property {(name: string, text: string | null) => void} change
 */

/** @param {{list: import("./steps.js").List, editing: Editing}} props */
export function StepsEditor({ list, editing }) {
  const { values, setValues, plugins } = editing;
  const [opened, setOpened] = useState("");
  const { title, one, none } = TEXTS[list];
  const known = aliases(values, list);
  const classes = plugins.filter((each) => each.type === one && !each.error).map((each) => each.class);
  const add = (/** @type {any} */ event) => {
    const type = event.target.value;
    event.target.value = "";
    if (!type) return;
    const [next, alias] = added(values, list, type);
    setOpened(alias);
    setValues(next);
  };
  return html`<fieldset class="steps" data-test=${list}><legend>${title}</legend>
    ${known.length ? html`<ol>${known.map((alias, index) => html`<${Step} key=${alias} list=${list} alias=${alias} index=${index} count=${known.length} open=${alias === opened} editing=${editing} />`)}</ol>` : html`<div class="quiet">${none}</div>`}
    <select aria-label=${`Add a ${one}`} value="" onChange=${add}><option value="">Add a ${one} …</option>${classes.map((each) => html`<option value=${each}>${shortName(each)}</option>`)}</select></fieldset>`;
}

/** The properties of every transformation come after its own. @param {string} name */
function rank(name) {
  if (name.endsWith(".type")) return 0;
  return /\.(predicate|negate|plugin\.version)$/.test(name) ? 2 : 1;
}

/** One of the predicates that there are. @param {any} info @param {import("./steps.js").Values} values */
function withPredicates(info, values) {
  const known = info.definition.name.endsWith(".predicate") ? aliases(values, "predicates") : [];
  return known.length ? { ...info, value: { ...info.value, recommended_values: known } } : info;
}

/** @param {{list: import("./steps.js").List, alias: string, index: number, count: number, open: boolean, editing: Editing}} props */
function Step({ list, alias, index, count, open, editing }) {
  const { values, setValues, infos, wrong, change } = editing;
  const prefix = `${list}.${alias}.`;
  const fields = fieldsOf(infos).filter((each) => ownerOf(each.definition.name, values, list) === alias).map((each) => withPredicates(each, values));
  fields.sort((one, other) => rank(one.definition.name) - rank(other.definition.name));
  const defined = new Set(fields.map((each) => each.definition.name));
  const others = Object.keys(values).filter((name) => ownerOf(name, values, list) === alias && !defined.has(name) && name !== `${prefix}type`);
  const mistaken = Object.keys(wrong).some((name) => ownerOf(name, values, list) === alias);
  return html`<li class="step"><div class="line"><span class="quiet">${index + 1}</span><strong class="mono">${alias}</strong><span class="quiet">${shortName(values[`${prefix}type`] ?? "")}</span>
      <span class="end"><button disabled=${index === 0} aria-label=${`Move ${alias} up`} onClick=${() => setValues(moved(values, list, alias, -1))}>↑</button>
      <button disabled=${index === count - 1} aria-label=${`Move ${alias} down`} onClick=${() => setValues(moved(values, list, alias, 1))}>↓</button>
      <button aria-label=${`Remove ${alias}`} onClick=${() => setValues(removed(values, list, alias))}>Remove</button></span></div>
    <${Fold} summary="Properties" open=${open || mistaken}><div class="fields">
      ${fields.map((each) => html`<${Field} key=${each.definition.name} info=${each} label=${each.definition.name.slice(prefix.length)} text=${values[each.definition.name]} wrong=${wrong[each.definition.name]} change=${change} />`)}
      ${others.map((name) => html`<div class="field" key=${name}><label class="mono" for=${`step-${name}`}>${name.slice(prefix.length)}</label><input type="text" id=${`step-${name}`} value=${values[name] ?? ""} onInput=${(/** @type {any} */ event) => change(name, event.target.value)} /></div>`)}</div><//></li>`;
}
