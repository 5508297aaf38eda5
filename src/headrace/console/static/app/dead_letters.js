// SPDX-License-Identifier: Apache-2.0
// Dead letters that wait, grouped by cause; they are written again, or passed, after a look at what that would do.
import { confirm, notify } from "./actions.js";
import { get, send } from "./api.js";
import { countText, jsonText, timeText } from "./figures.js";
import { html, useEffect, useState } from "./html.js";
import { Badge, Card, Trouble, useAnswer } from "./parts.js";
import { shortName } from "./pipeline.js";

const PERIOD_MS = 1000;

/** @param {{name: string}} props */
export function DeadLetters({ name }) {
  const [filter, setFilter] = useState("");
  const filters = filter.split(",").map((each) => each.trim()).filter(Boolean);
  const found = useAnswer((signal) => get(["connectors", name, "dead-letters"], { limit: 20, filter: filters }, signal), [name, filter]);
  const [job, setJob] = useState(/** @type {any} */ (null));
  useEffect(() => {
    if (job === null || job.ended !== null) return undefined;
    const timer = setTimeout(async () => {
      try {
        const now = await get(["connectors", name, "dead-letters", "redrive"]);
        setJob(now);
        if (now.ended !== null) found.again();
      } catch (error) {
        notify("error", /** @type {Error} */ (error).message);
        setJob(null);
      }
    }, PERIOD_MS);
    return () => clearTimeout(timer);
  }, [job]);
  const ask = async (/** @type {"redrive" | "discard"} */ action) => {
    const path = ["connectors", name, "dead-letters", action];
    try {
      const plan = await send("POST", path, { filter: filters, dry_run: true });
      const run = () => send("POST", path, { filter: filters }).then(setJob, (error) => notify("error", error.message));
      confirm({
        title: action === "redrive" ? "Write the records of the dead letters again" : "Pass the dead letters without writing their records",
        text: html`<${Counts} counts=${plan.counts} />`,
        action: action === "redrive" ? "Redrive" : "Discard",
        name: action === "discard" ? name : undefined,
        run,
      });
    } catch (error) {
      notify("error", /** @type {Error} */ (error).message);
    }
  };
  const letters = found.content;
  const end = html`<button onClick=${found.again}>Read again</button><button disabled=${!letters?.matching} onClick=${() => void ask("redrive")}>Redrive …</button><button class="danger" disabled=${!letters?.matching} onClick=${() => void ask("discard")}>Discard …</button>`;
  return html`<${Trouble} error=${found.error} />
    <div class="line"><input type="text" size="52" placeholder="Filter: stage=VALUE_CONVERTER, message~=timeout" aria-label="Filter dead letters" value=${filter} onChange=${(/** @type {any} */ event) => setFilter(event.target.value)} /></div>
    ${job && html`<${Card} title=${`The last ${job.action}`}><div class="line"><${Badge} kind=${job.ended === null ? "degraded" : job.error ? "failed" : "healthy"} text=${job.state} />${job.error}</div><${Counts} counts=${job.counts ?? {}} />
      ${job.failures.map((/** @type {string} */ each) => html`<div class="note error">${each}</div>`)}<//>`}
    ${letters && html`<${Card} title=${`${countText(letters.matching)} dead ${letters.matching === 1 ? "letter" : "letters"} in ${letters.topic}`} end=${end} padded=${false}>
      ${!letters.complete && html`<div class="body quiet">There are too many to look at all: these are the first.</div>`}
      ${!letters.groups.length && html`<div class="body quiet">None waits.</div>`}
      <div class="scroll" tabindex="0" role="region" aria-label="Table"><table><tbody>${letters.groups.map((/** @type {any} */ each) => html`<tr><td class="number"><strong>${countText(each.count)}</strong></td><td class="short"><button class="link" title="Only these" onClick=${() => setFilter(`stage=${each.stage}`)}>${each.stage}</button></td><td><strong title=${each.exception}>${shortName(each.exception)}</strong> ${each.message}<div class="quiet mono">${each.topics.join(", ")}</div></td><td class="short quiet">${timeText(each.newest)}</td></tr>`)}</tbody></table></div><//>
    <${Letters} letters=${letters.letters} />`}`;
}

/** @param {{counts: Record<string, number>}} props */
function Counts({ counts }) {
  return html`<dl class="figures">${Object.entries(counts).map(([what, count]) => html`<div><dt>${what.replaceAll("_", " ")}</dt><dd>${countText(count)}</dd></div>`)}</dl>`;
}

/** @param {{letters: any[]}} props */
function Letters({ letters }) {
  if (!letters.length) return null;
  return html`<${Card} title="Letters" padded=${false}><div class="body fields">${letters.map((each) => html`<details key=${`${each.partition}-${each.offset}`}><summary><span class="mono">${each.partition}:${each.offset}</span> ${each.message}</summary>
    <div class="quiet mono">${jsonText(each.origin)}</div><pre class="trace" tabindex="0">${JSON.stringify(each.record, null, 2)}</pre>${each.stacktrace && html`<pre class="trace" tabindex="0">${each.stacktrace}</pre>`}</details>`)}</div><//>`;
}
