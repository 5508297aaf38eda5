// SPDX-License-Identifier: Apache-2.0
// The live state of the cluster: it comes by itself, or is asked for every few seconds, while the page is visible.
import { get, getWithRole } from "./api.js";
import { refusal } from "./credentials.js";
import { differences } from "./events.js";
import { computed, signal } from "./html.js";
import { hear, lastHeard, live } from "./live.js";
import { highest } from "./roles.js";
import { isIdle, rows, VERDICTS } from "./rows.js";

const PERIOD_MS = 5000;
const SLOWEST_MS = 60_000;
/** The pause is as many times as long as the answer took: a large cluster is asked less often. */
const PAUSES_PER_ANSWER = 50;

/** @type {import("../vendor/signals.js").Signal<Record<string, any> | null>} */
const answer = signal(null);
/** The version of the worker that answers, and its Kafka cluster. @type {import("../vendor/signals.js").Signal<any>} */
export const about = signal(null);
/** Why the last request failed; null if it did not. @type {import("../vendor/signals.js").Signal<Error | null>} */
export const trouble = signal(null);
/** The rates of each connector since the page was opened, for its small plot. @type {Map<string, (number | null)[]>} */
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

/** Ask now, and then again and again wherever changes do not come by themselves. */
export function follow() {
  hear(take);
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
    later(Math.min(wanted, SLOWEST_MS));
  });
  return asking;
}

/** @param {number} pause */
function later(pause) {
  timer = setTimeout(() => (document.hidden || live() || refusal.peek() ? later(PERIOD_MS) : void refresh()), pause);
}

async function ask() {
  const before = lastHeard();
  try {
    const found = await get(["connectors"], { expand: ["status", "health"] });
    if (about.peek() === null || failures) await introduce();
    if (lastHeard() === before) show(found, found); // else it may be older than what has come meanwhile
    trouble.value = null;
    failures = 0;
  } catch (error) {
    trouble.value = /** @type {Error} */ (error);
    failures += 1;
  }
}

/** @param {Record<string, any>} states null for a connector that is gone @param {boolean} whole */
function take(states, whole) {
  trouble.value = null;
  if (failures) {
    failures = 0;
    introduce().catch(() => undefined); // the worker may be another version now
  }
  if (whole) show(states, states);
  else if (Object.keys(states).length) show(Object.fromEntries(Object.entries({ ...answer.peek(), ...states }).filter(([, state]) => state)), states);
}

/** @param {Record<string, any>} found @param {Record<string, any>} fresh those of them that are new */
function show(found, fresh) {
  const before = connectors.peek();
  answer.value = found;
  remember(fresh);
  if (before) events.value = [...differences(before, connectors.peek() ?? [], Date.now()), ...events.peek()].slice(0, MOST_EVENTS);
}

/** Learn which worker this is, and the user's role. */
async function introduce() {
  const { content, role } = await getWithRole([]);
  about.value = content;
  highest.value = role;
}

/** @param {Record<string, any>} fresh */
function remember(fresh) {
  for (const name of rates.keys()) if (!(name in (answer.peek() ?? {}))) rates.delete(name);
  for (const each of rows(fresh)) rates.set(each.name, [...(rates.get(each.name) ?? []), each.records].slice(-MOST_RATES));
}
