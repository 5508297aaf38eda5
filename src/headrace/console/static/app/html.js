// SPDX-License-Identifier: Apache-2.0
// Preact with htm's templates: all text that a template is given is shown as text, never as markup.
import htm from "../vendor/htm.js";
import { h, render } from "../vendor/preact.js";

export { Fragment } from "../vendor/preact.js";
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact-hooks.js";
export { computed, effect, signal } from "../vendor/signals.js";
export { render };
export const html = htm.bind(h);
