import { readFileSync } from "node:fs";
import { createEmulator, type Fault } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startDurableProxy } from "../../packages/durable/test/support/workerd.ts";

/* Three complaints of users, staged in workerd before the emulator. The guide has the lines that they leave in the log. */

let proxy: Awaited<ReturnType<typeof startDurableProxy>>;
let served: Awaited<ReturnType<typeof serve>>;
let fault: Fault | undefined;

beforeEach(async () => {
  fault = undefined;
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY, faults: () => fault });
  served = await serve(emulator, { port: 0 });
  proxy = await startDurableProxy({
    fixture: "durable/test/fixture/logged-proxy.ts",
    objects: { SLUICE: "Sluice" },
    texts: { UPSTREAM: served.url },
  });
});
afterEach(async () => {
  await proxy.close();
  await served.close();
});

async function request(user: string, path: string, body: object, key?: string) {
  const headers = { authorization: user, ...(key !== undefined && { "idempotency-key": key }) };
  const response = await proxy.request(path, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: response.status, text: await response.text() };
}
const chat = (user: string) =>
  request(user, "/v1/chat/completions", {
    model: "delta-5.3",
    stream: true,
    messages: [{ role: "user", content: "hi" }],
  });
const image = (user: string, key: string) =>
  request(user, "/v1/images/generations", { model: "gamma-image-5-0-260128", prompt: "a bird" }, key);

type Line = Readonly<Record<string, unknown>>;
const logged = (): Line[] =>
  proxy.logs.filter((line) => line.startsWith('{"')).map((line) => JSON.parse(line) as Line);
/** Waits for a number of log lines of a user. */
async function waitForLines(user: string, many: number): Promise<readonly Line[]> {
  const found = () => logged().filter((line) => line["userId"] === user);
  await expect.poll(() => found().length).toBe(many);
  return found();
}

/** Values that differ from run to run. */
const CHANGING = ["requestId", "id", "streamId", "firstByteMs", "durationMs", "bytes"];
const fixed = (lines: readonly Line[]) =>
  lines
    .map((line) =>
      Object.fromEntries(
        Object.entries(line)
          .map(([name, value]) => [name, CHANGING.includes(name) ? "…" : value] as const)
          .sort(([one], [other]) => one.localeCompare(other)),
      ),
    )
    .map((line) => JSON.stringify(line))
    .sort();

const guide = readFileSync(new URL("../../docs/guides/operate.md", import.meta.url), "utf8");

/** The lines that the guide shows below a heading. */
function shownAt(heading: string): readonly Line[] {
  const [, section = ""] = guide.split(`### ${heading}\n`);
  const [text = ""] = section.split("\n###");
  const [, block = ""] = /```json\n(.*?)```/s.exec(text) ?? [];
  return block
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
}

function expectShown(heading: string, lines: readonly Line[]): void {
  // the printed log is copied into the guide
  if (process.env["SLUICE_SHOW_LOG"]) console.log(lines.map((line) => JSON.stringify(line)).join("\n"));
  expect(fixed(shownAt(heading))).toEqual(fixed(lines));
}

describe("the log alone tells the operator", () => {
  test("why a response was cut, and what it cost (case 149)", async () => {
    fault = "reset";
    expect((await chat("ann")).text).toContain("upstream_cut");
    const lines = await waitForLines("ann", 2);
    const request = lines.find(({ type }) => type === "request");
    const chatJob = lines.find(({ job }) => job === "chat");
    // who cut the response, where, and its cost
    expect(request).toMatchObject({ outcome: "truncated", code: "upstream_cut", status: 200 });
    expect(chatJob).toMatchObject({
      outcome: "truncated",
      code: "upstream_cut",
      upstreamStatus: 200,
      spent: 1000,
    });
    expect(chatJob?.["id"]).toBe(request?.["streamId"]);
    expectShown("“My response was cut”", lines);
  });

  test("if a create was billed twice (case 149)", async () => {
    for (const key of ["one", "one", "two"]) expect((await image("ann", key)).status).toBe(200);
    const lines = await waitForLines("ann", 5);
    const creates = lines.filter(({ job }) => job === "create");
    const replayed = lines.filter((line) => line["isReplay"] === true);
    expect([creates.length, replayed.length]).toEqual([2, 1]);
    const jobs = new Set(creates.map(({ requestId }) => requestId));
    expect(jobs.size).toBe(2);
    for (const line of lines) expect(jobs).toContain(line["requestId"]);
    expectShown("“I was billed twice”", lines);
  });

  test("which of the limits a user met with 429, and who has used it up (case 149)", async () => {
    expect((await chat("dan")).status).toBe(429);
    fault = "reset";
    for (let times = 0; times < 5; times += 1) await chat("ann");
    expect((await chat("bob")).status).toBe(200);
    expect((await chat("bob")).status).toBe(429);
    const refused = (await waitForLines("ann", 10)).concat(
      await waitForLines("bob", 4),
      await waitForLines("dan", 1),
    );
    const lines = refused.filter(({ status }) => status === 429);
    expect(lines.map(({ userId, code, limit, budget }) => [userId, code, limit ?? budget])).toEqual([
      ["ann", "budget_exhausted", "user"],
      ["bob", "shared_budget_exhausted", "all"],
      ["dan", "rate_limited", "requests"],
    ]);
    const spent = refused.reduce<Record<string, number>>((sums, { userId, spent = 0, type }) => {
      if (type !== "request") sums[String(userId)] = (sums[String(userId)] ?? 0) + Number(spent);
      return sums;
    }, {});
    expect(spent).toEqual({ ann: 4000, bob: 1000 });
    expectShown("“429 all day”", lines);
  });
});
