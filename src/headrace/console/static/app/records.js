// SPDX-License-Identifier: Apache-2.0
// Records of a topic from a place or a time on, decoded by the connector's converters; filtered, and downloaded.
import { get } from "./api.js";
import { countText, jsonText, timeText } from "./figures.js";
import { html, useState } from "./html.js";
import { Card, download, Trouble, useAnswer } from "./parts.js";
import { part } from "./preview.js";

const COUNTS = [50, 200, 1000];
/** By the API's word, or by what is typed. @type {[string, string][]} */
const BEGINNINGS = [["tail", "last records"], ["begin", "first records"], ["offset", "offset"], ["time", "time (UTC)"]];

/** By the API's word. @type {[string, string][]} */
const DECODINGS = [["connector", "the connector's converters"], ["text", "text"], ["json", "JSON"], ["raw", "bytes alone"]];

/** @typedef {{from: string, partition: string, limit: number, decode?: string, raw?: boolean}} Choice `partition`: empty for all */

/** @param {{name: string, topic: string, partitions: number}} props */
export function Records({ name, topic, partitions }) {
  const [choice, setChoice] = useState(/** @type {Choice} */ ({ from: "tail", partition: "", limit: COUNTS[0] }));
  const [filter, setFilter] = useState("");
  const found = useAnswer((signal) => get(["connectors", name, "topics", topic, "records"], choice, signal), [name, topic, choice]);
  const records = found.content?.records ?? [];
  const shown = records.filter((/** @type {any} */ each) => textOf(each).includes(filter.toLowerCase()));
  const lines = () => shown.map((/** @type {any} */ each) => `${JSON.stringify(each)}\n`).join("");
  const said = !found.content ? "Reading …" : !records.length ? "There is none from there on." : !shown.length ? "None of those that were read has this text." : "";
  const end = html`<input type="text" size="16" aria-label="Filter records" placeholder="Filter by text" value=${filter} onInput=${(/** @type {any} */ event) => setFilter(event.target.value)} />
    <span class="quiet" role="status">${countText(shown.length)} of ${countText(records.length)}</span>
    <button disabled=${!shown.length} onClick=${() => download(lines(), `${topic}.jsonl`)}>Download</button>`;
  return html`<${Card} title=${`Records of ${topic}`} end=${end} padded=${false}>
    <div class="body"><${Beginning} partitions=${partitions} choose=${setChoice} next=${found.content && (() => setChoice({ ...choice, from: found.content.positions }))} /></div>
    <${Trouble} error=${found.error} />${said && !found.error && html`<div class="body quiet">${said}</div>`}
    <div class="scroll" tabindex="0" role="region" aria-label="Table"><table><thead><tr><th class="number">Partition</th><th class="number">Offset</th><th>Time (UTC)</th><th>Key</th><th>Value</th></tr></thead><tbody>
    ${shown.map((/** @type {any} */ each) => html`<tr key=${`${each.partition}-${each.offset}`}><td class="number">${each.partition}</td><td class="number">${each.offset}</td><td class="short">${timeText(each.timestamp)}</td>
      <td class="mono key">${part(each.key)}</td><td class="mono" title=${headersOf(each)}>${part(each.value)}</td></tr>`)}</tbody></table></div><//>`;
}

/** The form that says where to begin. @param {{partitions: number, choose: (choice: Choice) => void, next: (() => void) | null}} props */
function Beginning({ partitions, choose, next }) {
  const [kind, setKind] = useState("tail");
  const [offset, setOffset] = useState("0");
  const [time, setTime] = useState(() => timeText(Date.now() - 3_600_000).replace(" ", "T"));
  const [partition, setPartition] = useState("");
  const [limit, setLimit] = useState(COUNTS[0]);
  const [decoding, setDecoding] = useState("connector");
  const from = kind === "offset" ? offset : kind === "time" ? `${time}Z` : kind;
  const read = (/** @type {Event} */ event) => {
    event.preventDefault();
    choose({ from, partition, limit, ...(decoding === "raw" ? { raw: true } : { decode: decoding }) });
  };
  const value = (/** @type {(text: string) => void} */ set) => (/** @type {any} */ event) => set(event.target.value);
  return html`<form class="line" onSubmit=${read}>
    <label for="beginning">From</label><select id="beginning" value=${kind} onChange=${value(setKind)}>${BEGINNINGS.map(([key, text]) => html`<option value=${key}>${text}</option>`)}</select>
    ${kind === "offset" && html`<input type="number" min="0" required aria-label="Offset" value=${offset} onInput=${value(setOffset)} />`}
    ${kind === "time" && html`<input type="datetime-local" step="1" required aria-label="Time (UTC)" value=${time} onInput=${value(setTime)} />`}
    <label for="partition">Partition</label><select id="partition" value=${partition} onChange=${value(setPartition)}><option value="">all</option>${Array.from({ length: partitions }, (_, number) => html`<option value=${number}>${number}</option>`)}</select>
    <label for="count">At most</label><select id="count" value=${limit} onChange=${value((text) => setLimit(Number(text)))}>${COUNTS.map((each) => html`<option value=${each}>${each}</option>`)}</select>
    <label for="decoding">Decoded by</label><select id="decoding" value=${decoding} onChange=${value(setDecoding)}>${DECODINGS.map(([key, text]) => html`<option value=${key}>${text}</option>`)}</select>
    <button>Read</button>${next && html`<button type="button" onClick=${next}>Next</button>`}</form>`;
}

/** What the filter looks at, in lower case. @param {any} record */
function textOf(record) {
  return `${part(record.key)} ${part(record.value)} ${headersOf(record)}`.toLowerCase();
}

/** @param {any} record */
function headersOf(record) {
  return record.headers.length ? jsonText(record.headers.map((/** @type {any} */ header) => [header.key, header.value.value])) : "";
}
