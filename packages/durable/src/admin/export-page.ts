/** Characters of a page, about: an item that does not fit begins the next page. */
const PAGE_CHARACTERS = 4 * 1024 * 1024;

/** One page of what a plugin stores of a user. */
export class ExportPage {
  readonly items: unknown[] = [];
  /** Opens the next page; undefined at the end. */
  cursor: string | undefined;
  #left = PAGE_CHARACTERS;

  /** Adds an item. Returns false if the item has to begin the next page. */
  add(item: unknown): boolean {
    const characters = JSON.stringify(item).length;
    if (characters > this.#left && this.items.length > 0) return false;
    this.items.push(item);
    this.#left -= characters;
    return true;
  }
}
