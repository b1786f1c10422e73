import { runRequest } from "./run-request.ts";

/** Interface of the page for its test. */
export interface FirePage {
  readonly runRequest: typeof runRequest;
}

Object.assign(globalThis, { page: { runRequest } satisfies FirePage });
