/* Before the first paint: the colours that the reader chose on an earlier visit. */
"use strict";
try {
  const chosen = localStorage.getItem("attnlab-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  /* A browser may forbid storage to files; then the system's setting holds. */
}
