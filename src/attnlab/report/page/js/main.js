/* The order of things: draw the sections, and draw again what a choice concerns. */
"use strict";
(() => {
  const { header, themeSwitch, controls, onChoice, view, details } = attnlab;
  const SELECTION = ["comparison", "filters", "group", "average", "query"];
  // Each section with the choices, beside what is in view, that it draws from.
  const SECTIONS = [
    ["length", attnlab.lengths, ["kind", "difference", "lines", "off"]],
    ["cells", attnlab.table, ["kind", "sort", "descending", "page"]],
    ["trade", attnlab.trade, ["cost"]],
    ["comparisons", attnlab.comparisons, ["metric", "tests", "controlled", "testSort", "testDescending"]],
    ["effects", attnlab.effects, ["effect"]],
    ["samples", attnlab.samples, ["sentence", "shown"]],
    ["published", attnlab.published, []],
  ];

  function draw(changed) {
    const now = view();
    const concerns = (choices) => !changed || [...SELECTION, ...choices].some((choice) => changed.has(choice));
    if (concerns([])) header(now);
    if (concerns(["off"])) controls(now);
    for (const [id, section, choices] of SECTIONS) if (concerns(choices)) show(now, id, section);
    if (!changed || changed.has("row") || changed.has("comparison")) details(now);
  }

  function show(now, id, section) {
    const host = document.getElementById(id);
    host.hidden = !section(now, host.querySelector(".body"));
  }

  themeSwitch();
  if (attnlab.data.comparisons.length) {
    onChoice(draw);
    draw(null);
  } else {
    document.getElementById("summary").textContent = "No run with a score was found.";
    document.getElementById("toolbar").hidden = true;
  }
  document.documentElement.dataset.ready = "yes";
})();
