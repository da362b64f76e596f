/** A run: its timeline, the selected step, and what was known of the files at that moment. */

import { visible } from "./ansi.js";
import { Controls } from "./controls.js";
import { announce, atMostEvery, fill, h, whenQuiet } from "./dom.js";
import { FileMap } from "./filemap.js";
import { nameParts } from "./format.js";
import { followRun, newPart } from "./live.js";
import { LAST, replaceAddress, runAddress, runsAddress } from "./router.js";
import { runHead } from "./runhead.js";
import { StateViewPanel } from "./stateview.js";
import { stepInWords, StepPanel } from "./step.js";
import { StepList } from "./steps.js";
import { Timeline } from "./timeline.js";

const PACE = 600; // Milliseconds that a step stays while the run is played.

/** The view of one run. */
export class RunView {
  constructor(route, { source, crumbs, connected }) {
    this.source = source;
    this.crumbs = crumbs;
    this.connected = connected;
    this.id = route.id;
    this.selected = 0;
    this.timeline = new Timeline("Steps", (step) => this.select(step));
    this.list = new StepList(this.id);
    this.panel = new StepPanel(source, this.id);
    this.map = new FileMap(this.id);
    this.view = new StateViewPanel();
    this.head = h("section", { class: "run-head", "aria-label": "Run" });
    this.element = h("div", { class: "run-view" }, h("p", { class: "empty" }, "Reading the run …"));
    this.rememberAddress = atMostEvery(200, () => this.gone || replaceAddress(runAddress(this.id, this.selected)));
    this.askForStep = whenQuiet(15, () => this.showStep());
    this.actions = {
      next: () => this.select(this.selected + 1),
      previous: () => this.select(this.selected - 1),
      first: () => this.select(0),
      last: () => this.select(this.length - 1),
      nextMark: () => this.selectMark(1),
      previousMark: () => this.selectMark(-1),
      play: () => this.play(),
      leave: () => {
        location.hash = runsAddress();
      },
    };
    this.controls = new Controls(this.actions, (step) => this.select(step));
    this.open(route.step);
  }

  get length() {
    return this.run?.steps.category.length ?? 0;
  }

  /** Whether an address is one of this run's. */
  accepts(route) {
    return route.view === "run" && route.id === this.id;
  }

  /** Go to the step that an address asks for. */
  update(route) {
    if (this.run && route.step !== null) this.goTo(route.step);
  }

  /** Draw with the colours of today. */
  repaint() {
    this.timeline.repaint();
  }

  /** Stop whatever goes on. */
  destroy() {
    this.gone = true;
    this.stopFollowing?.();
    clearInterval(this.playing);
    this.timeline.destroy();
    this.list.destroy();
    this.map.destroy();
  }

  async open(step) {
    try {
      this.run = await this.source.run(this.id);
    } catch (error) {
      fill(this.element, h("p", { class: "empty", role: "alert" }, `This run can't be shown: ${error.message}`));
      return;
    }
    if (this.gone) return;
    this.lay();
    this.timeline.setSteps(this.run.steps, this.run.compactions);
    this.list.setSteps(this.run.steps);
    this.map.add(this.run.files);
    this.goTo(step ?? 0);
    await this.showStep(); // Before anything else is asked for, so that there is something to look at.
    this.follow();
  }

  /** Go where an address points, as far as the run has got: the rest of the way is made when it has. */
  goTo(step) {
    this.select(step === LAST ? this.length - 1 : step);
    this.awaited = step === LAST || step < this.length ? null : step;
    this.follows = step === LAST; // A step that is asked for stays, even if it is the last at the moment.
  }

  lay() {
    const { line } = this.run;
    document.title = `${visible(line.name)} · Ledger`;
    this.crumbs([
      ["Runs", runsAddress()],
      [visible(nameParts(line.name)[1]), null],
    ]);
    this.drawHead();
    this.controls.explain(line.hypothetical);
    fill(
      this.element,
      this.head,
      h(
        "section",
        { class: "panel time-panel", "aria-label": "Timeline" },
        this.controls.element,
        this.timeline.element,
      ),
      h(
        "div",
        { class: "columns" },
        this.list.element,
        this.panel.element,
        h("div", { class: "known" }, this.map.element, this.view.element),
      ),
    );
  }

  drawHead() {
    fill(this.head, runHead(this.run));
  }

  /** Move to a step: what is at hand at once, what has to be asked for as soon as it is there. */
  select(asked) {
    if (this.length === 0) return this.panel.fail("There is no step yet.");
    const step = Math.max(0, Math.min(this.length - 1, Math.round(asked) || 0));
    this.selected = step;
    this.awaited = null;
    this.follows = !this.run.line.replayed && step === this.length - 1;
    this.showPlace();
    this.rememberAddress();
    this.askForStep();
    return undefined;
  }

  showPlace() {
    this.timeline.select(this.selected);
    this.list.select(this.selected);
    this.map.select(this.selected);
    this.controls.show(this.selected, this.length);
  }

  /** Move to the next step, in either direction, that has a mark. */
  selectMark(direction) {
    const { mark } = this.run?.steps ?? {};
    for (let step = this.selected + direction; step >= 0 && step < this.length; step += direction) {
      if (mark[step]) return this.select(step);
    }
    return announce("There is none.");
  }

  async showStep() {
    const asked = this.selected;
    if (this.gone || this.length === 0) return;
    try {
      const step = await this.source.step(this.id, asked);
      if (this.gone || asked !== this.selected || asked === this.shown) return;
      this.shown = asked;
      this.panel.show(step, this.run.line.replayed);
      this.view.show(step, this.run.line.replayed);
      announce(stepInWords(step));
      if (asked + 1 < this.length) this.source.step(this.id, asked + 1).catch(() => {});
    } catch (error) {
      if (asked === this.selected) this.panel.fail(`Step ${asked} can't be shown: ${error.message}`);
    }
  }

  /** Go through the run step by step, until the end or the next press. */
  play() {
    const begin = !this.playing && this.length > 0;
    clearInterval(this.playing);
    this.playing = null;
    if (begin && this.selected === this.length - 1) this.select(0);
    if (begin) {
      this.playing = setInterval(() => {
        if (this.shown !== this.selected) return; // Not faster than the steps come.
        if (this.selected < this.length - 1) this.select(this.selected + 1);
        else this.play();
      }, PACE);
    }
    this.controls.showPlaying(begin);
  }

  follow() {
    if (this.gone) return;
    const address = this.source.eventsAddress(this.id);
    if (!this.run.more || address === null) return;
    this.stopFollowing = followRun(address, () => this.length, {
      grow: (part) => this.grow(part),
      end: (end) => this.end(end),
      connected: (yes) => this.showConnection(yes),
      refusal: () => this.source.refusal(this.id),
    });
  }

  showConnection(yes) {
    this.connected(yes ? (this.run.line.live ? "live" : "reading") : "lost");
  }

  /** No more will come: say why. */
  end({ reason, words, line, trouble }) {
    const watched = this.run.line.live; // What was only read late has no end that is news.
    this.run.line = line ?? { ...this.run.line, live: false };
    this.run.trouble = [...(trouble ?? this.run.trouble), ...(words ? [words] : [])];
    this.drawHead();
    this.connected(watched || reason === "gone" || reason === "trouble" ? reason : "");
  }

  /** Take in new steps; whoever looks at the last one keeps looking at the last one. */
  grow(whole) {
    const known = this.length;
    if (whole.first + whole.steps.category.length < known) return location.reload(); // It is another run by now.
    const part = newPart(whole, known);
    this.run.line = part.line;
    this.showConnection(true);
    for (const [name, column] of Object.entries(part.steps)) this.run.steps[name].push(...column);
    this.run.compactions.push(...part.compactions);
    this.timeline.setSteps(this.run.steps, this.run.compactions);
    this.list.setSteps(this.run.steps, { grown: true });
    this.map.add(part.files);
    this.drawHead();
    if (this.awaited !== null) this.goTo(this.awaited);
    else if (this.follows) this.select(this.length - 1);
    else this.showPlace();
    return undefined;
  }
}
