// SPDX-License-Identifier: Apache-2.0
// A connector's topics, with their sizes.
import { get } from "./api.js";
import { bytesText, countText } from "./figures.js";
import { html, useState } from "./html.js";
import { Card, Trouble, useAnswer } from "./parts.js";
import { Records } from "./records.js";
import { may } from "./roles.js";

/** @param {{name: string, role: string | null}} props */
export function Topics({ name, role }) {
  const found = useAnswer((signal) => get(["connectors", name, "topics", "statistics"], {}, signal), [name]);
  const [topic, setTopic] = useState("");
  const topics = found.content?.topics ?? [];
  const chosen = topics.find((/** @type {any} */ each) => each.topic === topic);
  return html`<${Trouble} error=${found.error} retry=${found.again} />
    <${Card} title="Topics" padded=${false} end=${html`<button onClick=${found.again}>Read again</button>`}>
      ${found.content && !topics.length && html`<div class="body quiet">It has used no topic yet.</div>`}
      <div class="scroll" tabindex="0" role="region" aria-label="Table"><table><tbody>${topics.map((/** @type {any} */ each) => html`<tr key=${each.topic}><td>${may("editor", role) ? html`<button class="link" onClick=${() => setTopic(each.topic)}>${each.topic}</button>` : each.topic} ${each.error && html`<span class="quiet">${each.error}</span>`}</td><td class="short quiet">${each.direction}</td>
        <td class="short number">${countText(each.partitions)} <span class="quiet">${each.partitions === 1 ? "partition" : "partitions"}</span></td><td class="short number">${countText(each.records)} <span class="quiet">records</span></td><td class="short number">${bytesText(each.bytes)}</td></tr>`)}</tbody></table></div><//>
    ${chosen && html`<${Records} key=${topic} name=${name} topic=${topic} partitions=${chosen.partitions ?? 0} />`}`;
}
