// SPDX-License-Identifier: Apache-2.0
// The list of connectors: filter, order, and changes of several at once.
import { changeState } from "./actions.js";
import { connectors, rates } from "./cluster.js";
import { lagText, rateText } from "./figures.js";
import { html, signal, useEffect, useMemo, useRef, useState } from "./html.js";
import { Health } from "./parts.js";
import { Sparkline } from "./plot.js";
import { may } from "./roles.js";
import { isIdle, VERDICTS } from "./rows.js";
import { to } from "./routes.js";

const ROW_PX = 36;
const SPARE = 8;
const filter = signal("");
const kind = signal("");
const order = signal(/** @type {{by: string, down: boolean}} */ ({ by: "health", down: false }));
const chosen = signal(/** @type {Set<string>} */ (new Set()));

/** @type {Record<string, (row: import("./rows.js").Row) => string | number | null>} Small ones first. */
const KEYS = {
  name: (row) => row.name,
  health: (row) => (isIdle(row) ? VERDICTS.length : VERDICTS.indexOf(row.verdict)),
  type: (row) => row.type,
  tasks: (row) => -row.tasks.length,
  rate: (row) => (row.records === null ? null : -row.records),
  lag: (row) => (row.lag === null ? null : -row.lag),
};

/** @param {import("./rows.js").Row[]} rows @param {string} text @param {string} only @param {{by: string, down: boolean}} wanted */
export function arranged(rows, text, only, wanted) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.filter((row) => (only === "" || (only === "idle" ? isIdle(row) : !isIdle(row) && row.verdict === only))
    && words.every((word) => `${row.name} ${row.type} ${row.worker ?? ""} ${row.error ?? ""}`.toLowerCase().includes(word)));
  const key = KEYS[wanted.by];
  const sorted = found.map((row) => ({ row, key: key(row) })).sort((one, other) => compared(one.key, other.key) || compared(one.row.name, other.row.name));
  return (wanted.down ? sorted.reverse() : sorted).map((each) => each.row);
}

/** @param {string | number | null} one @param {string | number | null} other What is not known is last. */
function compared(one, other) {
  if (one === other) return 0;
  if (one === null || other === null) return one === null ? 1 : -1;
  return one < other ? -1 : 1;
}

export function Connectors() {
  const all = connectors.value;
  const rows = useMemo(() => arranged(all ?? [], filter.value, kind.value, order.value), [all, filter.value, kind.value, order.value]);
  if (all === null) return html`<p class="quiet">Asking the worker …</p>`;
  const shown = new Set(rows.map((row) => row.name));
  const marked = [...chosen.value].filter((name) => shown.has(name));
  return html`
    <div class="line"><h1>Connectors</h1><span class="quiet" role="status">${rows.length === all.length ? all.length : `${rows.length} of ${all.length}`}</span>
      <span class="end">${may("editor") && html`<a class="button primary" href=${to("create")}>Create</a>`}</span></div>
    <div class="line"><input id="search" type="text" placeholder="Filter by name, worker, error ( / )" aria-label="Filter connectors" size="34" value=${filter.value}
        onInput=${(/** @type {any} */ event) => (filter.value = event.target.value)} />
      <select aria-label="Health" value=${kind.value} onChange=${(/** @type {any} */ event) => (kind.value = event.target.value)}>
        <option value="">Any health</option>${VERDICTS.map((verdict) => html`<option value=${verdict}>${verdict}</option>`)}<option value="idle">paused or stopped</option></select>
      <${Bulk} names=${marked} /></div>
    ${rows.length === 0 ? html`<p class="note">${all.length ? "No connector matches." : "There is no connector yet."}</p>`
      : html`<${VirtualList} rows=${rows} marked=${new Set(marked)} />`}`;
}

/** @param {{names: string[]}} props */
function Bulk({ names }) {
  if (!names.length) return null;
  const change = (/** @type {"pause" | "resume" | "restart"} */ wanted) => () => void changeState(wanted, names);
  return html`<span class="line"><span class="quiet">${names.length} chosen</span><button onClick=${change("pause")}>Pause</button>
    <button onClick=${change("resume")}>Resume</button><button onClick=${change("restart")}>Restart</button>
    <button class="plain" onClick=${() => (chosen.value = new Set())}>Clear</button></span>`;
}

/** Only the rows in sight are in the page. @param {{rows: import("./rows.js").Row[], marked: Set<string>}} props */
function VirtualList({ rows, marked }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(800);
  useEffect(() => {
    const element = /** @type {HTMLElement} */ (place.current);
    const resized = new ResizeObserver(() => setHeight(element.clientHeight));
    resized.observe(element);
    return () => resized.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / ROW_PX) - SPARE);
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW_PX) + SPARE);
  const all = rows.length > 0 && rows.every((row) => marked.has(row.name));
  const markAll = () => (chosen.value = all ? new Set() : new Set(rows.map((row) => row.name)));
  return html`<div class="card list" ref=${place} onScroll=${(/** @type {any} */ event) => setTop(event.target.scrollTop)} tabindex="0" role="table" aria-label="Connectors" aria-rowcount=${rows.length + 1}>
    <div class="row head" role="row"><span role="columnheader">${may("operator") ? html`<input type="checkbox" aria-label="Choose all" checked=${all} onChange=${markAll} />` : html`<span class="visually-hidden">Chosen</span>`}</span>
      <${Column} by="name" text="Name" /><${Column} by="health" text="Health" /><${Column} wide by="type" text="Type" /><${Column} wide by="tasks" text="Tasks" />
      <span role="columnheader" class="wide">Last rates</span><${Column} number by="rate" text="Records/s" /><${Column} number wide by="lag" text="Lag" /><span role="columnheader" class="wide">Last error</span></div>
    <div class="space" role="rowgroup" style=${{ height: `${rows.length * ROW_PX}px` }}>
      ${rows.slice(first, last).map((row, index) => html`<${Line} key=${row.name} row=${row} at=${first + index} marked=${marked.has(row.name)} />`)}</div></div>`;
}

/** @param {{by: string, text: string, wide?: boolean, number?: boolean}} props */
function Column({ by, text, wide, number }) {
  const { by: current, down } = order.value;
  const press = () => (order.value = { by, down: current === by && !down });
  return html`<span role="columnheader" class=${`${wide ? "wide" : ""} ${number ? "number" : ""}`} aria-sort=${current === by ? (down ? "descending" : "ascending") : "none"}>
    <button aria-pressed=${current === by} onClick=${press}>${text}${current === by ? (down ? " ↑" : " ↓") : ""}</button></span>`;
}

/** @param {{row: import("./rows.js").Row, at: number, marked: boolean}} props */
function Line({ row, at, marked }) {
  const mark = () => {
    const next = new Set(chosen.value);
    if (!next.delete(row.name)) next.add(row.name);
    chosen.value = next;
  };
  return html`<div class="row item" role="row" aria-rowindex=${at + 2} style=${{ transform: `translateY(${at * ROW_PX}px)` }}>
    <span role="cell">${may("operator") && html`<input type="checkbox" aria-label=${`Choose ${row.name}`} checked=${marked} onChange=${mark} />`}</span>
    <span role="cell"><a class="name" href=${to("connectors", row.name)} title=${row.name}>${row.name}</a></span>
    <span role="cell" title=${row.why}><${Health} row=${row} /></span><span role="cell" class="wide quiet">${row.type}</span>
    <span role="cell" class="wide">${row.running} / ${row.tasks.length}</span><span role="cell" class="wide"><${Sparkline} values=${rates.get(row.name) ?? []} /></span>
    <span role="cell" class="number">${rateText(row.records)}</span><span role="cell" class="wide number">${lagText(row.lag, row.lagUnit)}</span>
    <span role="cell" class="wide quiet" title=${row.error ?? ""}>${row.error ?? ""}</span></div>`;
}
