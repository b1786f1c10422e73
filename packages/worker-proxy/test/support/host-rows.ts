import { runtimes } from "../fixture/host-process.js";
import type { HostRow } from "./host-suite.js";

/** Each host with both ways of a stream. */
export const hostRows: readonly HostRow[] = runtimes.flatMap((runtime) =>
  [true, false].map((readsStreams) => ({ runtime, readsStreams })),
);

/** Hosts of `pnpm test`: one for each fetch server, one for Node's `http`, and one for a framework. */
const inTest = new Map([
  ["Deno", true],
  ["Bun", false],
  ["Node, by `toNodeHandler`", true],
  ["a route handler as Next calls it, on Node", false],
]);

/** True for a row of `pnpm test`; the others run in CI. */
export const isInTest = ({ runtime, readsStreams }: HostRow): boolean =>
  inTest.get(runtime.title) === readsStreams;
