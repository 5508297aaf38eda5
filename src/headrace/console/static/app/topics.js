// SPDX-License-Identifier: Apache-2.0
// A connector's topics, and records of one of them, decoded by the connector's converters.
import { get } from "./api.js";
import { bytesText, countText, jsonText, timeText } from "./figures.js";
import { html, useState } from "./html.js";
import { Card, download, Trouble, useAnswer } from "./parts.js";
import { part } from "./preview.js";
import { may } from "./roles.js";

const MOST = 50;

/** @param {{name: string, role: string | null}} props */
export function Topics({ name, role }) {
  const found = useAnswer((signal) => get(["connectors", name, "topics", "statistics"], {}, signal), [name]);
  const [topic, setTopic] = useState("");
  const topics = found.content?.topics ?? [];
  return html`<${Trouble} error=${found.error} retry=${found.again} />
    <${Card} title="Topics" padded=${false} end=${html`<button onClick=${found.again}>Read again</button>`}>
      ${found.content && !topics.length && html`<div class="body quiet">It has used no topic yet.</div>`}
      <div class="scroll" tabindex="0" role="region" aria-label="Table"><table><tbody>${topics.map((/** @type {any} */ each) => html`<tr key=${each.topic}><td>${may("editor", role) ? html`<button class="link" onClick=${() => setTopic(each.topic)}>${each.topic}</button>` : each.topic} ${each.error && html`<span class="quiet">${each.error}</span>`}</td><td class="short quiet">${each.direction}</td>
        <td class="short number">${countText(each.partitions)} <span class="quiet">${each.partitions === 1 ? "partition" : "partitions"}</span></td><td class="short number">${countText(each.records)} <span class="quiet">records</span></td><td class="short number">${bytesText(each.bytes)}</td></tr>`)}</tbody></table></div><//>
    ${topic && html`<${Records} key=${topic} name=${name} topic=${topic} />`}`;
}

/** @param {{name: string, topic: string}} props */
function Records({ name, topic }) {
  const [from, setFrom] = useState("tail");
  const [typed, setTyped] = useState("tail");
  const found = useAnswer((signal) => get(["connectors", name, "topics", topic, "records"], { from, limit: MOST }, signal), [name, topic, from]);
  const records = found.content?.records ?? [];
  const start = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (typed === from) found.again();
    else setFrom(typed);
  };
  const end = html`<form class="line" onSubmit=${start}><label for="start">From</label><input id="start" type="text" size="12" value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} title="begin, end, tail, an offset, or 0:17,1:4" /><button>Read</button></form>
    ${found.content && html`<button onClick=${() => setFrom(found.content.positions)}>Next</button>`}<button disabled=${!records.length} onClick=${() => download(JSON.stringify(records, null, 2), `${topic}.json`)}>Download</button>`;
  return html`<${Card} title=${`Records of ${topic}`} end=${end} padded=${false}>
    <${Trouble} error=${found.error} />${found.content && !records.length && html`<div class="body quiet">There is none from there on.</div>`}
    <div class="scroll" tabindex="0" role="region" aria-label="Table"><table><thead><tr><th class="number">Partition</th><th class="number">Offset</th><th>Time (UTC)</th><th>Key</th><th>Value</th></tr></thead><tbody>
    ${records.map((/** @type {any} */ each) => html`<tr key=${`${each.partition}-${each.offset}`}><td class="number">${each.partition}</td><td class="number">${each.offset}</td><td class="short">${timeText(each.timestamp)}</td>
      <td class="mono">${part(each.key)}</td><td class="mono" title=${each.headers.length ? jsonText(each.headers.map((/** @type {any} */ header) => [header.key, header.value.value])) : ""}>${part(each.value)}</td></tr>`)}</tbody></table></div><//>`;
}
