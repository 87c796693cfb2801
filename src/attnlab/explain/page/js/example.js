/* The controls of the worked example: a point, from which every number of the page follows. */
"use strict";
(() => {
  const { data, numbers, update } = attnlab;
  if (!data.example) return;
  const { STEPS, ELSEWHERE } = data.example;
  const main = document.getElementById("walk");
  const point = structuredClone(data.example.point);
  const all = (selector) => [...document.querySelectorAll(selector)];

  function draw() {
    const tree = numbers(point);
    attnlab.tree = tree;
    update(main, tree);
    all("[data-slot]").forEach((slider) => {
      slider.value = point.state[slider.dataset.slot];
    });
  }

  /* Radio buttons of one name: the value of the one that is chosen. */
  function choice(name, chosen) {
    for (const button of all(`input[name="${name}"]`)) {
      button.addEventListener("change", () => {
        if (!button.checked) return;
        chosen(button.value);
        draw();
      });
    }
  }

  all("[data-slot]").forEach((slider) =>
    slider.addEventListener("input", () => {
      point.state[slider.dataset.slot] = Number(slider.value);
      draw();
    }),
  );
  all("[data-window]").forEach((slider) =>
    slider.addEventListener("input", () => {
      point[slider.dataset.window] = Number(slider.value);
      draw();
    }),
  );
  choice("output", (value) => {
    point.output = Number(value);
    point.state = [...STEPS[point.output - 1]];
  });
  choice("scorer", (value) => {
    point.additive = value === "additive";
  });
  document.getElementById("slots").addEventListener("change", (event) => {
    point.slots = event.target.value.split(",").map(Number);
    draw();
  });
  all("[data-go]").forEach((button) =>
    button.addEventListener("click", () => {
      point.state = [...(button.dataset.go === "elsewhere" ? ELSEWHERE : STEPS[point.output - 1])];
      if (button.dataset.go === "elsewhere") {
        point.additive = true;
        document.querySelector('input[name="scorer"][value="additive"]').checked = true;
      }
      draw();
    }),
  );
  draw();
})();
