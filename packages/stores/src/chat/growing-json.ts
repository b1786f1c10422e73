import type { PartialJSON } from "@sluice/core/partial-json";

/** JSON text that is still arriving. */
export interface GrowingJSON {
  push(text: string): void;
  /** Value of the text so far; undefined before the value begins, or before the parser is loaded. */
  readonly value: unknown;
}

type Create = typeof import("@sluice/core/partial-json").createPartialJSON;
let create: Create | undefined;
let loading: Promise<void> | undefined;

/** Loads the parser of partial JSON, which most chats never need. If loading fails, JSON is parsed once it is complete. */
export function loadJSONReader(): Promise<void> {
  loading ??= import("./json-later.js").then(
    ({ createPartialJSON }) => {
      create = createPartialJSON;
    },
    () => {
      loading = undefined;
    },
  );
  return loading;
}

/** Creates an empty document. */
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
