/* Elements, numbers and links. Text from the data reaches the page through `h` alone, as text nodes. */
"use strict";
globalThis.attnlab = {};
(() => {
  const SVG = "http://www.w3.org/2000/svg";

  /* An element: h("td", {class: "number", on: {click}}, "text", node, null). Strings become text nodes. */
  function h(tag, attributes = {}, ...children) {
    return fill(document.createElement(tag), attributes, children);
  }

  function svg(tag, attributes = {}, ...children) {
    return fill(document.createElementNS(SVG, tag), attributes, children);
  }

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "on") for (const [event, run] of Object.entries(value)) element.addEventListener(event, run);
      else if (name === "style") for (const [key, set] of Object.entries(value)) element.style.setProperty(key, set);
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(
      ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
    );
    return element;
  }

  const missing = (value) => value === null || value === undefined || Number.isNaN(value);

  /* 31.42, −0.50, – for nothing. */
  function number(value, digits = 2) {
    if (missing(value)) return "–";
    return value.toFixed(digits).replace("-", "−");
  }

  function signed(value, digits = 2) {
    if (missing(value)) return "–";
    return value > 0 ? `+${number(value, digits)}` : number(value, digits);
  }

  function interval(pair, digits = 2) {
    return pair ? `[${number(pair[0], digits)}, ${number(pair[1], digits)}]` : "";
  }

  /* A p value; below a thousandth its order of magnitude says nothing more. */
  function probability(value) {
    if (missing(value)) return "–";
    return value < 0.001 ? "< 0.001" : value.toFixed(3);
  }

  /* 12.3 M, 4.5 k: numbers to compare at a glance. */
  function short(value) {
    if (missing(value)) return "–";
    for (const [size, unit] of [
      [1e9, " G"],
      [1e6, " M"],
      [1e3, " k"],
    ]) {
      if (Math.abs(value) >= size) return Number((value / size).toPrecision(3)) + unit;
    }
    return String(Number(value.toPrecision(3)));
  }

  function duration(seconds) {
    if (missing(seconds)) return "–";
    if (seconds < 120) return `${Math.round(seconds)} s`;
    return seconds < 7200 ? `${(seconds / 60).toFixed(1)} min` : `${(seconds / 3600).toFixed(1)} h`;
  }

  function memory(bytes) {
    if (missing(bytes)) return "–";
    return bytes >= 2 ** 30 ? `${(bytes / 2 ** 30).toFixed(2)} GiB` : `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  }

  const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
  const words = (name) => String(name).replaceAll("_", " ");
  const show = (value) =>
    value === null || value === undefined ? "none" : typeof value === "object" ? JSON.stringify(value) : String(value);
  const mean = (values) => {
    const known = values.filter((value) => !missing(value));
    return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
  };

  /* A link to a file below or beside the page, or null: a path of the data is never followed as anything else. */
  function fileLink(path, ...children) {
    if (!path || data.anonymous || /^[a-z][a-z0-9+.-]*:|^[/\\]/i.test(path)) return null;
    return h("a", { href: path.split("/").map(encodeURIComponent).join("/") }, ...children);
  }

  /* A link to the web, or its plain text where the address is no web address. */
  function webLink(address, ...children) {
    const safe = /^https?:\/\//i.test(address ?? "");
    return safe ? h("a", { href: address, rel: "noreferrer noopener" }, ...children) : h("span", {}, ...children);
  }

  const data = JSON.parse(document.getElementById("data").textContent);
  const narrow = () => matchMedia("(max-width: 700px)").matches;

  Object.assign(attnlab, {
    data,
    h,
    svg,
    number,
    signed,
    interval,
    probability,
    short,
    duration,
    memory,
    count,
    words,
    show,
    mean,
    missing,
    fileLink,
    webLink,
    narrow,
  });
})();
