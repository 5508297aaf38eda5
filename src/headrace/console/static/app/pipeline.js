// SPDX-License-Identifier: Apache-2.0
// The way of a record, drawn from the configuration: source, transformations, converter, topic; of a sink the reverse.
import { countText, lagText, rateText } from "./figures.js";
import { html } from "./html.js";
import { counted, keyOf, rateOf, totalsOf } from "./step_counts.js";

/**
 * @typedef {object} Stage
 * @property {string} kind
 * @property {string} key of its counts
 * @property {string} what
 * @property {string} [detail]
 * @property {string} [count] until its counts are known
 * @property {string} [lag]
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
    key: row.type === "sink" ? "sink" : "source",
    what: shortName(config["connector.class"] ?? ""),
    detail: `${row.running} of ${row.tasks.length} tasks run`,
    count: `${rateText(row.records)} records/s`,
    verdict: failing === null ? row.verdict : undefined,
  };
  const steps = (config.transforms ?? "").split(",").map((alias) => alias.trim()).filter(Boolean).map((alias) => ({
    kind: "Transformation",
    key: keyOf("transformation", alias),
    what: alias,
    detail: shortName(config[`transforms.${alias}.type`] ?? "") + (config[`transforms.${alias}.predicate`] ? `, if ${config[`transforms.${alias}.predicate`]}` : ""),
    verdict: failing === alias ? "failed" : undefined,
  }));
  const converter = {
    kind: "Converter",
    key: "converter",
    what: shortName(config["value.converter"] ?? "") || "the worker's",
    detail: config["key.converter"] ? `keys: ${shortName(config["key.converter"])}` : "keys: the worker's",
    verdict: failing === "VALUE_CONVERTER" || failing === "KEY_CONVERTER" ? "failed" : undefined,
  };
  const lag = row.type === "sink" ? `${lagText(row.lag, row.lagUnit)} behind` : undefined;
  const topic = { kind: "Kafka", key: "topic", what: config.topics ?? config["topics.regex"] ?? config.topic ?? config["kafka.topic"] ?? "topics by the connector", lag };
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

/** @param {{config: Record<string, string | null>, row: import("./rows.js").Row, steps: Map<string, import("./step_counts.js").LiveStep>}} props `steps`: by key, those that are known */
export function Pipeline({ config, row, steps }) {
  return html`<ol class="pipeline" tabindex="0" aria-label="Pipeline">${stages(config, row).map((stage) => html`<li><div class=${`stage ${stage.verdict ?? (steps.get(stage.key)?.errors ? "degraded" : "")}`}>
    <div class="kind">${stage.kind}${stage.verdict === "failed" ? " · failed" : ""}</div><div class="what">${stage.what}</div>
    ${stage.detail && html`<div class="quiet">${stage.detail}</div>`}<${Counts} step=${steps.get(stage.key)} otherwise=${stage.count} />${stage.lag && html`<div class="count">${stage.lag}</div>`}</div></li>`)}</ol>`;
}

/** @param {{step?: import("./step_counts.js").LiveStep, otherwise?: string}} props */
function Counts({ step, otherwise }) {
  if (!step) return otherwise && html`<div class="count">${otherwise}</div>`;
  return html`<div class="count">${rateOf(step)}</div><div class="quiet count" title="of all tasks, of the present attempts">${totalsOf(step)}</div>
    ${step.filtered ? html`<div class="quiet count" title="dropped by this transformation">${countText(step.filtered)} filtered</div>` : null}
    ${step.errors ? html`<div class="removed count" title="skipped, sent to the dead letter topic, or ending the attempt">${counted(step.errors, "error")}</div>` : null}
    ${step.retries ? html`<div class="quiet count" title="attempts after an error that may pass">${counted(step.retries, "retry", "retries")}</div>` : null}`;
}
