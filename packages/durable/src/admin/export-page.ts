/** Approximate size of a page, in characters. An item that does not fit starts the next page. */
const PAGE_CHARACTERS = 4 * 1024 * 1024;

/** A page of the data that a plugin stores for a user. */
export class ExportPage {
  readonly items: readonly unknown[];
  /** Cursor of the next page; undefined on the last page. */
  readonly cursor: string | undefined;

  constructor(items: readonly unknown[], cursor: string | undefined) {
    this.items = items;
    this.cursor = cursor;
  }
}

/**
 * Exports one page of rows.
 *
 * @param cursor id of the last row of the previous page
 * @param read reads the rows after an id, ordered by id; an empty list at the end
 * @param describe returns the exported form of a row; undefined for a row that is not exported
 */
export async function exportPage<Row extends { readonly id: string }>(
  cursor: string | undefined,
  read: (after: string) => Promise<readonly Row[]>,
  describe: (row: Row) => unknown,
): Promise<ExportPage> {
  const items: unknown[] = [];
  let remaining = PAGE_CHARACTERS;
  let after = cursor ?? "";
  for (;;) {
    const rows = await read(after);
    if (rows.length === 0) return new ExportPage(items, undefined);
    for (const row of rows) {
      const item = await describe(row);
      if (item !== undefined) {
        const characters = JSON.stringify(item).length;
        if (characters > remaining && items.length > 0) return new ExportPage(items, after);
        items.push(item);
        remaining -= characters;
      }
      after = row.id;
    }
  }
}
