import { setTimeout } from "node:timers/promises";
import { own, type Subject } from "./subjects.ts";

/*
 * node --expose-gc streams-at-once.ts <subject> <address> <count>: prints the kilobytes that each of so many responses
 * holds while all of them are open, after collecting garbage; null where not all of them begin. A first, short response
 * loads all code.
 */

const [name = "", baseURL = "", count = "1"] = process.argv.slice(2);
const subjects: Record<string, Subject> = name in own ? own : (await import("./peers/streams.js")).peers;
await subjects[name]?.({ baseURL: baseURL.replace(/[^/]*$/, "short"), fetch }, () => {});

const before = heldKB();
let pieces = 0;
const allBegun = Promise.all(
  Array.from(
    { length: Number(count) },
    () =>
      new Promise<void>((begun) => {
        void subjects[name]?.({ baseURL, fetch }, () => {
          pieces += 1;
          begun();
        });
      }),
  ),
);
const isBegun = await Promise.race([allBegun, setTimeout(60_000)]);
// until no more pieces come
for (let known = 0; known < pieces; await setTimeout(500)) known = pieces;
console.log(JSON.stringify({ held: isBegun ? (heldKB() - before) / Number(count) : null }));
process.exit();

function heldKB(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1024;
}
