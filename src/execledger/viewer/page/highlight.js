/**
 * A small tokenizer of shell commands, for colour alone: what it gets wrong is coloured wrongly and nothing else.
 *
 * The texts of the tokens, put together, are the command again, whatever the command is.
 */

const OPERATOR = /(?:\d*(?:<<<|<<-?|>>|>&|<&|>\||<>|[<>])|&>>?|&&|\|\||\|&|;;|[|&;()]|\$\(|`)/y;
const SPACE = /\s+/y;
const COMMENT = /#[^\n]*/y;
const SINGLE = /'[^']*(?:'|$)|\$'(?:[^'\\]|\\[^])*(?:'|$)/y;
const VARIABLE = /\$(?:\{[^}]*\}|\w+|[@*#?$!-])/y;
const WORD = /(?:\\[^]|[^\s'"`$|&;()<>\\])+/y;
const ASSIGNMENT = /[A-Za-z_]\w*\+?=/y;
const DOUBLE_PLAIN = /(?:[^"\\$`]|\\[^])+/y;
const HEREDOC_WORD = /[ \t]*(?:'([^'\n]*)'|"([^"\n]*)"|\\?([\w.-]+))/y;

const OPENERS = new Set("if then elif else while until do time ! {".split(" ")); // A program follows.
const KEYWORDS = new Set([...OPENERS, ..."fi done esac } case for select function".split(" ")]);

/**
 * Tokens `[kind, text]`; kinds are program, keyword, assignment, option, string, variable, operator, comment, heredoc
 * and plain.
 */
export function shellTokens(source) {
  return new Tokens(source).all();
}

class Tokens {
  constructor(source) {
    this.source = source;
    this.at = 0;
    this.tokens = [];
    this.pending = []; // Ends of heredocs whose bodies begin with the next line.
    this.starts = true; // Whether the next word is a program.
  }

  all() {
    while (this.at < this.source.length) this.next();
    return this.tokens;
  }

  /** What `pattern` matches right here, or null. */
  match(pattern) {
    pattern.lastIndex = this.at;
    return pattern.exec(this.source);
  }

  push(kind, text) {
    const last = this.tokens.at(-1);
    if (last && last[0] === kind && kind !== "operator") last[1] += text;
    else this.tokens.push([kind, text]);
    this.at += text.length;
  }

  next() {
    const { source } = this;
    const found = this.match(SPACE);
    if (found) return this.space(found[0]);
    const character = source[this.at];
    if (character === "#") return this.push("comment", this.match(COMMENT)[0]);
    if (this.operator()) return undefined;
    return this.word();
  }

  space(text) {
    const line = text.indexOf("\n");
    if (line < 0) return this.push("plain", text);
    this.starts = true;
    if (this.pending.length === 0) return this.push("plain", text);
    this.push("plain", text.slice(0, line + 1));
    for (const end of this.pending.splice(0)) this.heredoc(end);
    return undefined;
  }

  /** Everything up to the line that ends the heredoc. */
  heredoc(end) {
    let stop = this.at;
    while (stop < this.source.length) {
      const newline = this.source.indexOf("\n", stop);
      const next = newline < 0 ? this.source.length : newline;
      if (this.source.slice(stop, next).trim() === end) break;
      stop = newline < 0 ? next : next + 1;
    }
    if (stop > this.at) this.push("heredoc", this.source.slice(this.at, stop));
    if (stop < this.source.length)
      this.push("operator", this.source.slice(stop, stop + this.source.slice(stop).search(/\n|$/)));
  }

  operator() {
    const found = this.match(OPERATOR);
    if (!found) return false;
    const [text] = found;
    this.push("operator", text);
    if (/^\d*<<-?$/.test(text)) this.heredocWord();
    else if (!/[<>]/.test(text)) this.starts = text !== ")";
    return true;
  }

  heredocWord() {
    const found = this.match(HEREDOC_WORD);
    if (!found) return;
    this.pending.push(found[1] ?? found[2] ?? found[3]);
    this.push("operator", found[0]);
  }

  /** A word to its end: its quotes and variables are coloured, its plain parts by what the word is. */
  word() {
    const begin = this.at;
    const kind = this.kind();
    while (this.at < this.source.length && !this.match(SPACE) && !this.breaks()) {
      if (!this.quoted()) this.push(kind, (this.match(WORD) ?? [this.source[this.at]])[0]);
    }
    if (kind !== "assignment" && kind !== "keyword") this.starts = false;
    if (kind === "keyword") this.starts = OPENERS.has(this.source.slice(begin, this.at));
  }

  /** Whether a word ends here; `$(` and a backquote stand for themselves. */
  breaks() {
    return this.match(OPERATOR) !== null && !/\d/.test(this.source[this.at]);
  }

  kind() {
    const word = (this.match(WORD) ?? [""])[0];
    if (this.starts && this.match(ASSIGNMENT)) return "assignment";
    if (this.starts && KEYWORDS.has(word)) return "keyword";
    if (this.starts) return "program";
    return word.startsWith("-") ? "option" : "plain";
  }

  quoted() {
    const single = this.match(SINGLE);
    const variable = single ?? this.match(VARIABLE);
    if (variable) this.push(single ? "string" : "variable", variable[0]);
    else if (this.source[this.at] === '"') this.double();
    else return false;
    return true;
  }

  double() {
    this.push("string", '"');
    while (this.at < this.source.length && this.source[this.at] !== '"') {
      const plain = this.match(DOUBLE_PLAIN);
      const variable = plain ? null : this.match(VARIABLE);
      if (variable) this.push("variable", variable[0]);
      else this.push("string", plain ? plain[0] : this.source[this.at]);
    }
    if (this.at < this.source.length) this.push("string", '"');
  }
}
