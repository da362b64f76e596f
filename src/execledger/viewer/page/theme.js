/** Light and dark: as the system has it, until one is chosen. */

const KEY = "execledger-theme";
const NEXT = { auto: "light", light: "dark", dark: "auto" };

/** Let a button go through the themes; `changed` is called when colours are other ones than before. */
export function startTheme(button, changed) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = remembered();
  const show = () => {
    document.documentElement.dataset.theme = chosen === "auto" ? (system.matches ? "dark" : "light") : chosen;
    button.textContent = `Theme: ${chosen}`;
    changed();
  };
  const turn = () => {
    chosen = NEXT[chosen];
    remember(chosen);
    show();
  };
  button.addEventListener("click", turn);
  system.addEventListener("change", show);
  show();
  return turn;
}

// A page that was opened from disk may have no storage.
function remembered() {
  try {
    const theme = localStorage.getItem(KEY);
    return theme in NEXT ? theme : "auto";
  } catch {
    return "auto";
  }
}

function remember(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Then it lasts as long as the page.
  }
}
