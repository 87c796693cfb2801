/* One small panel beside the pointer, for every chart, and words that a sign stands for. */
"use strict";
(() => {
  const panel = document.getElementById("tip");

  /* Shows content beside a point of the window, on the side that has room; a popover lies above the drawer too. */
  function showTip(x, y, ...content) {
    panel.replaceChildren(...content.flat());
    if (!panel.matches(":popover-open")) panel.showPopover();
    const { width, height } = panel.getBoundingClientRect();
    const right = x + 16 + width < innerWidth;
    const left = right ? x + 16 : Math.max(8, x - 16 - width);
    panel.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
    panel.style.top = `${Math.max(8, Math.min(y - height / 2, innerHeight - height - 8))}px`;
  }

  function hideTip() {
    if (panel.matches(":popover-open")) panel.hidePopover();
  }

  /* A chart under the pointer has to forget its mark too: it tells of a mark only when that is another. */
  function scrolled() {
    if (!panel.matches(":popover-open")) return;
    const left = new PointerEvent("pointerleave", { pointerType: "mouse" });
    for (const svg of document.querySelectorAll("svg:hover")) svg.dispatchEvent(left);
    hideTip();
  }

  addEventListener("scroll", scrolled, { passive: true });
  addEventListener("keydown", (event) => event.key === "Escape" && hideTip());

  /* Makes an element explain itself under the pointer and under the keyboard. */
  function explains(element, content) {
    const open = () => {
      const box = element.getBoundingClientRect();
      showTip(box.right, box.top + box.height / 2, content());
    };
    element.addEventListener("pointerenter", open);
    element.addEventListener("focus", open);
    element.addEventListener("pointerleave", hideTip);
    element.addEventListener("blur", hideTip);
    return element;
  }

  Object.assign(attnlab, { showTip, hideTip, explains });
})();
