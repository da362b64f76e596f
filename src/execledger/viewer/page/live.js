/** A run that grows while it is looked at: server-sent events, taken up again when the connection breaks. */

const PAUSE = 1000; // Milliseconds before a connection that was refused is tried again.

/**
 * Follow a run behind the steps that are `known()`. `grow(part)` gets what is new, `end(last)` the run's last word,
 * `connected(yes)` how things stand; `refusal()` asks why a server says no. The function that is returned stops it.
 */
export function followRun(address, known, { grow, end, connected, refusal }) {
  let events = null;
  let timer = 0;
  let stopped = false;
  const open = () => {
    events = new EventSource(`${address}?after=${known()}`);
    events.addEventListener("open", () => connected(true));
    events.addEventListener("steps", (event) => grow(JSON.parse(event.data)));
    events.addEventListener("end", (event) => {
      stop();
      end(JSON.parse(event.data || "{}"));
    });
    events.addEventListener("error", () => {
      connected(false);
      // The browser tries again by itself unless the server said no.
      if (events.readyState === EventSource.CLOSED) timer = setTimeout(again, PAUSE);
    });
  };
  const again = async () => {
    const words = await refusal();
    if (stopped) return;
    if (words === "") open();
    else {
      stop();
      end({ reason: "gone", words, line: null });
    }
  };
  const stop = () => {
    stopped = true;
    clearTimeout(timer);
    events?.close();
  };
  open();
  return stop;
}

/** The part of an answer that is new to somebody who has `known` steps: what comes twice is dropped. */
export function newPart(part, known) {
  const skip = Math.max(0, known - part.first);
  const steps = Object.fromEntries(Object.entries(part.steps).map(([name, column]) => [name, column.slice(skip)]));
  const files = part.files
    .map((file) => ({ ...file, events: file.events.filter((event) => event[0] >= known) }))
    .filter((file) => file.events.length > 0);
  return { ...part, steps, files, compactions: part.compactions.filter((step) => step >= known) };
}
