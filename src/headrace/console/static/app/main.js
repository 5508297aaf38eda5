// SPDX-License-Identifier: Apache-2.0
// The frame of all screens, and which of them the address names.
import { Overlays } from "./actions.js";
import { AllDeadLetters } from "./all_dead_letters.js";
import { Audit } from "./audit.js";
import { about, follow, trouble } from "./cluster.js";
import { Connector } from "./connector.js";
import { Connectors } from "./connectors.js";
import { Create } from "./create.js";
import { refusal } from "./credentials.js";
import { html, render } from "./html.js";
import { Help, listen } from "./keys.js";
import { Loggers } from "./loggers.js";
import { Overview } from "./overview.js";
import { Trouble } from "./parts.js";
import { Plugins } from "./plugins.js";
import { may } from "./roles.js";
import { route, to } from "./routes.js";
import { SignIn, SignOut } from "./sign_in.js";
import { ThemeButton } from "./theme_button.js";
import { Workers } from "./workers.js";

/** Of each its path, its name, and the role that it takes. @type {[string, string, "viewer" | "operator" | "editor" | "admin"][]} */
const SCREENS = [["", "Overview", "viewer"], ["connectors", "Connectors", "viewer"], ["dead-letters", "Dead letters", "editor"], ["workers", "Workers", "viewer"],
  ["plugins", "Plugins", "viewer"], ["audit", "Audit", "operator"], ["loggers", "Loggers", "admin"]];

function Frame() {
  const [first = ""] = route.value;
  const current = first === "create" ? "connectors" : first;
  return html`<a class="skip" href="#content" onClick=${skip}>Skip to the content</a>
    <header class="bar"><a class="brand" href="#/">headrace</a>
      <nav aria-label="Screens">${SCREENS.filter(([, , least]) => least === "viewer" || may(least)).map(([name, text]) => html`<a href=${name ? to(name) : "#/"} aria-current=${current === name ? "page" : undefined}>${text}</a>`)}</nav>
      <div class="end"><span class="quiet mono">${about.value ? about.value.headrace_version : ""}</span><a href="docs">API</a><${SignOut} /><${ThemeButton} /><${Help} /></div></header>
    <main class="page" id="content" tabindex="-1">${refusal.value ? html`<${SignIn} />` : html`<${Trouble} error=${trouble.value} /><${Screen} />`}</main><${Overlays} />`;
}

function Screen() {
  const [first, name, tab] = route.value;
  if (first === undefined) return html`<${Overview} />`;
  if (first === "connectors" && name === undefined) return html`<${Connectors} />`;
  if (first === "connectors") return html`<${Connector} key=${name} name=${name} tab=${tab ?? ""} />`;
  if (first === "create") return html`<${Create} plugin=${name} />`;
  if (first === "dead-letters") return html`<${AllDeadLetters} />`;
  if (first === "workers") return html`<${Workers} />`;
  if (first === "plugins") return html`<${Plugins} />`;
  if (first === "audit") return html`<${Audit} />`;
  if (first === "loggers") return html`<${Loggers} />`;
  return html`<p class="note">There is no such screen. <a href="#/">To the overview</a></p>`;
}

/** The address belongs to the screens, so the focus is moved by hand. @param {Event} event */
function skip(event) {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

const place = /** @type {Element} */ (document.getElementById("app"));
place.replaceChildren();
render(html`<${Frame} />`, place);
listen();
follow();
