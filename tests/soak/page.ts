import { indexedDBStorage } from "@sluice/stores";
import { type Done, openLoad } from "./load.ts";

/** Interface of the page for its test. */
export interface SoakPage {
  readonly round: () => Promise<Done>;
}

const load = openLoad(location.origin, "page", indexedDBStorage());

Object.assign(globalThis, {
  page: {
    async round() {
      await load.round();
      return load.done;
    },
  } satisfies SoakPage,
});
