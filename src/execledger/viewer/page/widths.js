/** Widths of the columns of the list: every column is as wide as what it shows, and the title takes the rest. */

/** Measures the cells that exist, and sets the width of each column as a variable of the style, such as `--steps`. */
export class ColumnWidths {
  /** @param {HTMLElement} table its rows are `.run-row`; a cell names its column in `data-column`. */
  constructor(table) {
    this.table = table;
    this.widths = new Map();
  }

  /** Forget what was measured: other runs are about to be shown. */
  reset() {
    this.widths.clear();
  }

  /** Measure again; columns only grow, so that they keep their places while one scrolls. */
  fit() {
    this.table.classList.add("measuring");
    for (const cell of this.table.querySelectorAll("[data-column]")) {
      const { column } = cell.dataset;
      const width = Math.ceil(cell.getBoundingClientRect().width);
      this.widths.set(column, Math.max(width, this.widths.get(column) ?? 0));
    }
    this.table.classList.remove("measuring");
    for (const [column, width] of this.widths) {
      if (width) this.table.style.setProperty(`--${column}`, `${width}px`);
    }
  }
}
