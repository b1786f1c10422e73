import { fileURLToPath } from "node:url";
import { sources } from "../../../../scripts/sources.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Until a test counts as hanging: on two busy cores workerd and its sockets take their time. */
export const testTimeout = 60_000;

/** The tests of one project, whose objects live in a Node process. */
export interface NodeHostProject {
  /** Name of the project before its host, `durable-on-`. */
  readonly prefix: string;
  /** Folder of the tests. */
  readonly root: string;
  /** The Worker that a started process serves. */
  readonly worker: string;
}

/** Tests with their objects in this process or one that they start, on a host as `node nightly` names it. */
export function onNodeHost(
  { prefix, root, worker }: NodeHostProject,
  name: string,
  files: { include: string[]; exclude: string[] },
) {
  const [host = ""] = name.split(" ");
  const onNode = here("cloudflare-on-node.ts");
  return {
    root,
    resolve: {
      alias: { ...sources, "cloudflare:test": onNode, "cloudflare:workers": here("env-on-node.ts") },
    },
    test: {
      name: `${prefix}${name}`,
      ...files,
      ...(host === "postgres" && { globalSetup: here("postgres-for-run.ts") }),
      hookTimeout: 60_000,
      testTimeout,
      env: { SLUICE_HOST: host, SLUICE_WORKER: worker },
      setupFiles: [onNode],
    },
  };
}
