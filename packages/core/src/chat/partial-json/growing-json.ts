import type { PartialJSON } from "./parser.js";

/** JSON that is still coming. */
export interface GrowingJSON {
  push(text: string): void;
  /** The part that has come; undefined before anything can be said of it, or the reader is loaded. */
  readonly value: unknown;
}

type Create = typeof import("./parser.js").createPartialJSON;
let create: Create | undefined;
let loading: Promise<void> | undefined;

/** Loads the reader of partial JSON, which most chats never need. Where that fails, JSON is read when it is whole. */
export function loadJSONReader(): Promise<void> {
  loading ??= import("./parser.js").then(
    ({ createPartialJSON }) => {
      create = createPartialJSON;
    },
    () => {
      loading = undefined;
    },
  );
  return loading;
}

/** Creates JSON without any text yet. */
export function createGrowingJSON(): GrowingJSON {
  let unread = "";
  let reader: PartialJSON | undefined;
  void loadJSONReader();
  return {
    push(text) {
      unread += text;
    },
    get value() {
      reader ??= create?.();
      if (!reader) return undefined;
      reader.push(unread);
      unread = "";
      return reader.value;
    },
  };
}
