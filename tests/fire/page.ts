import { ask } from "./ask.ts";

/** Interface of the page for its test. */
export interface FirePage {
  readonly ask: typeof ask;
}

Object.assign(globalThis, { page: { ask } satisfies FirePage });
