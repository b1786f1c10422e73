import { type Figure, inTurns, toRatio } from "./harness.ts";
import { type Side, sendRequest, sources, startWorker } from "./proxy-sides.ts";
import { startGateway } from "./start-gateway.ts";
import { formatTable } from "./topic.ts";

/*
 * Measures the CPU of the whole workerd process for stored responses: 100 at once with 100 events, one every 50 ms.
 * Compares a Worker that forwards everything, the proxy without objects, and three Durable Objects. The first forwards
 * everything, the second reads and writes each chunk, and the third also writes the rows of a response. All take turns
 * in each round. Figures are ratios of medians.
 *
 *     pnpm build && node bench/stored-streams.ts
 */

const RESPONSES = 100;

const bareObject = `export class Bare {
  constructor(state, env) { this.env = env; }
  fetch(request) {
    return fetch(this.env.GATEWAY + "/v1/chat/completions", { method: "POST", headers: { authorization: "Bearer key",
      "content-type": "application/json" }, body: request.body, signal: request.signal });
  }
}
export default { fetch(request, env) { return env.BARE.get(env.BARE.newUniqueId()).fetch(request); } };`;

/** The minimum for an object that inspects a stream: a read and a write in JavaScript for each chunk. */
const readingObject = `export class Bare {
  constructor(state, env) { this.env = env; }
  async fetch(request) {
    const { body } = await fetch(this.env.GATEWAY + "/v1/chat/completions", { method: "POST", headers: {
      authorization: "Bearer key", "content-type": "application/json" }, body: await request.text() });
    const { readable, writable } = new IdentityTransformStream();
    this.pass(body.getReader({ mode: "byob" }), writable.getWriter());
    return new Response(readable, { headers: { "content-type": "text/event-stream" } });
  }
  async pass(reader, writer) {
    for (let room = new Uint8Array(4096); ; ) {
      const { done, value } = await reader.read(room);
      if (done) return writer.close();
      await writer.write(value);
      room = new Uint8Array(value.buffer);
    }
  }
}
export default { fetch(request, env) { return env.BARE.get(env.BARE.newUniqueId()).fetch(request); } };`;

/** The same, with the fewest rows that a stored response can have. */
const writingObject = readingObject
  .replace("{ this.env = env; }", "{ this.env = env; this.storage = state.storage; }")
  .replace(
    "async fetch(request) {",
    `async fetch(request) {
    this.storage.sql.exec("CREATE TABLE response (seq INTEGER PRIMARY KEY, bytes BLOB, state TEXT)");
    this.storage.sql.exec("INSERT INTO response (seq, state) VALUES (0, 'open')");
    this.storage.setAlarm(Date.now() + 30_000);`,
  )
  .replace(
    "if (done) return writer.close();",
    `if (done) {
        this.storage.sql.exec("INSERT INTO response (seq, bytes) VALUES (1, ?)", new Uint8Array(20_000));
        this.storage.setAlarm(Date.now() + 600_000);
        setTimeout(() => this.storage.sql.exec("UPDATE response SET state = 'done' WHERE seq = 0"), 10);
        return writer.close();
      }`,
  );

const storedWith = (plugins: string) => `import { createProxy } from "@sluice/worker-proxy";
import { budget, resumableStreams } from "@sluice/durable";
import { cloudflareHost, durableObject } from "@sluice/durable/cloudflare";
const proxy = createProxy({
  baseURL: (env) => env.GATEWAY,
  apiKey: () => "sk-a-key-for-the-bench-0123456789",
  limits: { maxStreamsPerUser: 1000 },
  secret: () => "a-secret-for-the-bench-0123456789abcdef",
  authenticate: (request) => request.headers.get("authorization") === "Bearer user" ? { id: "user" } : null,
  origins: ["https://app.example"],
  models: ["delta-5.3"],
  host: cloudflareHost((env) => env.SLUICE),
  plugins: [${plugins}],
});
export const Sluice = durableObject(proxy);
export default proxy;`;
const streams = "resumableStreams({ maxPerUser: 1_000_000 })";
const budget = "budget({ limits: { user: 1e12 }, windowMs: 86_400_000, reserve: () => 1000 })";
const durable = { SLUICE: "Sluice" };

const programs = {
  "bare Worker": { source: sources.bare, objects: {} },
  proxy: { source: sources.pumped, objects: {} },
  "bare object": { source: bareObject, objects: { BARE: "Bare" } },
  "object that reads": { source: readingObject, objects: { BARE: "Bare" } },
  "object that writes rows": { source: writingObject, objects: { BARE: "Bare" } },
  stored: { source: storedWith(streams), objects: durable },
  "stored, with a budget": { source: storedWith(`${budget}, ${streams}`), objects: durable },
};
type Name = keyof typeof programs;
const names = Object.keys(programs) as Name[];

const { address, child } = await startGateway();
const sides = {} as Record<Name, Side>;
for (const name of names)
  sides[name] = await startWorker({ name: name.replace(/\W+/g, "-"), gateway: address, ...programs[name] });
const cpu = await inTurns(
  names,
  async (name) => {
    const before = sides[name].cpuMs();
    await Promise.all(Array.from({ length: RESPONSES }, () => sendRequest(sides[name], "paced", "last")));
    return sides[name].cpuMs() - before;
  },
  { rounds: 5, warmUps: 1, budgetMs: 120_000 },
);
const createColumn = (formatCell: (name: Name) => Figure | string) =>
  Object.fromEntries(names.map((name) => [name, formatCell(name)]));
const columns = {
  "CPU ÷ bare Worker": createColumn((name) => toRatio(cpu[name], cpu["bare Worker"])),
  "CPU ÷ bare object": createColumn((name) => toRatio(cpu[name], cpu["bare object"])),
  "CPU ÷ object that reads": createColumn((name) => toRatio(cpu[name], cpu["object that reads"])),
  "ms of CPU for a response": createColumn((name) =>
    (cpu[name].reduce((sum, ms) => sum + ms, 0) / cpu[name].length / RESPONSES).toFixed(2),
  ),
};
console.log(formatTable("in workerd", columns));
for (const side of Object.values(sides)) await side.close();
child.disconnect();
