// SPDX-License-Identifier: Apache-2.0
// The way of a record, drawn from the configuration: source, transformations, converter, topic; of a sink the reverse.
import { lagText, rateText } from "./figures.js";
import { html } from "./html.js";

/**
 * @typedef {object} Stage
 * @property {string} kind
 * @property {string} what
 * @property {string} [detail]
 * @property {string} [count]
 * @property {string} [verdict]
 */

/** @param {string | undefined} name Without the package. */
export function shortName(name) {
  return (name ?? "").replace(/^.*[.:]/, "");
}

/**
 * @param {Record<string, string | null>} config
 * @param {import("./rows.js").Row} row
 * @returns {Stage[]}
 */
export function stages(config, row) {
  const failing = failingStep(row);
  const connector = {
    kind: row.type === "sink" ? "Sink" : "Source",
    what: shortName(config["connector.class"] ?? ""),
    detail: `${row.running} of ${row.tasks.length} tasks run`,
    count: `${rateText(row.records)} records/s`,
    verdict: failing === null ? row.verdict : undefined,
  };
  const steps = (config.transforms ?? "").split(",").map((alias) => alias.trim()).filter(Boolean).map((alias) => ({
    kind: "Transformation",
    what: alias,
    detail: shortName(config[`transforms.${alias}.type`] ?? "") + (config[`transforms.${alias}.predicate`] ? `, if ${config[`transforms.${alias}.predicate`]}` : ""),
    verdict: failing === alias ? "failed" : undefined,
  }));
  const converter = {
    kind: "Converter",
    what: shortName(config["value.converter"] ?? "") || "the worker's",
    detail: config["key.converter"] ? `keys: ${shortName(config["key.converter"])}` : "keys: the worker's",
    verdict: failing === "VALUE_CONVERTER" || failing === "KEY_CONVERTER" ? "failed" : undefined,
  };
  const lag = row.type === "sink" ? `${lagText(row.lag, row.lagUnit)} behind` : undefined;
  const topic = { kind: "Kafka", what: config.topics ?? config["topics.regex"] ?? config.topic ?? config["kafka.topic"] ?? "topics by the connector", count: lag };
  return row.type === "sink" ? [topic, converter, ...steps, connector] : [connector, ...steps, converter, topic];
}

/** The alias of the transformation, or the converter, by which a task failed last. @param {import("./rows.js").Row} row */
function failingStep(row) {
  for (const task of row.tasks) {
    const text = task.state === "FAILED" ? task.trace ?? "" : task.health?.last_error?.message ?? "";
    const step = /^TRANSFORMATION (\S+)/.exec(text)?.[1] ?? /^(VALUE_CONVERTER|KEY_CONVERTER)\b/.exec(text)?.[1];
    if (step) return step;
  }
  return null;
}

/** @param {{config: Record<string, string | null>, row: import("./rows.js").Row}} props */
export function Pipeline({ config, row }) {
  return html`<ol class="pipeline" tabindex="0" aria-label="Pipeline">${stages(config, row).map((stage) => html`<li><div class=${`stage ${stage.verdict ?? ""}`}>
    <div class="kind">${stage.kind}${stage.verdict === "failed" ? " · failed" : ""}</div><div class="what">${stage.what}</div>
    ${stage.detail && html`<div class="quiet">${stage.detail}</div>`}${stage.count && html`<div class="count">${stage.count}</div>`}</div></li>`)}</ol>`;
}
