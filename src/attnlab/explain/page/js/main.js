/* What both kinds of walkthrough have: the theme, pictures of which one is shown, and the sign that all is drawn. */
"use strict";
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const dark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => (button.textContent = dark() ? "Light colours" : "Dark colours");
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("attnlab-theme", root.dataset.theme);
    } catch {
      /* A browser may forbid storage to files. */
    }
    name();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();

  for (const group of document.querySelectorAll("[data-one-of]")) {
    const show = (key) => {
      for (const figure of group.querySelectorAll("[data-key]")) figure.hidden = figure.dataset.key !== key;
    };
    for (const input of group.querySelectorAll("input[type=radio]")) {
      input.addEventListener("change", () => input.checked && show(input.value));
      if (input.checked) show(input.value);
    }
  }
  const panel = document.getElementById("panel");
  if (panel && matchMedia("(max-width: 700px)").matches) panel.open = false;
  root.dataset.ready = "yes";
})();
