// SPDX-License-Identifier: Apache-2.0
// The stream of GET /events, open while the page is visible: browsers allow few connections to one worker.
import { url } from "./api.js";

/** A worker sends something every 15 seconds: what is silent for so long is interrupted, or held back by a proxy. */
const SILENT_MS = 30_000;
/** A browser connects again by itself, but not after an answer that is no stream, as of a worker with too many. */
const AGAIN_MS = 60_000;

/** @type {EventSource | null} */
let source = null;
let heard = -Infinity;

/** True while changes come by themselves, so that there is no need to ask. */
export function live() {
  return source?.readyState === EventSource.OPEN && performance.now() - heard < SILENT_MS;
}

/** When the last event came, by `performance.now()`. */
export function lastHeard() {
  return heard;
}

/** @param {(states: Record<string, any>, whole: boolean) => void} take gets states of connectors, `whole`: all that there are, else null for one that is gone */
export function hear(take) {
  const open = () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else if (source === null || source.readyState === EventSource.CLOSED) {
      source = new EventSource(url(["events"]));
      source.addEventListener("reset", (event) => taken(event, true));
      source.addEventListener("change", (event) => taken(event, false));
    }
  };
  const taken = (/** @type {MessageEvent} */ event, /** @type {boolean} */ whole) => {
    heard = performance.now();
    take(JSON.parse(event.data), whole);
  };
  document.addEventListener("visibilitychange", open);
  setInterval(open, AGAIN_MS);
  open();
}
