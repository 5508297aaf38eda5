// SPDX-License-Identifier: Apache-2.0
// The user's credentials: kept for this tab alone, and sent by nothing but the page's own requests.
import { signal } from "./html.js";

const KEY = "headrace.authorization";
/** `hidden`: a refusal names its schemes in this header, so that the browser does not ask with a dialog of its own. */
const CHALLENGE = "X-Headrace-Challenge";

/** Why the worker wants credentials, and what it takes; null while it answers. @type {import("../vendor/signals.js").Signal<{message: string, schemes: string} | null>} */
export const refusal = signal(null);

/** @param {string | null} [authorization] by default that of the user who is signed in */
export function credentialHeaders(authorization = stored()) {
  return { [CHALLENGE]: "hidden", ...(authorization ? { Authorization: authorization } : {}) };
}

/** Note an answer that refuses the credentials, and forget these. @param {Response} answer @param {string} message */
export function noteRefusal(answer, message) {
  if (answer.status !== 401) return;
  forget();
  refusal.value = { message, schemes: (answer.headers.get(CHALLENGE) ?? "").toLowerCase() };
}

export function isSignedIn() {
  return stored() !== null;
}

/** Keep what the worker has accepted. All begins anew: nothing of another user stays on the page. @param {string} authorization */
export function signIn(authorization) {
  sessionStorage.setItem(KEY, authorization);
  location.reload();
}

export function signOut() {
  forget();
  location.reload();
}

/** @param {string} user @param {string} password */
export function basic(user, password) {
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

function forget() {
  sessionStorage.removeItem(KEY);
}

function stored() {
  return sessionStorage.getItem(KEY);
}
