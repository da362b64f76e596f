/** The timeline of a run: a lane per category and the marks of steps, drawn on a canvas as far as in sight. */

import { visible } from "./ansi.js";
import { fill, h, oncePerFrame } from "./dom.js";
import { count } from "./format.js";
import { CATEGORIES, inBrief, inSight, overview, stepAt, tickDistance } from "./lanes.js";
import { drawMark } from "./marks.js";

const LANE = 13; // Pixels from one lane to the next.
const MARK_LANE = 16; // The lane of marks, above the others.
const AXIS = 18; // The numbers below.
const OVERVIEW = 16;

/** A timeline; `choose(step)` is called when one is pointed at. */
export class Timeline {
  constructor(name, choose) {
    this.steps = null;
    this.selected = 0;
    this.labels = h("div", { class: "lane-labels", "aria-hidden": "true" });
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.slider = h(
      "div",
      { class: "lanes", role: "slider", tabindex: "0", "aria-label": name },
      this.canvas,
      this.tip,
    );
    this.brush = h("div", { class: "brush" });
    this.whole = h("canvas", {});
    this.wholeFrame = h("div", { class: "whole", "aria-hidden": "true", hidden: true }, this.whole, this.brush);
    this.element = h("div", { class: "timeline" }, this.labels, this.slider, this.wholeFrame);
    this.draw = oncePerFrame(() => this.drawNow());
    this.point(this.slider, (x) => stepAt(this.sight, x), choose);
    this.point(this.wholeFrame, (x) => this.stepInWhole(x), choose);
    this.hover();
    this.watching = new ResizeObserver(() => {
      this.stale = true;
      this.draw();
    });
    this.watching.observe(this.slider);
  }

  /** Show other steps, or the same ones grown; `categories` get a lane each. */
  setSteps(steps, compactions, categories = usedCategories([steps])) {
    this.steps = steps;
    this.compactions = new Set(compactions);
    this.categories = categories;
    fill(
      this.labels,
      h("span", { class: "marks" }, "Ledger"),
      categories.map((name) => h("span", {}, name)),
    );
    this.slider.setAttribute("aria-valuemin", 0);
    this.slider.setAttribute("aria-valuemax", Math.max(0, steps.category.length - 1));
    this.stale = true;
    this.drawNow(); // At once, so that it has its height before anything below is put in its place.
  }

  /** Move to a step. */
  select(step) {
    this.selected = step;
    this.slider.setAttribute("aria-valuenow", step);
    this.slider.setAttribute("aria-valuetext", visible(inBrief(this.steps, step)));
    this.draw();
  }

  /** Draw everything anew, with today's colours. */
  repaint() {
    this.stale = true;
    this.draw();
  }

  /** Stop watching. */
  destroy() {
    this.watching.disconnect();
  }

  stepInWhole(x) {
    const total = this.steps.category.length;
    return Math.max(0, Math.min(total - 1, Math.floor((x / this.wholeFrame.clientWidth) * total)));
  }

  /** Choose the step under the pointer, also while it is dragged. */
  point(element, stepOf, choose) {
    const at = oncePerFrame((x) => this.sight && choose(stepOf(x - element.getBoundingClientRect().left)));
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      element.setPointerCapture(event.pointerId);
      at(event.clientX);
    });
    element.addEventListener("pointermove", (event) => {
      if (event.buttons === 1 && element.hasPointerCapture(event.pointerId)) at(event.clientX);
    });
  }

  hover() {
    this.slider.addEventListener("pointermove", (event) => {
      if (!this.sight) return;
      const left = event.clientX - this.slider.getBoundingClientRect().left;
      const step = stepAt(this.sight, left);
      this.tip.textContent = visible(inBrief(this.steps, step));
      this.tip.hidden = left > (this.sight.last - this.sight.first + 1) * this.sight.cell;
      this.tip.style.left = `${Math.min(left + 12, this.slider.clientWidth * 0.6)}px`;
    });
    this.slider.addEventListener("pointerleave", () => {
      this.tip.hidden = true;
    });
  }

  drawNow() {
    if (this.steps === null || this.slider.clientWidth === 0) return;
    this.style = getComputedStyle(document.documentElement);
    this.sight = inSight(this.steps.category.length, this.selected, this.slider.clientWidth);
    this.drawLanes();
    this.drawWhole();
    this.stale = false;
  }

  colour(name) {
    return this.style.getPropertyValue(`--${name}`);
  }

  drawLanes() {
    const height = MARK_LANE + this.categories.length * LANE + AXIS;
    const pen = sized(this.canvas, this.slider.clientWidth, height);
    const { cell, first, last } = this.sight;
    pen.fillStyle = this.colour("lane");
    this.categories.forEach((_, lane) =>
      pen.fillRect(0, MARK_LANE + lane * LANE + 1, (last - first + 1) * cell, LANE - 2),
    );
    pen.fillStyle = this.colour("selected");
    pen.fillRect((this.selected - first) * cell, 0, cell, height);
    for (let step = first; step <= last; step += 1) this.drawStep(pen, step, (step - first) * cell, cell);
    this.drawAxis(pen, height);
  }

  drawStep(pen, step, x, cell) {
    const { category, mark: marks } = this.steps;
    const lane = Math.max(0, this.categories.indexOf(category[step]));
    const mark = marks[step];
    const box = [x + 1, MARK_LANE + lane * LANE + 1, cell - 2, LANE - 2];
    pen.fillStyle = pen.strokeStyle = this.colour(`category-${category[step]}`);
    if (mark === "reuse") pen.strokeRect(box[0] + 0.75, box[1] + 0.75, box[2] - 1.5, box[3] - 1.5);
    else pen.fillRect(...box);
    if (mark) drawMark(pen, mark, x + cell / 2, MARK_LANE / 2, this.colour("mark"));
    if (this.compactions.has(step)) {
      pen.fillStyle = this.colour("text");
      for (let y = 0; y < this.canvas.clientHeight - AXIS; y += 6) pen.fillRect(x - 0.5, y, 1, 4);
    }
  }

  drawAxis(pen, height) {
    const { cell, first, last } = this.sight;
    const distance = tickDistance(cell);
    pen.font = `11px ${this.style.getPropertyValue("--sans")}`;
    pen.textAlign = "center";
    for (let step = Math.ceil(first / distance) * distance; step <= last; step += distance) {
      pen.fillStyle = this.colour(step === this.selected ? "text" : "muted");
      pen.fillText(count(step), Math.min((step - first + 0.5) * cell, this.slider.clientWidth - 12), height - 5);
    }
  }

  /** The whole run, only where it does not fit anyway; it is drawn again when it has changed. */
  drawWhole() {
    const total = this.steps.category.length;
    const { first, last } = this.sight;
    this.wholeFrame.hidden = last - first + 1 >= total;
    if (this.wholeFrame.hidden) return;
    const width = this.wholeFrame.clientWidth;
    this.brush.style.left = `${(first / total) * width}px`;
    this.brush.style.width = `${Math.max(3, ((last - first + 1) / total) * width)}px`;
    if (!this.stale) return;
    const pen = sized(this.whole, width, OVERVIEW);
    overview(this.steps, width).forEach(({ category, mark }, x) => {
      pen.fillStyle = this.colour(`category-${category}`);
      pen.fillRect(x, 5, 1, OVERVIEW - 5);
      if (mark) {
        pen.fillStyle = this.colour("mark");
        pen.fillRect(x, 0, 1, 4);
      }
    });
  }
}

/** The categories that occur in some runs, in the order of their lanes. */
export function usedCategories(runs) {
  const used = new Set(runs.flatMap((steps) => steps.category));
  return CATEGORIES.filter((name) => used.has(name));
}

/** Give a canvas the size that it is shown in, sharp on any screen, and empty it. */
function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.lineWidth = 1.5;
  return pen;
}
