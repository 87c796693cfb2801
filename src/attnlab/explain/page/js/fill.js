/* Numbers in sentences and pictures, as attnlab/explain/filling.py and drawing.py put them in the first time. */
"use strict";
(() => {
  const PLACE = /\{([\w.]+)(?::([+]?)(\d+))?\}/g;
  const OF = {
    same: (value) => value,
    size: Math.abs,
    below: (value) => Math.min(value, 0),
    above: (value) => Math.max(value, 0),
  };

  const lookup = (tree, path) => path.split(".").reduce((node, part) => node?.[part], tree);

  function shown(value, digits, signed) {
    if (!Number.isFinite(value)) return "–";
    const text = Math.abs(value).toFixed(digits);
    if (!Number(text)) return text;
    return (value < 0 ? "−" : signed ? "+" : "") + text;
  }

  function fill(template, tree) {
    return template.replace(PLACE, (_, path, sign, digits) => {
      const value = lookup(tree, path);
      if (value === undefined || value === null) return "–";
      return digits === undefined ? String(value) : shown(value, Number(digits), sign === "+");
    });
  }

  const plain = (value) => String(Number((Number.isFinite(value) ? value : 0).toFixed(2)));

  function bound(told, tree) {
    const [path, ...rest] = told.split(",");
    const value = lookup(tree, path);
    if (rest.length === 4) {
      const [x, dx, y, scale] = rest.map(Number);
      return (value ?? []).map((one, k) => `${plain(x + k * dx)},${plain(y + scale * one)}`).join(" ");
    }
    return plain(Number(rest[1]) + Number(rest[0]) * OF[rest[2]](value ?? 0));
  }

  /* Every template and every bound attribute below an element. */
  function update(root, tree) {
    for (const element of root.querySelectorAll("[data-t]")) element.textContent = fill(element.dataset.t, tree);
    for (const element of root.querySelectorAll("[data-b]")) {
      for (const binding of element.dataset.b.split(";")) {
        const [name, told] = binding.split("=");
        element.setAttribute(name, bound(told, tree));
      }
    }
  }

  Object.assign(attnlab, { update });
})();
