/* The head of the page: what was asked, what is compared, on what, and how sure the numbers are. */
"use strict";
(() => {
  const { data, choose, h, count, words, show } = attnlab;
  const at = (id) => document.getElementById(id);
  const LOST = 4; // rows whose missing seeds are named

  function header({ one, baseline }) {
    if (data.question) {
      at("question").textContent = data.question;
      at("question").hidden = false;
    }
    switcher(one);
    at("summary").replaceChildren(...summary(one));
    at("facts").replaceChildren(
      ...facts(one, baseline).map(([term, ...value]) =>
        h(
          "div",
          { class: ["BLEU", "chrF", "Intervals", "Tests"].includes(term) ? "long" : null },
          h("dt", {}, term),
          h("dd", {}, ...value),
        ),
      ),
    );
    at("notes").replaceChildren(...notes(one));
    at("files").replaceChildren(...files(one));
    at("made-with").textContent =
      `Made by attnlab ${data.version}${data.anonymous ? ", without names and paths" : ""}.`;
  }

  function switcher(one) {
    const box = at("switch");
    box.hidden = data.comparisons.length < 2;
    box.replaceChildren(
      ...data.comparisons.map((other) =>
        h(
          "button",
          {
            type: "button",
            class: "tab",
            "aria-pressed": String(other === one),
            on: {
              click: () =>
                choose({ comparison: other.id, filters: {}, off: [], row: "", page: 0, sentence: 0, group: "" }),
            },
          },
          tabName(other),
        ),
      ),
    );
  }

  /* What tells a comparison apart from others on a test set of the same name: its text, its BLEU. */
  function tabName(one) {
    const same = data.comparisons.filter(({ label }) => label === one.label);
    const parts = same.map(({ signature }) => signature.split("|"));
    const own = one.signature.split("|").filter((part) => !parts.every((other) => other.includes(part)));
    const texts = new Set(same.map(({ fingerprint }) => fingerprint));
    return [one.label, texts.size > 1 && one.fingerprint.slice(0, 8), ...own].filter(Boolean).join(", ");
  }

  function summary(one) {
    const kinds = (kind) => one.rows.filter((row) => row.kind === kind).length;
    const runs = one.rows.filter((row) => row.kind === "cell").reduce((sum, row) => sum + row.runs.length, 0);
    const lost = lacking(one);
    const asked = runs + lost.reduce((sum, { seeds }) => sum + seeds.length, 0);
    const what = `${count(kinds("cell"), "cell")} (${asked > runs ? `${runs} of ` : ""}${count(asked, "run")})`;
    const also = [
      kinds("system") && count(kinds("system"), "outside system"),
      kinds("missing") && `${kinds("missing")} without numbers`,
    ].filter(Boolean);
    const varied = one.varying.map((axis) => h("strong", {}, words(axis)));
    const constant = Object.entries(one.constant ?? {}).map(([axis, option]) => `${words(axis)} ${show(option)}`);
    return [
      also.length ? `${what}, ${also.join(", ")}. ` : `${what}. `,
      ...(varied.length ? ["They differ in ", ...listed(varied), ". "] : []),
      constant.length ? `In common: ${constant.join(", ")}. ` : "",
      lost.length ? `${told(lost)}.` : "",
    ];
  }

  /* The seeds without a score, by row and by what became of them. */
  function lacking(one) {
    return one.rows
      .filter((row) => row.kind !== "system")
      .flatMap((row) => ["missing", "failed", "interrupted"].map((what) => ({ row, what, seeds: row[what] ?? [] })))
      .filter(({ seeds }) => seeds.length);
  }

  /* "Seed 3 of fixed_vector is missing; seeds 1 and 2 of dot failed", and how many more. */
  function told(lost) {
    const parts = lost.slice(0, LOST).map(({ row, what, seeds }) => {
      const verb = { missing: seeds.length > 1 ? "are missing" : "is missing", failed: "failed" }[what];
      const stopped = seeds.length > 1 ? "were interrupted" : "was interrupted";
      return `seed${seeds.length > 1 ? "s" : ""} ${listed(seeds).join("")} of ${row.name} ${verb ?? stopped}`;
    });
    const more = lost.slice(LOST).reduce((sum, { seeds }) => sum + seeds.length, 0);
    const text = parts.join("; ") + (more ? `; ${count(more, "more seed")}` : "");
    return text[0].toUpperCase() + text.slice(1);
  }

  function listed(parts) {
    return parts.flatMap((part, k) => [k === 0 ? "" : k === parts.length - 1 ? " and " : ", ", part]);
  }

  function facts(one, baseline) {
    const level = Number((100 * one.level).toPrecision(6)); // not rounded: 99.9 is not 100
    const made = one.rows.some((row) => row.bleu?.ci)
      ? `${level} % bootstrap over sentences and seeds, ${one.resamples.toLocaleString("en")} resamples, seed ${one.seed}`
      : "none: the runs have no statistics of their sentences, or no samples were asked for";
    const tested = one.tests.length > 0 || one.rows.some((row) => row.test);
    return [
      ["Test set", one.label],
      ["Languages", one.languages],
      ["Sentences", one.n.toLocaleString("en")],
      ["Baseline", baseline ? baseline.name : "none named"],
      ["Intervals", made],
      tested
        ? ["Tests", `two-sided approximate randomisation, ${one.trials.toLocaleString("en")} trials, after Holm`]
        : null,
      ["BLEU", h("code", {}, one.signature)],
      one.chrf_signature ? ["chrF", h("code", {}, one.chrf_signature)] : null,
      [
        "Data",
        one.origin ?? "",
        one.fingerprint ? [" ", h("code", { title: "Fingerprint of the test set's text" }, one.fingerprint)] : null,
      ],
    ].filter(Boolean);
  }

  /* The same numbers as files, which lie beside the page. */
  function files(one) {
    const stem = (name) => (one.files ?? "table").replace(/^table/, name);
    const found = [
      ...["table.csv", "table.md", "table.tex"].map((name) => stem("table") + name.slice(5)),
      ...["tests", "lengths", "effects"].map((name) => `${stem(name)}.csv`),
      "checklist.md",
    ];
    const link = (name) => h("a", { href: encodeURIComponent(name) }, name);
    const figures = Object.entries(one.figures ?? {});
    return [
      "Beside this page: ",
      ...listed(found.map(link)),
      ".",
      figures.length
        ? h(
            "details",
            {},
            h("summary", {}, "Figures for a paper, as svg, png and pdf"),
            h("ul", {}, ...figures.map(([name, caption]) => h("li", {}, link(`${name}.svg`), ": ", caption))),
          )
        : "",
    ];
  }

  function notes(one) {
    const found = [...data.notes, ...(one.notes ?? [])];
    if (data.unscored.length) found.push(`Runs without a score: ${data.unscored.join("; ")}.`);
    if (!found.length) return [];
    const list = h("ul", {}, ...found.map((note) => h("li", {}, note)));
    const title = count(found.length, "note");
    return [h("details", { class: "notice", open: found.length < 4 }, h("summary", {}, title), list)];
  }

  /* Light, dark, or as the system has it. */
  function themeSwitch() {
    const button = at("theme");
    const root = document.documentElement;
    const dark = () =>
      (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    const say = () => {
      button.textContent = dark() ? "Light" : "Dark";
      button.setAttribute("aria-label", `Switch to ${dark() ? "light" : "dark"} colours`);
    };
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try {
        localStorage.setItem("attnlab-theme", root.dataset.theme);
      } catch {
        /* Kept for this visit only. */
      }
      say();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", say);
    say();
  }

  Object.assign(attnlab, { header, themeSwitch });
})();
