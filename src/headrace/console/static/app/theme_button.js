// SPDX-License-Identifier: Apache-2.0
// The choice of the theme: the system's, light or dark; theme.js puts it in place before the page is painted.
import { html, useState } from "./html.js";

const KEY = "headrace.theme";
const THEMES = ["system", "light", "dark"];

export function ThemeButton() {
  const [theme, setTheme] = useState(() => document.documentElement.dataset.theme ?? "system");
  const change = () => {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    if (next === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // Storage is forbidden: the choice lasts as long as the page.
    }
    setTheme(next);
    dispatchEvent(new Event("theme"));
  };
  return html`<button class="plain" onClick=${change} title="Change the theme">Theme: ${theme}</button>`;
}
