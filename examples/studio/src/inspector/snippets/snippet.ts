import type { Work } from "../inspected.js";

import { reactOf } from "./react.js";
import { curlOf, scriptOf } from "./script.js";
import { workerOf } from "./worker.js";

/** A place where code of Sluice runs; or curl, which has no Sluice. */
export type Target = "react" | "script" | "worker" | "curl";

const writers: Readonly<Record<Target, (work: Work, baseURL: string) => string>> = {
  react: reactOf,
  script: scriptOf,
  worker: workerOf,
  curl: curlOf,
};

/** Writes the work of a room as code that runs as it stands, against the proxy at `baseURL`. */
export function snippet(work: Work, target: Target, baseURL: string): string {
  return writers[target](work, baseURL);
}
