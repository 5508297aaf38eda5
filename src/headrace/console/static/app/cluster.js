// SPDX-License-Identifier: Apache-2.0
// The live state of the cluster: asked for every few seconds while the page is visible, and remembered for the plots.
import { get, getWithRole } from "./api.js";
import { differences } from "./events.js";
import { computed, signal } from "./html.js";
import { highest } from "./roles.js";
import { isIdle, rows, sum, VERDICTS } from "./rows.js";

const PERIOD_MS = 5000;
const SLOWEST_MS = 60_000;
/** The pause is as many times as long as the answer took: a large cluster is asked less often. */
const PAUSES_PER_ANSWER = 50;
/** Points in memory: an hour of one every five seconds. The API has no figures of the past, so they begin with the page. */
const MOST_POINTS = 720;

/** @type {import("../vendor/signals.js").Signal<Record<string, any> | null>} */
const answer = signal(null);
/** The version of the worker that answers, and its Kafka cluster. @type {import("../vendor/signals.js").Signal<any>} */
export const about = signal(null);
/** Why the last request failed; null if it did not. @type {import("../vendor/signals.js").Signal<Error | null>} */
export const trouble = signal(null);
/** @type {import("../vendor/signals.js").Signal<{at: number[], records: (number | null)[], lag: (number | null)[]}>} */
export const history = signal({ at: [], records: [], lag: [] });
/** The rates of each connector, for its small plot. @type {Map<string, (number | null)[]>} */
export const rates = new Map();
const MOST_RATES = 60;
/** The newest first. @type {import("../vendor/signals.js").Signal<import("./events.js").Event[]>} */
export const events = signal([]);
const MOST_EVENTS = 200;

export const connectors = computed(() => (answer.value === null ? null : rows(answer.value)));
export const counts = computed(() => {
  const found = connectors.value ?? [];
  const live = found.filter((each) => !isIdle(each));
  /** @type {Record<string, number>} */
  const byVerdict = Object.fromEntries(VERDICTS.map((verdict) => [verdict, live.filter((each) => each.verdict === verdict).length]));
  return { ...byVerdict, idle: found.length - live.length, all: found.length };
});

let timer = 0;
let failures = 0;
/** @type {Promise<void> | null} */
let asking = null;

/** Ask now, and then again and again. */
export function follow() {
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) void refresh();
  });
  void refresh();
}

/** Ask once more at once, as after a change; requests never overlap. */
export function refresh() {
  const begun = performance.now();
  asking ??= ask().finally(() => {
    asking = null;
    clearTimeout(timer);
    const wanted = Math.max(PERIOD_MS * 2 ** failures, (performance.now() - begun) * PAUSES_PER_ANSWER);
    const pause = Math.min(wanted, SLOWEST_MS);
    timer = setTimeout(() => document.hidden || void refresh(), pause);
  });
  return asking;
}

async function ask() {
  try {
    const found = await get(["connectors"], { expand: ["status", "health"] });
    if (about.peek() === null || failures) await introduce();
    const before = connectors.peek();
    answer.value = found;
    remember(found);
    if (before) events.value = [...differences(before, connectors.peek() ?? [], Date.now()), ...events.peek()].slice(0, MOST_EVENTS);
    trouble.value = null;
    failures = 0;
  } catch (error) {
    trouble.value = /** @type {Error} */ (error);
    failures += 1;
  }
}

/** Learn which worker this is, and the user's role. */
async function introduce() {
  const { content, role } = await getWithRole([]);
  about.value = content;
  highest.value = role;
}

/** @param {Record<string, any>} found */
function remember(found) {
  const all = rows(found);
  const before = history.peek();
  const records = sum(all.map((each) => each.records));
  const lag = sum(all.map((each) => (each.lagUnit === "records" ? each.lag : null)));
  history.value = {
    at: [...before.at, Date.now() / 1000].slice(-MOST_POINTS),
    records: [...before.records, records].slice(-MOST_POINTS),
    lag: [...before.lag, lag].slice(-MOST_POINTS),
  };
  for (const name of rates.keys()) if (!(name in found)) rates.delete(name);
  for (const each of all) rates.set(each.name, [...(rates.get(each.name) ?? []), each.records].slice(-MOST_RATES));
}
