// SPDX-License-Identifier: Apache-2.0
// Plots: uPlot for figures over time, and a line without axes for rows of a table.
import uPlot from "../vendor/uplot.js";
import { html, useEffect, useRef } from "./html.js";

const HEIGHT = 160;
/** The least time that is shown. */
const SHORTEST_S = 300;

/**
 * @param {{label: string, summary: string, at: number[], values: (number | null)[]}} props `summary`: for those who cannot see it; `at` in seconds since the epoch
 */
export function Plot({ label, summary, at, values }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  /** @type {{current: uPlot | null}} */
  const drawn = useRef(null);
  useEffect(() => {
    const element = /** @type {HTMLElement} */ (place.current);
    const draw = () => {
      drawn.current?.destroy();
      drawn.current = new uPlot(options(label, element), plotted(at, values), element);
    };
    draw();
    const resized = new ResizeObserver(() => drawn.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    const theme = matchMedia("(prefers-color-scheme: dark)");
    theme.addEventListener("change", draw);
    addEventListener("theme", draw);
    return () => {
      resized.disconnect();
      theme.removeEventListener("change", draw);
      removeEventListener("theme", draw);
      drawn.current?.destroy();
      drawn.current = null;
    };
  }, [label]);
  useEffect(() => drawn.current?.setData(plotted(at, values)), [at, values]);
  return html`<div class="plot" ref=${place} role="img" aria-label=${`${label}: ${summary}`}></div>`;
}

/** From the first value that is known. uPlot shows years around a single point, so there are always two. @param {number[]} at @param {(number | null)[]} values */
function plotted(at, values) {
  const last = at.at(-1) ?? Date.now() / 1000;
  const first = at[values.findIndex((each) => each !== null)] ?? last;
  const from = at.findIndex((each) => each >= Math.min(first, last - SHORTEST_S));
  return at.length > 1 ? [at.slice(from), values.slice(from)] : [[last - SHORTEST_S, last], [null, null]];
}

/** @param {string} label @param {HTMLElement} element */
function options(label, element) {
  const style = getComputedStyle(element);
  const colour = (/** @type {string} */ name) => resolved(element, `var(${name})`);
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 }, font: `11px ${style.fontFamily}` };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false },
    scales: { x: { range: (/** @type {any} */ _, /** @type {number} */ least, /** @type {number} */ most) => [least, most] }, y: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [{ ...axis, space: 80, size: 30, values: (/** @type {any} */ _, /** @type {number[]} */ splits) => splits.map(clockText) }, { ...axis, size: 60 }],
    series: [{}, { label, stroke: colour("--accent"), fill: colour("--accent-soft"), width: 1.5, points: { show: isSingle } }],
  };
}

/** A single value makes no line. @param {uPlot} plot */
function isSingle(plot) {
  return plot.data[1].filter((each) => each !== null).length === 1;
}

/** @param {number} at in seconds since the epoch */
function clockText(at) {
  return new Date(at * 1000).toTimeString().slice(0, at % 60 ? 8 : 5);
}

/** A canvas knows no custom properties. @param {HTMLElement} element @param {string} value */
function resolved(element, value) {
  element.style.color = value;
  const found = getComputedStyle(element).color;
  element.style.color = "";
  return found;
}

/** @param {{values: (number | null)[]}} props */
export function Sparkline({ values }) {
  const known = values.map((each) => each ?? 0);
  if (known.length < 2) return null;
  const most = Math.max(...known, 1e-9);
  const points = known.map((each, index) => `${(index / (known.length - 1)) * 100},${19 - (each / most) * 18}`).join(" ");
  return html`<svg class="spark" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true"><polyline points=${points} /></svg>`;
}
