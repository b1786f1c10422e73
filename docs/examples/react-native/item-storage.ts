import { type ChatStorage, customStorage } from "@sluice/stores";

/** The part of AsyncStorage that is used. Version 2 calls it `multiGet`, `multiSet` and `multiRemove`, with pairs. */
interface Items {
  getAllKeys(): Promise<string[]>;
  getMany(keys: string[]): Promise<Record<string, string | null>>;
  setMany(entries: Record<string, string>): Promise<void>;
  removeMany(keys: string[]): Promise<void>;
}

export function createItemStorage(items: Items): ChatStorage {
  return customStorage({
    async read(collection) {
      const start = `${collection}\n`;
      const keys = (await items.getAllKeys()).filter((key) => key.startsWith(start));
      const found = Object.entries(await items.getMany(keys));
      return new Map(found.map(([key, text]) => [key.slice(start.length), JSON.parse(text ?? "null")]));
    },
    async write(collection, changes) {
      const named = [...changes].map(([key, value]) => [`${collection}\n${key}`, value] as const);
      const written = named.filter(([, value]) => value !== undefined);
      await items.setMany(Object.fromEntries(written.map(([key, value]) => [key, JSON.stringify(value)])));
      await items.removeMany(named.filter(([, value]) => value === undefined).map(([key]) => key));
    },
    async clear(collection) {
      const isWithin = (key: string) => key.startsWith(`${collection}\n`) || key.startsWith(`${collection}/`);
      await items.removeMany((await items.getAllKeys()).filter(isWithin));
    },
    subscribe: () => () => {}, // an app has one page
  });
}
