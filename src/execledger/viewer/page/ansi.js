/**
 * Output of programs as pieces of text with fixed classes: colours of a terminal are kept, everything else that a
 * terminal would obey is made visible. Nothing that a text holds can choose a class of its own.
 */

const SPECIAL = /\x1b\[([\d;]*)m|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const STYLES = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse" };
const ENDS = { 22: ["bold", "dim"], 23: ["italic"], 24: ["underline"], 27: ["inverse"] };

/** A control character by a picture or its number, so that it can be seen and does nothing. */
function pictured(character) {
  const code = character.codePointAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
}

/** A short text with whatever is invisible in it made visible, and a mark for what is no character. */
export function visible(text) {
  return text
    .toWellFormed()
    .replace(SPECIAL, (found) => (found.length > 1 ? pictured(found[0]) + found.slice(1) : pictured(found)));
}

/** Pieces `[text, classes]` of an output, in order. */
export function ansiPieces(raw) {
  const text = raw.toWellFormed();
  const pieces = [];
  const add = (piece, classes) => {
    if (piece !== "") pieces.push([piece, classes]);
  };
  let style = new Style();
  let from = 0;
  for (const found of text.matchAll(SPECIAL)) {
    add(text.slice(from, found.index), style.classes);
    from = found.index + found[0].length;
    if (found[1] !== undefined) style = style.after(found[1]);
    else if (found[0] !== "\r" || text[from] !== "\n") add(pictured(found[0]), "control");
  }
  add(text.slice(from), style.classes);
  return pieces;
}

/** How a terminal would print what comes next. */
class Style {
  constructor(colour = "", background = "", styles = []) {
    this.colour = colour;
    this.background = background;
    this.styles = styles;
  }

  get classes() {
    return [this.colour && `fg-${this.colour}`, this.background && `bg-${this.background}`, ...this.styles]
      .filter(Boolean)
      .join(" ");
  }

  /** The style after a sequence of codes; a code that is not known changes nothing. */
  after(codes) {
    const numbers = codes.split(";").map(Number);
    let { colour, background, styles } = this;
    for (let place = 0; place < numbers.length; place += 1) {
      const code = numbers[place];
      if (code === 0) [colour, background, styles] = ["", "", []];
      else if (STYLES[code]) styles = [...styles.filter((name) => name !== STYLES[code]), STYLES[code]];
      else if (ENDS[code]) styles = styles.filter((name) => !ENDS[code].includes(name));
      else if (code === 38 || code === 48) place += numbers[place + 1] === 5 ? 2 : 4;
      else if (code === 39) colour = "";
      else if (code === 49) background = "";
      else [colour, background] = [named(code, 30, 90) ?? colour, named(code, 40, 100) ?? background];
    }
    return new Style(colour, background, styles);
  }
}

function named(code, plain, bright) {
  return COLOURS[code - plain] ?? COLOURS[code - bright];
}
