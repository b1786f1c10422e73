import type { BoundHost, StoredPart } from "@sluice/worker-proxy/plugin";
import { ATOMICITY, CRASHES, LOCAL_WORK, NESTING, OPERATIONS, TIMERS } from "./host-cases.js";
import { hostTestPart } from "./host-part.js";

/** A test runner and the host under test. */
export interface HostTests {
  /** Opens the host. The database may contain other rows: the tests use unique keys. */
  readonly open: (part: StoredPart) => OpenedHost | Promise<OpenedHost>;
  /** Declares a test: `test` of Vitest, Jest, Node, Deno or Bun. Some tests wait for timers, up to a minute. */
  readonly test: (title: string, run: () => Promise<void>) => unknown;
  /** True if `open` returns `crash`. @default false: skips the tests of a crash */
  readonly canCrash?: boolean;
}

/** A host under test. */
export interface OpenedHost {
  readonly host: BoundHost;
  /** A host of another process with the same database. @default none */
  readonly other?: BoundHost;
  /**
   * Ends a process without a warning: the process of this host, which is `host` or `other`, or the object of a key. The
   * other process continues to work.
   */
  readonly crash?: (host: BoundHost, key: string) => Promise<void>;
  close?(): Promise<void>;
}

/**
 * Declares the tests of the host features that plugins need.
 * @example
 * ```ts
 * import { nodeHost } from "@sluice/durable/node"; // or a host of your own
 * import { hostTests } from "@sluice/durable/testing";
 * import { test } from "vitest";
 *
 * hostTests({
 *   open(part) {
 *     const host = nodeHost({ file: ":memory:" });
 *     const bound = host.open({ parts: [part], report: console.error })({});
 *     return { host: bound, close: () => host.close() };
 *   },
 *   test,
 * });
 * ```
 */
export function hostTests({ open, test, canCrash = false }: HostTests): void {
  const cases = {
    ...OPERATIONS,
    ...ATOMICITY,
    ...NESTING,
    ...TIMERS,
    ...LOCAL_WORK,
    ...(canCrash && CRASHES),
  };
  for (const [title, run] of Object.entries(cases))
    test(`The host ${title}`, async () => {
      const { host, other = host, crash, close } = await open(hostTestPart);
      try {
        await run({ host, other, crash, key: `test ${crypto.randomUUID()}` });
      } finally {
        await close?.();
      }
    });
}
