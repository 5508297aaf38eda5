// SPDX-License-Identifier: Apache-2.0
// The transformations and predicates in a configuration: `transforms=a,b` and `transforms.a.type=…`. Pure.

/** @typedef {Record<string, string | null>} Values */
/** @typedef {"transforms" | "predicates"} List */

/** @param {Values} values @param {List} list @returns {string[]} in their order */
export function aliases(values, list) {
  return [...new Set((values[list] ?? "").split(",").map((each) => each.trim()).filter(Boolean))];
}

/** Whether a property is the list itself, or one of a step that is in it. @param {string} name @param {Values} values @param {List} list */
export function isOf(name, values, list) {
  return name === list || ownerOf(name, values, list) !== null;
}

/** The step of a property: of two whose names begin it, as `a` and `a.b`, the longer one. @param {string} name @param {Values} values @param {List} list */
export function ownerOf(name, values, list) {
  const owners = aliases(values, list).filter((alias) => name.startsWith(`${list}.${alias}.`));
  return owners.sort((one, other) => other.length - one.length)[0] ?? null;
}

/** @param {Values} values @param {List} list @param {string} type a class @returns {[Values, string]} and the new step's name */
export function added(values, list, type) {
  const known = aliases(values, list);
  const short = type.replace(/^.*[.:]/, "").replace(/\$.*$/, "");
  const stem = short.charAt(0).toLowerCase() + short.slice(1);
  let alias = stem;
  for (let number = 2; known.includes(alias); number += 1) alias = `${stem}${number}`;
  return [{ ...values, [list]: [...known, alias].join(","), [`${list}.${alias}.type`]: type }, alias];
}

/** @param {Values} values @param {List} list @param {string} alias @param {-1 | 1} by */
export function moved(values, list, alias, by) {
  const order = aliases(values, list);
  const at = order.indexOf(alias);
  if (at + by < 0 || at + by >= order.length) return values;
  order.splice(at + by, 0, ...order.splice(at, 1));
  return { ...values, [list]: order.join(",") };
}

/** Without the step and all of its properties. @param {Values} values @param {List} list @param {string} alias */
export function removed(values, list, alias) {
  const rest = aliases(values, list).filter((each) => each !== alias);
  const kept = Object.entries(values).filter(([name]) => name !== list && ownerOf(name, values, list) !== alias);
  return { ...Object.fromEntries(kept), ...(rest.length ? { [list]: rest.join(",") } : {}) };
}
