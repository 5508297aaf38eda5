// SPDX-License-Identifier: Apache-2.0
// Addresses of screens: the part after `#`, so that the worker, and a proxy before it, serve one page.
import { signal } from "./html.js";

/** The segments of the address, decoded. */
export const route = signal(read());

addEventListener("hashchange", () => {
  route.value = read();
});

/** @param {string[]} segments */
export function to(...segments) {
  return `#/${segments.map(encodeURIComponent).join("/")}`;
}

/** @returns {string[]} */
function read() {
  try {
    return location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return []; // not percent-encoded UTF-8
  }
}
