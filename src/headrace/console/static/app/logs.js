// SPDX-License-Identifier: Apache-2.0
// Log lines about a connector, of all workers, as they come.
import { get } from "./api.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { Card, Trouble } from "./parts.js";

const MOST = 1000;
const WAIT_S = 20;
const LEVELS = ["ALL", "DEBUG", "INFO", "WARN", "ERROR"];

/** @param {{name: string}} props */
export function Logs({ name }) {
  const [lines, setLines] = useState(/** @type {any[]} */ ([]));
  const [level, setLevel] = useState("INFO");
  const [following, setFollowing] = useState(true);
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const end = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!following) return undefined;
    const ending = new AbortController();
    setLines([]);
    void tail(name, level, ending.signal, (more) => setLines((before) => [...before, ...more].slice(-MOST)), setError);
    return () => ending.abort();
  }, [name, level, following]);
  useEffect(() => {
    const place = end.current;
    if (place) place.scrollTop = place.scrollHeight;
  }, [lines]);
  const controls = html`<label for="level">Level</label><select id="level" value=${level} onChange=${(/** @type {any} */ event) => setLevel(event.target.value)}>${LEVELS.map((each) => html`<option value=${each}>${each}</option>`)}</select>
    <button aria-pressed=${following} onClick=${() => setFollowing(!following)}>${following ? "Hold" : "Follow"}</button>`;
  return html`<${Trouble} error=${error} /><${Card} title="Log" end=${controls} padded=${false}>
    ${!lines.length && html`<div class="body quiet">No line yet.</div>`}
    <div class="log" ref=${end} tabindex="0" role="log" aria-label="Log lines">${lines.map((line) => html`<div><span class="quiet" title=${new Date(line.time).toISOString()}>${new Date(line.time).toISOString().slice(11, 23)}</span><span class=${line.level}>${line.level}</span>
      <span><span class="quiet">${line.part ?? ""}</span> ${line.message}${line.trace && html`<details><summary>trace</summary><pre>${line.trace}</pre></details>`}</span></div>`)}</div><//>`;
}

/**
 * Ask for further lines until the signal ends it; a request waits for a line, so this is no polling of an idle worker.
 * @param {string} name @param {string} level @param {AbortSignal} signal
 * @param {(lines: any[]) => void} add @param {(error: Error | null) => void} fail
 */
async function tail(name, level, signal, add, fail) {
  let after = "";
  while (!signal.aborted) {
    try {
      const found = await get(["connectors", name, "logs"], { after, level, limit: 200, wait: after ? WAIT_S : 0 }, signal);
      after = found.positions;
      if (found.lines.length) add(found.lines);
      fail(null);
    } catch (error) {
      if (signal.aborted) return;
      fail(/** @type {Error} */ (error));
      await new Promise((resolve) => setTimeout(resolve, 5000));
    }
  }
}
