// SPDX-License-Identifier: Apache-2.0
// What the user may do, by the role that the API names: what it refuses anyway is not offered.
import { signal } from "./html.js";

const ROLES = ["viewer", "operator", "editor", "admin"];

/** The user's highest role; null until it is known. @type {import("../vendor/signals.js").Signal<string | null>} */
export const highest = signal(null);

/**
 * @param {"viewer" | "operator" | "editor" | "admin"} least the role that the action takes
 * @param {string | null | undefined} [role] for one connector; by default the user's highest one
 */
export function may(least, role = highest.value) {
  return role !== null && ROLES.indexOf(role) >= ROLES.indexOf(least);
}
