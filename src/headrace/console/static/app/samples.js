// SPDX-License-Identifier: Apache-2.0
// Samples of GET /metrics, by the ends of their names: what stands before depends on the worker's `metrics.naming`. Pure.

/** @typedef {{name: string, labels: Record<string, string>, value: number}} Sample */

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
/** Those of the worker itself. */
const GROUPS = ["", "kafka_connect_worker_", "kafka_connect_worker_rebalance_", "kafka_connect_connect_worker_metrics_", "kafka_connect_connect_worker_rebalance_metrics_"];

/** @param {string} text in Prometheus' format @returns {Sample[]} the worker's own, without those of connectors and tasks */
export function samples(text) {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = LINE.exec(line) ?? [];
    if (name === undefined || /\bconnector="/.test(labels)) return [];
    return [{ name, labels: Object.fromEntries([...labels.matchAll(LABEL)].map(([, key, content]) => [key, content])), value: Number(value) }];
  });
}

/** @param {Sample[]} found @param {string} name @returns {number | null} */
export function figure(found, name) {
  return found.find((each) => GROUPS.some((group) => each.name === group + name))?.value ?? null;
}
