// SPDX-License-Identifier: Apache-2.0
// The form that asks for user and password or for a token, and the button that forgets them.
import { get } from "./api.js";
import { basic, isSignedIn, refusal, signIn, signOut } from "./credentials.js";
import { html, useState } from "./html.js";
import { Card, Trouble } from "./parts.js";

export function SignIn() {
  const { message, schemes } = refusal.value ?? { message: "", schemes: "" };
  const ways = [["basic", "User and password"], ["bearer", "Token"]].filter(([scheme]) => schemes.includes(scheme));
  const [chosen, setChosen] = useState("");
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const way = chosen || ways[0]?.[0];
  const enter = async (/** @type {any} */ event) => {
    event.preventDefault();
    const typed = new FormData(event.target);
    const text = (/** @type {string} */ name) => String(typed.get(name) ?? "");
    const authorization = way === "basic" ? basic(text("user"), text("password")) : `Bearer ${text("token")}`;
    try {
      await get([], {}, undefined, authorization);
      signIn(authorization);
    } catch (problem) {
      setError(/** @type {Error} */ (problem));
    }
  };
  if (!way) return html`<div class="note error" role="alert">${message} This worker takes neither passwords nor tokens, but certificates, or users of a proxy.</div>`;
  return html`<div class="sign-in"><${Card} title="Sign in" end=${ways.length > 1 && ways.map(([scheme, text]) => html`<button type="button" aria-pressed=${way === scheme} onClick=${() => setChosen(scheme)}>${text}</button>`)}>
    <form class="fields" key=${way} onSubmit=${enter}><${Trouble} error=${error} />
      ${way === "basic"
        ? html`<div class="field"><label for="user">User</label><input type="text" id="user" name="user" required autocomplete="username" pattern="[^:]*" title="A name without a colon" /></div>
          <div class="field"><label for="password">Password</label><input type="password" id="password" name="password" required autocomplete="current-password" /></div>`
        : html`<div class="field"><label for="token">Token</label><input type="password" id="token" name="token" required autocomplete="off" pattern="[!-~]+" title="A token has no spaces" /></div>`}
      <div><button class="primary">Sign in</button></div></form><//></div>`;
}

export function SignOut() {
  return isSignedIn() && html`<button class="plain" onClick=${signOut}>Sign out</button>`;
}
