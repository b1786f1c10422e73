import { own, type Subject } from "./subjects.ts";

/*
 * node --expose-gc heap.ts <subject> <address>: prints the megabytes that are in use while one response is read, at their
 * highest, after collecting garbage. A first, short response loads all code.
 */

const [name = "", baseURL = ""] = process.argv.slice(2);
const subjects: Record<string, Subject> = name in own ? own : (await import("./peers/streams.js")).peers;
await subjects[name]?.({ baseURL: baseURL.replace(/[^/]*$/, "short"), fetch }, () => {});

const before = heldMB();
let pieces = 0;
let peak = 0;
await subjects[name]?.({ baseURL, fetch }, () => {
  pieces += 1;
  if (pieces % 2000 === 0) peak = Math.max(peak, heldMB());
});
console.log(JSON.stringify({ before, peak: peak - before }));

function heldMB(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 2 ** 20;
}
