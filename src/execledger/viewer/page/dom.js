/** Elements from code. Data only ever becomes text or the value of a harmless attribute, never markup. */

/**
 * Build an element: `on…` attributes are listeners, `null` and `false` are left out, and strings are text.
 * @returns {HTMLElement}
 */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Put `children` in the place of whatever an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** The element of the page's skeleton with this id. */
export function part(id) {
  return document.getElementById(id);
}

/** Let a screen reader say something that is seen elsewhere. */
export function announce(text) {
  part("announce").textContent = text;
}

/** A function that calls `action` with its last arguments, once per frame at most. */
export function oncePerFrame(action) {
  let waiting = null;
  return (...latest) => {
    if (waiting === null)
      requestAnimationFrame(() => {
        const now = waiting;
        waiting = null;
        action(...now);
      });
    waiting = latest;
  };
}

/** A function that calls `action` with its last arguments, once it has been left alone for `delay` milliseconds. */
export function whenQuiet(delay, action) {
  let timer = 0;
  return (...latest) => {
    clearTimeout(timer);
    timer = setTimeout(action, delay, ...latest);
  };
}

/** A function that calls `action` soon, and not more often than every `delay` milliseconds. */
export function atMostEvery(delay, action) {
  let timer = 0;
  return () => {
    timer ||= setTimeout(() => {
      timer = 0;
      action();
    }, delay);
  };
}
