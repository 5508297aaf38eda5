// SPDX-License-Identifier: Apache-2.0
// What lists and figures show, made of the answer of GET /connectors?expand=status&expand=health. Pure.

/**
 * A connector, summed over its tasks; null is unknown.
 * @typedef {object} Row
 * @property {string} name
 * @property {string} type
 * @property {string} state
 * @property {string} verdict
 * @property {string} why
 * @property {string | null} worker
 * @property {number} running
 * @property {number} failed
 * @property {any[]} tasks of the status, each with its `health`
 * @property {number | null} records
 * @property {number | null} bytes
 * @property {number | null} lag
 * @property {string | null} lagUnit
 * @property {string | null} error the newest error's text
 */

export const VERDICTS = ["failed", "stalled", "degraded", "healthy"];
const PAUSED = ["PAUSED", "STOPPED"];

/**
 * @param {Record<string, any>} answer or some of it; null for a connector that is gone
 * @returns {Row[]}
 */
export function rows(answer) {
  return Object.entries(answer).filter(([, known]) => known?.status).map(([name, known]) => row(name, known.status, known.health ?? null));
}

/**
 * @param {string} name
 * @param {any} status
 * @param {any} health null where a worker does not report it
 * @returns {Row}
 */
export function row(name, status, health) {
  const judged = new Map((health?.tasks ?? []).map((/** @type {any} */ task) => [task.id, task]));
  const tasks = status.tasks.map((/** @type {any} */ task) => ({ ...task, health: judged.get(task.id) ?? null }));
  const [lag, lagUnit] = summedLag(tasks);
  const failed = [status.connector, ...tasks].filter((part) => part.state === "FAILED");
  return {
    name,
    type: status.type,
    state: status.connector.state,
    verdict: health?.verdict ?? (failed.length ? "failed" : "healthy"),
    why: health?.why ?? "",
    worker: status.connector.worker_id || null,
    running: tasks.filter((/** @type {any} */ task) => task.state === "RUNNING").length,
    failed: failed.length,
    tasks,
    records: sum(tasks.map((/** @type {any} */ task) => task.health?.records_per_second)),
    bytes: sum(tasks.map((/** @type {any} */ task) => task.health?.bytes_per_second)),
    lag,
    lagUnit,
    error: newestError(tasks) ?? (failed.length ? firstLine(failed[0].trace) : null),
  };
}

/** @param {Row} each */
export function isIdle(each) {
  return PAUSED.includes(each.state);
}

/** @param {(number | null | undefined)[]} numbers */
export function sum(numbers) {
  const known = numbers.filter((each) => each !== null && each !== undefined);
  return known.length ? known.reduce((total, each) => /** @type {number} */ (total) + /** @type {number} */ (each), 0) ?? null : null;
}

/** @param {string | undefined} text */
export function firstLine(text) {
  return text ? text.split("\n", 1)[0] : null;
}

/**
 * @param {any[]} tasks
 * @returns {[number | null, string | null]} none where tasks count in different units
 */
function summedLag(tasks) {
  const lags = tasks.map((task) => task.health?.lag).filter(Boolean);
  const units = new Set(lags.map((lag) => lag.unit));
  if (units.size !== 1) return [null, null];
  return [sum(lags.map((lag) => lag[lag.unit])), lags[0].unit];
}

/** @param {any[]} tasks */
function newestError(tasks) {
  const errors = tasks.map((task) => task.health?.last_error).filter(Boolean);
  if (!errors.length) return null;
  const newest = errors.reduce((one, other) => ((other.age ?? Infinity) < (one.age ?? Infinity) ? other : one));
  return `${newest.class}: ${newest.message}`;
}
