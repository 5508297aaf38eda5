// SPDX-License-Identifier: Apache-2.0
// Numbers as short texts; what is not known is "–".
export const NONE = "–";
/** @type {[number, string][]} */
const AGES = [[86_400_000, "d"], [3_600_000, "h"], [60_000, "min"], [1000, "s"]];
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** @param {number | null | undefined} ms */
export function ageText(ms) {
  if (ms === null || ms === undefined) return NONE;
  const [unit, name] = AGES.find(([each]) => ms >= each) ?? [1, "ms"];
  return `${Math.floor(ms / unit)} ${name}`;
}

/** @param {number | null | undefined} perSecond */
export function rateText(perSecond) {
  if (perSecond === null || perSecond === undefined) return NONE;
  const digits = perSecond > 0 && perSecond < 100 ? 1 : 0;
  return perSecond.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** @param {number | null | undefined} count */
export function countText(count) {
  return count === null || count === undefined ? NONE : count.toLocaleString("en");
}

/** @param {number | null | undefined} count */
export function bytesText(count) {
  if (count === null || count === undefined) return NONE;
  let power = 0;
  while (count >= 1024 && power < UNITS.length - 1) {
    count /= 1024;
    power += 1;
  }
  return `${power ? count.toFixed(1) : Math.round(count)} ${UNITS[power]}`;
}

/**
 * @param {number | null} amount
 * @param {string | null} unit records, the usual one, are not named
 */
export function lagText(amount, unit) {
  if (amount === null || unit === null) return NONE;
  if (unit === "bytes") return bytesText(amount);
  return unit === "records" ? countText(amount) : `${countText(amount)} ${unit}`;
}

/** @param {number | null | undefined} ms since the epoch */
export function timeText(ms) {
  if (ms === null || ms === undefined) return NONE;
  return new Date(ms).toISOString().replace("T", " ").slice(0, 19);
}

/** @param {any} value */
export function jsonText(value) {
  return value === undefined ? "" : JSON.stringify(value);
}
