// SPDX-License-Identifier: Apache-2.0
// The stream of GET /events, open while the page is visible: browsers allow few connections to one worker.
// It is read by fetch, since an EventSource sends no credentials of the page.
import { openStream } from "./api.js";
import { refusal } from "./credentials.js";

/** A worker sends something every 15 seconds: what is silent for so long is interrupted, or held back by a proxy. */
const SILENT_MS = 30_000;
/** The pause after the end of a stream, which a worker ends once a minute. */
const NEXT_MS = 1000;
/** The pause after an interruption, as while a worker is started again. */
const INTERRUPTED_MS = 5000;
/** The pause after an answer that is no stream, as of a worker with too many, or of a proxy. */
const REFUSED_MS = 60_000;

let open = false;
let heard = -Infinity;

/** True while changes come by themselves, so that there is no need to ask. */
export function live() {
  return open && performance.now() - heard < SILENT_MS;
}

/** When the last event came, by `performance.now()`. */
export function lastHeard() {
  return heard;
}

/** @param {(states: Record<string, any>, whole: boolean) => void} take gets states of connectors, `whole`: all that there are, else null for one that is gone */
export function hear(take) {
  let last = "";
  let timer = 0;
  /** @type {AbortController | null} */
  let reading = null;

  const read = async () => {
    clearTimeout(timer);
    if (reading || document.hidden || refusal.peek()) return; // a sign-in loads the page anew
    reading = new AbortController();
    const pause = await followed(reading).catch(() => INTERRUPTED_MS);
    open = false;
    reading = null;
    timer = setTimeout(read, pause);
  };
  /** Take in the events of one stream, and return the pause after it. @param {AbortController} stream */
  const followed = async (stream) => {
    const silence = () => setTimeout(() => stream.abort(), SILENT_MS);
    let silent = silence();
    try {
      const answer = await openStream(["events"], last, stream.signal);
      if (!answer.ok || !answer.body || !answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
        stream.abort();
        return REFUSED_MS;
      }
      open = true;
      for await (const { id, event, data } of eventsOf(answer.body)) {
        clearTimeout(silent);
        silent = silence();
        last = id;
        heard = performance.now();
        take(JSON.parse(data), event === "reset");
      }
      return NEXT_MS;
    } finally {
      clearTimeout(silent);
    }
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? reading?.abort() : void read()));
  void read();
}

/** The fields of each event. @param {ReadableStream<Uint8Array>} body @returns {AsyncGenerator<Record<string, string>>} */
async function* eventsOf(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s, 2)));
      if (fields.data) yield fields;
    }
  }
}
