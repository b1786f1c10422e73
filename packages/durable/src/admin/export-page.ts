/** Approximate size of a page, in characters. An item that does not fit starts the next page. */
const PAGE_CHARACTERS = 4 * 1024 * 1024;

/** A page of the data that a plugin stores for a user. */
export class ExportPage {
  readonly items: unknown[] = [];
  /** Cursor of the next page; undefined on the last page. */
  cursor: string | undefined;
  #left = PAGE_CHARACTERS;

  /** Adds an item. Returns false if the item must start the next page. */
  add(item: unknown): boolean {
    const characters = JSON.stringify(item).length;
    if (characters > this.#left && this.items.length > 0) return false;
    this.items.push(item);
    this.#left -= characters;
    return true;
  }
}
