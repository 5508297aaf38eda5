// SPDX-License-Identifier: Apache-2.0
// Answers that are asked for again and again, while the page is visible.
import { get } from "./api.js";
import { useEffect } from "./html.js";
import { useAnswer } from "./parts.js";

/**
 * The newest answer. The next request comes `period` ms after the last one, and when the page becomes visible again.
 * @param {string[]} segments
 * @param {number} period
 * @param {Record<string, any>} [query]
 */
export function useRepeated(segments, period, query = {}) {
  const inputs = [...segments, JSON.stringify(query)];
  const found = useAnswer((signal) => get(segments, query, signal), inputs);
  useEffect(() => {
    const ask = () => document.hidden || found.again();
    const timer = setInterval(ask, period);
    document.addEventListener("visibilitychange", ask);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", ask);
    };
  }, inputs);
  return found;
}
