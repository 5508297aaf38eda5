// SPDX-License-Identifier: Apache-2.0
// Events: what differs from one answer about all connectors to the next. They begin with the page. Pure.
import { isIdle } from "./rows.js";

/** @typedef {{at: number, name: string, kind: string, text: string}} Event `at`: ms since the epoch */

/**
 * @param {import("./rows.js").Row[]} before
 * @param {import("./rows.js").Row[]} after
 * @param {number} at
 * @returns {Event[]}
 */
export function differences(before, after, at) {
  const known = new Map(before.map((row) => [row.name, row]));
  const found = after.flatMap((row) => {
    const old = known.get(row.name);
    known.delete(row.name);
    const text = old ? changed(old, row) : "is new";
    return text ? [{ at, name: row.name, kind: kind(row), text }] : [];
  });
  const gone = [...known.keys()].map((name) => ({ at, name, kind: "idle", text: "is deleted" }));
  return [...found, ...gone];
}

/** @param {import("./rows.js").Row} old @param {import("./rows.js").Row} row */
function changed(old, row) {
  if (old.state !== row.state && (isIdle(old) || isIdle(row))) return `is ${row.state.toLowerCase()}`;
  if (old.verdict !== row.verdict) return `is ${row.verdict}: ${row.why}`;
  if (old.tasks.length !== row.tasks.length) return `has ${row.tasks.length} ${row.tasks.length === 1 ? "task" : "tasks"}, before ${old.tasks.length}`;
  const restarts = (/** @type {import("./rows.js").Row} */ each) => each.tasks.reduce((sum, task) => sum + (task.health?.restarts?.count ?? 0), 0);
  return restarts(row) > restarts(old) ? "has restarted a task" : null;
}

/** @param {import("./rows.js").Row} row */
function kind(row) {
  return isIdle(row) ? "idle" : row.verdict;
}
