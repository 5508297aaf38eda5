// SPDX-License-Identifier: Apache-2.0
// Dead letters of all connectors that have a dead letter topic: how many are pending, and why the most of them failed.
import { get } from "./api.js";
import { countText, timeText } from "./figures.js";
import { html } from "./html.js";
import { Card, Figures, Trouble, useAnswer } from "./parts.js";
import { shortName } from "./pipeline.js";
import { to } from "./routes.js";
import { sum } from "./rows.js";

const TOPIC = "errors.deadletterqueue.topic.name";
/** Each answer reads a topic, so a few are asked for at a time. */
const AT_ONCE = 4;

/** @typedef {{name: string, topic: string, letters: any, error: string | null}} Found */

export function AllDeadLetters() {
  const found = useAnswer(pending, []);
  const all = /** @type {Found[]} */ (found.content ?? []);
  const shown = [...all].sort((one, other) => (other.letters?.matching ?? 0) - (one.letters?.matching ?? 0) || (one.name < other.name ? -1 : 1));
  return html`<div class="line"><h1>Dead letters</h1><span class="quiet">pending, of all connectors</span></div><${Trouble} error=${found.error} retry=${found.again} />
    ${!found.content && !found.error ? html`<p class="quiet">Reading the dead letter topics …</p>` : html`
    <section class="card"><div class="body"><${Figures} figures=${[["Pending", countText(sum(all.map((each) => each.letters?.matching)))],
      ["Connectors with a dead letter topic", countText(all.length)], ["Of these with pending letters", countText(all.filter((each) => each.letters?.matching).length)]]} /></div></section>
    <${Card} title="By connector" padded=${false} end=${html`<button onClick=${found.again}>Read again</button>`}>
      ${!all.length ? html`<div class="body quiet">No connector has a dead letter topic: <code>${TOPIC}</code> sets one.</div>`
        : html`<div class="scroll" tabindex="0" role="region" aria-label="Dead letters by connector"><table><thead><tr><th>Connector</th><th class="number">Pending</th><th>Most frequent cause</th><th>Newest (UTC)</th></tr></thead>
          <tbody>${shown.map((each) => html`<${Line} key=${each.name} found=${each} />`)}</tbody></table></div>`}<//>`}`;
}

/** @param {{found: Found}} props */
function Line({ found }) {
  const groups = [...(found.letters?.groups ?? [])].sort((one, other) => other.count - one.count);
  const [first] = groups;
  return html`<tr><td class="name"><a href=${to("connectors", found.name, "dead-letters")}>${found.name}</a><div class="quiet mono">${found.topic}</div></td>
    <td class="number"><strong>${countText(found.letters?.matching)}</strong>${found.letters && !found.letters.complete ? " or more" : ""}</td>
    <td>${found.error ? html`<span class="removed">${found.error}</span>` : first && html`<span class="tag">${first.stage}</span> <strong title=${first.exception}>${shortName(first.exception)}</strong> ${first.message}
      ${groups.length > 1 && html`<div class="quiet">and ${groups.length - 1} other ${groups.length === 2 ? "cause" : "causes"}</div>`}`}</td>
    <td class="short quiet">${first ? timeText(Math.max(...groups.map((each) => each.newest ?? 0))) : ""}</td></tr>`;
}

/** @param {AbortSignal} signal @returns {Promise<Found[]>} */
async function pending(signal) {
  const known = await get(["connectors"], { expand: "info" }, signal);
  const waiting = Object.entries(known).filter(([, { info }]) => info?.config[TOPIC]).map(([name, { info }]) => ({ name, topic: info.config[TOPIC] }));
  /** @type {Found[]} */
  const found = [];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) found.push(await lettersOf(next.name, next.topic, signal));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

/** @param {string} name @param {string} topic @param {AbortSignal} signal @returns {Promise<Found>} */
async function lettersOf(name, topic, signal) {
  try {
    return { name, topic, letters: await get(["connectors", name, "dead-letters"], { limit: 0 }, signal), error: null };
  } catch (error) {
    return { name, topic, letters: null, error: /** @type {Error} */ (error).message };
  }
}
