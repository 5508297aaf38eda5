// SPDX-License-Identifier: Apache-2.0
// Runs before the first paint, so that no page flashes in the other theme.
(() => {
  try {
    const theme = localStorage.getItem("headrace.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage is forbidden: the system's theme it is.
  }
})();
