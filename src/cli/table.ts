/** How a cell is shown once the columns stand: colours have no width. */
export type Paint = (cell: string, column: number) => string;

/** Columns as wide as their widest cell; the last one as long as it likes. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  paint: Paint = (cell) => cell,
): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[], painted: Paint) => {
    const last = cells.findLastIndex((cell) => cell !== '');
    return cells
      .slice(0, last + 1)
      .map((cell, column) => {
        const gap = cell.padEnd(column === last ? 0 : (widths[column] ?? 0)).slice(cell.length);
        return `${painted(cell, column)}${gap}`;
      })
      .join('  ');
  };
  return [line(head, (cell) => cell), ...rows.map((row) => line(row, paint))].join('\n');
}
