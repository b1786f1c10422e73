import { createLazyModule } from "../base/lazy-module.js";

/** The code for failed requests, for every call but a stream, which loads it with its own code. */
export const failureCode = createLazyModule(() => import("./failures.js"));
