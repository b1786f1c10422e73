import { createLazyModule, type LazyModule } from "../base/lazy-module.js";

/** The code that describes a refusal and repeats a request. */
export type FailureCode = Pick<typeof import("./failures.js"), "readRefusal" | "repeat">;

/** The code for failed requests, for every call but a stream, which loads it with its own code. */
export const failureCode: LazyModule<FailureCode> = /* @__PURE__ */ createLazyModule(
  () => import("./failures.js"),
);
