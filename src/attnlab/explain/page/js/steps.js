/* The steps of trained runs: a slider for all of them; a run that has stopped earlier stays at its last step. */
"use strict";
(() => {
  const { data, update } = attnlab;
  if (!data.runs) return;
  const PAUSE = 900; // milliseconds a step
  const slider = document.getElementById("step");
  const shown = document.getElementById("step-shown");
  const word = document.getElementById("step-word");
  const play = document.getElementById("play");
  const cards = [...document.querySelectorAll("[data-run]")];
  let timer = null;

  function draw() {
    const step = Number(slider.value);
    shown.textContent = slider.value;
    const said = new Set(data.runs.map((steps) => steps[step - 1]?.word).filter((one) => one !== undefined));
    word.textContent = said.size === 1 ? [...said][0] : ""; // where the runs write different words, each card has its own
    for (const card of cards) {
      const steps = data.runs[card.dataset.run];
      update(card, steps[Math.min(step, steps.length) - 1]);
    }
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "play";
  }

  function next() {
    if (slider.value === slider.max) return stop();
    slider.value = Number(slider.value) + 1;
    draw();
  }

  slider.addEventListener("input", () => {
    stop();
    draw();
  });
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (slider.value === slider.max) slider.value = 1;
    draw();
    timer = setInterval(next, PAUSE);
    play.textContent = "stop";
  });
  draw();
})();
