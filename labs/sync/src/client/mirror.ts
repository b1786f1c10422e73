import type { RecordStorage } from "@sluice/core";

type Changes = ReadonlyMap<string, unknown>;

/** A small local collection with a copy in the memory of each tab. */
export interface Mirror {
  readonly records: ReadonlyMap<string, unknown>;
  /** Reads the collection and follows the changes of other tabs. Rejects if the storage can't be read. */
  open(): Promise<void>;
  /** Changes memory at once, and the storage. Restores memory if the write fails. */
  write(changes: Changes): Promise<void>;
  close(): void;
}

/**
 * Creates the copy of one collection.
 *
 * @param onChange called after each change, of this tab and of others
 */
export function createMirror(
  local: RecordStorage,
  collection: string,
  onChange: (changes: Changes) => void,
): Mirror {
  const records = new Map<string, unknown>();
  let opening: Promise<void> | undefined;
  let stop: (() => void) | undefined;
  return {
    records,
    open() {
      opening ??= read().catch((error) => {
        opening = undefined;
        throw error;
      });
      return opening;
    },
    async write(changes) {
      const previous = new Map([...changes.keys()].map((key) => [key, records.get(key)]));
      apply(changes);
      try {
        await local.write(collection, changes);
      } catch (error) {
        for (const [key, value] of changes) if (records.get(key) !== value) previous.delete(key);
        apply(previous);
        throw error;
      }
    },
    close: () => stop?.(),
  };

  async function read(): Promise<void> {
    const changed = new Set<string>();
    let isReading = true;
    stop ??= local.subscribe(collection, (changes) => {
      if (isReading) for (const key of changes.keys()) changed.add(key);
      apply(changes);
    });
    const writtenBefore = new Set(records.keys());
    const stored = await local.read(collection);
    isReading = false;
    // changes during the read, and writes of this tab, are newer than the stored records
    apply(new Map([...stored].filter(([key]) => !changed.has(key) && !writtenBefore.has(key))));
  }

  function apply(changes: Changes): void {
    for (const [key, value] of changes)
      if (value === undefined) records.delete(key);
      else records.set(key, value);
    if (changes.size > 0) onChange(changes);
  }
}
