// SPDX-License-Identifier: Apache-2.0
// What each step of a connector has done with its records, of all tasks together, and how fast.
import { countText, rateText } from "./figures.js";
import { useEffect, useState } from "./html.js";
import { useRepeated } from "./repeated.js";

const PERIOD_MS = 5000;
/** Answers whose first and last one make a rate. */
const MOST = 4;

/** As the API has it, of one task or of all. @typedef {{kind: string, alias: string | null, records_in: number | null, records_out: number | null, filtered: number | null, errors: number, retries: number}} Step */
/** @typedef {{at: number, steps: Map<string, Step>}} Sample `at`: by `performance.now()` */
/** @typedef {Step & {rate: number | null}} LiveStep */

/** By key, and empty until there is an answer. @param {string} name @returns {Map<string, LiveStep>} */
export function useSteps(name) {
  const { content } = useRepeated(["connectors", name, "health"], PERIOD_MS);
  const [samples, setSamples] = useState(/** @type {Sample[]} */ ([]));
  useEffect(() => setSamples([]), [name]);
  useEffect(() => {
    if (content?.name === name) setSamples((before) => followed(before, { at: performance.now(), steps: summed(content.tasks) }));
  }, [content]);
  return withRates(samples);
}

/** @param {string} kind @param {string | null} [alias] */
export function keyOf(kind, alias = null) {
  return alias === null ? kind : `${kind} ${alias}`;
}

/** @param {{steps?: Step[] | null}[]} tasks @returns {Map<string, Step>} */
export function summed(tasks) {
  const found = new Map();
  for (const step of tasks.flatMap((task) => task.steps ?? [])) {
    const key = keyOf(step.kind, step.alias);
    const before = found.get(key);
    found.set(key, before ? added(before, step) : step);
  }
  return found;
}

/** @param {Step} one @param {Step} other @returns {Step} */
function added(one, other) {
  const sum = (/** @type {number | null} */ first, /** @type {number | null} */ second) => (first === null || second === null ? null : first + second);
  return {
    ...one,
    records_in: sum(one.records_in, other.records_in),
    records_out: sum(one.records_out, other.records_out),
    filtered: sum(one.filtered, other.filtered),
    errors: one.errors + other.errors,
    retries: one.retries + other.retries,
  };
}

/** The newest samples; what was before an attempt that began anew is of no use. @param {Sample[]} before @param {Sample} next */
function followed(before, next) {
  const last = before.at(-1);
  const begunAnew = last && [...last.steps].some(([key, step]) => moved(step) > moved(next.steps.get(key)));
  return begunAnew ? [next] : [...before, next].slice(-MOST);
}

/** Records that left a step, or came to the last one. @param {Step | undefined} step */
function moved(step) {
  return step?.records_out ?? step?.records_in ?? 0;
}

/** @param {Sample[]} samples @returns {Map<string, LiveStep>} */
function withRates(samples) {
  const [first, last] = [samples[0], samples.at(-1)];
  return new Map([...(last?.steps ?? [])].map(([key, step]) => {
    const rate = first && last && last.at > first.at ? ((moved(step) - moved(first.steps.get(key))) * 1000) / (last.at - first.at) : null;
    return [key, { ...step, rate }];
  }));
}

/** @param {LiveStep} step */
export function rateOf(step) {
  return `${rateText(step.rate)} records/s`;
}

/** @param {LiveStep} step */
export function totalsOf(step) {
  if (step.records_in === null || step.records_out === null) return `${countText(moved(step))} records`;
  return step.records_in === step.records_out ? `${countText(step.records_in)} records` : `${countText(step.records_in)} in, ${countText(step.records_out)} out`;
}

/** @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${countText(count)} ${count === 1 ? one : many}`;
}
