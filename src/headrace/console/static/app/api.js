// SPDX-License-Identifier: Apache-2.0
// Requests to the public REST API of the worker that served this page, or of the proxy in front of it.

import { credentialHeaders, noteRefusal } from "./credentials.js";

/** An answer that is an error, with the API's own words. */
export class ApiError extends Error {
  /**
   * @param {number} status 0 if there was no answer
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const LONGEST_RETRY_MS = 20_000;
/** `hidden`: no secret reaches the browser. The header is one that no other site's page can send without being asked. */
const HEADERS = { Accept: "application/json", "X-Headrace-Secrets": "hidden" };
/** What is answered is of now, with the browser's certificate if it has one. @type {RequestInit} */
const FRESH = { cache: "no-store", credentials: "same-origin" };

/**
 * @param {string[]} segments of a path, as they are: names may have any character
 * @param {Record<string, string | number | boolean | string[] | undefined | null>} [query]
 */
export function url(segments, query = {}) {
  const path = segments.map((each) => encodeURIComponent(each).replace(/^\.{1,2}$/, (dots) => "%2E".repeat(dots.length)));
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) parameters.append(name, String(each));
  }
  const text = parameters.toString();
  return new URL((path.join("/") || ".") + (text ? `?${text}` : ""), document.baseURI).href;
}

/**
 * @param {string[]} segments
 * @param {Record<string, any>} [query]
 * @param {AbortSignal} [signal]
 * @param {string} [authorization] other credentials than those of the user who is signed in
 * @returns {Promise<any>}
 */
export async function get(segments, query, signal, authorization) {
  return (await request("GET", url(segments, query), undefined, signal, authorization)).content;
}

/**
 * The same with the user's role, which the API names for the connector that is asked for, or else the highest one.
 * @param {string[]} segments
 * @param {AbortSignal} [signal]
 */
export function getWithRole(segments, signal) {
  return request("GET", url(segments), undefined, signal);
}

/** An answer that is no JSON. @param {string[]} segments @param {AbortSignal} [signal] @returns {Promise<string>} */
export async function getText(segments, signal) {
  return (await request("GET", url(segments), undefined, signal)).text;
}

/**
 * @param {"POST" | "PUT" | "PATCH" | "DELETE"} method
 * @param {string[]} segments
 * @param {any} [body] as JSON
 * @param {Record<string, any>} [query]
 * @returns {Promise<any>} null for an answer without a body
 */
export async function send(method, segments, body, query) {
  return (await request(method, url(segments, query), body)).content;
}

/** Open a stream of server-sent events. @param {string[]} segments @param {string} last the id of the last event, or "" @param {AbortSignal} signal */
export function openStream(segments, last, signal) {
  const headers = { ...HEADERS, Accept: "text/event-stream", ...credentialHeaders(), ...(last ? { "Last-Event-ID": last } : {}) };
  return fetch(url(segments), { headers, signal, ...FRESH });
}

/**
 * Work is being moved between workers where the answer is 409 with Retry-After: nothing was done, so it is asked again.
 * @param {string} method
 * @param {string} target
 * @param {any} [body]
 * @param {AbortSignal} [signal]
 * @param {string} [authorization]
 * @returns {Promise<{content: any, text: string, role: string | null}>} `content`: null for no JSON
 */
async function request(method, target, body, signal, authorization) {
  const end = performance.now() + LONGEST_RETRY_MS;
  for (;;) {
    const answer = await answerTo(method, target, body, signal, authorization);
    const text = await answer.text();
    if (answer.ok) return { content: parsed(text), text, role: answer.headers.get("X-Headrace-Role") };
    const pause = Number(answer.headers.get("Retry-After") ?? 0) * 1000;
    if (answer.status !== 409 || !pause || performance.now() + pause > end) {
      const message = parsed(text)?.message ?? `${answer.status} ${answer.statusText}`;
      noteRefusal(answer, message);
      throw new ApiError(answer.status, message);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** @param {string} method @param {string} target @param {any} body @param {AbortSignal} [signal] @param {string} [authorization] */
async function answerTo(method, target, body, signal, authorization) {
  /** @type {Record<string, string>} */
  const headers = { ...HEADERS, ...credentialHeaders(authorization) };
  if (method !== "GET") headers["Content-Type"] = "application/json";
  try {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return await fetch(target, { method, headers, body: text, signal, ...FRESH });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "The worker does not answer. It may have stopped, or the network is interrupted.");
  }
}

/** @param {string} text */
function parsed(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}
