// SPDX-License-Identifier: Apache-2.0
// A configuration as a form or as JSON, validated while it is typed, with a preview of what it would write.
import { get, send } from "./api.js";
import { ConfigForm, fieldsOf, mistakes } from "./config_form.js";
import { html, useEffect, useState } from "./html.js";
import { Card, Trouble, useAnswer } from "./parts.js";
import { Preview } from "./preview.js";
import { isOf } from "./steps.js";
import { StepsEditor } from "./steps_editor.js";

const PAUSE_MS = 350;

/**
 * The validation of a configuration: the API's answer a moment after the last change.
 * @param {string} plugin
 * @param {Record<string, string | null>} values
 */
export function useValidation(plugin, values) {
  const [found, setFound] = useState(/** @type {{infos?: any, error?: Error | null}} */ ({}));
  useEffect(() => {
    let current = true;
    const timer = setTimeout(() => {
      send("PUT", ["connector-plugins", plugin, "config", "validate"], { "connector.class": plugin, ...values }).then(
        (infos) => current && setFound({ infos, error: null }),
        (error) => current && setFound((before) => ({ ...before, error })),
      );
    }, PAUSE_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [plugin, JSON.stringify(values)]);
  return found;
}

/**
 * @param {{plugin: string, values: Record<string, string | null>, setValues: (values: Record<string, string | null>) => void, preview: () => Promise<any>, fixed?: string[], end: (wrong: number) => unknown}} props
 * `end`: the buttons, made with the number of mistakes.
 */
export function ConfigEditor({ plugin, values, setValues, preview, fixed, end }) {
  const { infos, error } = useValidation(plugin, values);
  const [asJson, setAsJson] = useState(false);
  const plugins = useAnswer((signal) => get(["connector-plugins"], { connectorsOnly: false }, signal), []).content ?? [];
  const wrong = mistakes(infos, values);
  const isStep = (/** @type {string} */ name) => isOf(name, values, "transforms") || isOf(name, values, "predicates");
  const known = new Set(fieldsOf(infos).map((each) => each.definition.name));
  const elsewhere = Object.entries(wrong).filter(([name]) => asJson || !known.has(name) || name === "transforms" || name === "predicates");
  const change = (/** @type {string} */ name, /** @type {string | null} */ text) => {
    const next = { ...values };
    if (text === null) delete next[name];
    else next[name] = text;
    setValues(next);
  };
  const count = Object.keys(wrong).length;
  const editing = { values, setValues, infos, wrong, plugins, change };
  return html`<div class="split"><${Card} title="Configuration" end=${html`<button aria-pressed=${asJson} onClick=${() => setAsJson(!asJson)}>${asJson ? "As a form" : "As JSON"}</button>`}>
      <div class="fields"><${Trouble} error=${error} />
      ${infos && html`<div class=${`note ${count ? "warn" : "good"}`} role="status" data-test="mistakes">${count ? `${count} ${count === 1 ? "property is" : "properties are"} wrong` : "The configuration is valid."}</div>`}
      ${elsewhere.map(([name, texts]) => html`<div class="note error"><code>${name}</code>: ${texts.join(" ")}</div>`)}
      ${asJson ? html`<${JsonText} values=${values} setValues=${setValues} />` : infos ? html`<${ConfigForm} infos=${infos} values=${values} change=${change} isElsewhere=${(/** @type {string} */ name) => isStep(name) || (fixed ?? []).includes(name)} />` : html`<p class="quiet">Asking for the plugin's properties …</p>`}
      ${!asJson && infos && html`<${StepsEditor} list="transforms" editing=${editing} /><${StepsEditor} list="predicates" editing=${editing} /><${Others} values=${values} isElsewhere=${(/** @type {string} */ name) => known.has(name) || isStep(name)} change=${change} />`}
      <div class="line foot">${end(count)}</div></div><//>
    <${Preview} ask=${preview} stamp=${JSON.stringify(values)} /></div>`;
}

/** Properties that the plugin does not define. @param {{values: Record<string, string | null>, isElsewhere: (name: string) => boolean, change: (name: string, text: string | null) => void}} props */
function Others({ values, isElsewhere, change }) {
  const [name, setName] = useState("");
  const add = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (name && !(name in values)) change(name, "");
    setName("");
  };
  const others = Object.keys(values).filter((each) => !isElsewhere(each) && each !== "connector.class" && each !== "name");
  return html`${others.map((each) => html`<div class="field" key=${each}><label class="mono" for=${`other-${each}`}>${each}</label><div class="line"><input class="grow" type="text" id=${`other-${each}`} value=${values[each] ?? ""}
      onInput=${(/** @type {any} */ event) => change(each, event.target.value)} /><button onClick=${() => change(each, null)} aria-label=${`Remove ${each}`}>Remove</button></div></div>`)}
    <form class="line" onSubmit=${add}><input type="text" size="28" placeholder="Another property" aria-label="Name of another property" value=${name} onInput=${(/** @type {any} */ event) => setName(event.target.value)} /><button>Add</button></form>`;
}

/** @param {{values: Record<string, string | null>, setValues: (values: Record<string, string | null>) => void}} props */
function JsonText({ values, setValues }) {
  const [text, setText] = useState(() => JSON.stringify(values, null, 2));
  const [error, setError] = useState("");
  const typed = (/** @type {any} */ event) => {
    setText(event.target.value);
    try {
      const found = JSON.parse(event.target.value);
      if (typeof found !== "object" || found === null || Array.isArray(found)) throw new Error("A configuration is a JSON object");
      setError("");
      setValues(Object.fromEntries(Object.entries(found).map(([name, value]) => [name, value === null || typeof value === "string" ? value : JSON.stringify(value)])));
    } catch (problem) {
      setError(/** @type {Error} */ (problem).message);
    }
  };
  return html`<div class="field"><textarea rows="18" spellcheck=${false} aria-label="Configuration as JSON" aria-invalid=${error ? "true" : undefined} value=${text} onInput=${typed}></textarea>${error && html`<div class="wrong">${error}</div>`}</div>`;
}
