// SPDX-License-Identifier: Apache-2.0
// Throughput and lag over the last hour, which workers keep: of one connector, or of all together.
import { lagText, rateText } from "./figures.js";
import { html, useMemo } from "./html.js";
import { Card } from "./parts.js";
import { Plot } from "./plot.js";
import { useRepeated } from "./repeated.js";

/** Workers add a value every 15 seconds. */
const PERIOD_MS = 15_000;

/** @param {{name?: string, lag?: boolean}} props `name`: of a connector, by default of all; `lag`: whether there can be one */
export function LastHour({ name, lag = true }) {
  const { content: past, error } = useRepeated(name === undefined ? ["history"] : ["connectors", name, "history"], PERIOD_MS);
  const at = useMemo(() => timesOf(past), [past]);
  const missing = Object.entries(past?.missing ?? {});
  return html`${error && html`<div class="note warn">No new values of the last hour: ${error.message}</div>`}
    ${missing.length > 0 && html`<div class="note warn">Without the values of ${missing.map(([worker, reason]) => `${worker}: ${reason}`).join("; ")}</div>`}
    <div class="grid"><${Past} title="Records per second" at=${at} values=${past?.records_per_second} text=${rateText} />
      ${lag && html`<${Past} title=${name === undefined ? "Lag of sinks in records" : "Lag in records"} at=${at} values=${past?.lag} text=${lagInRecords} />`}</div>`;
}

/** @param {{title: string, at: number[], values?: (number | null)[], text: (value: number | null) => string}} props */
function Past({ title, at, values, text }) {
  const known = /** @type {number[]} */ ((values ?? []).filter((each) => each !== null));
  const summary = known.length ? `now ${text(values?.at(-1) ?? null)}, at most ${text(Math.max(...known))} in the last hour` : values ? "none in the last hour" : "";
  return html`<${Card} title=${title} end=${html`<span class="quiet">${summary}</span>`}><${Plot} label=${title} summary=${summary} at=${at} values=${values ?? NONE} /><//>`;
}

/** @type {(number | null)[]} */
const NONE = [];

/** @param {number | null} lag */
function lagInRecords(lag) {
  return lagText(lag, "records");
}

/** @param {any} past an answer about the history @returns {number[]} the time of each value, in seconds since the epoch */
function timesOf(past) {
  const count = past?.until ? past.records_per_second.length : 0; // 0 until a worker has its first value
  return Array.from({ length: count }, (_, index) => (past.until - (count - 1 - index) * past.period) / 1000);
}
