import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import {
  createHostProgram,
  type HostProgram,
} from "../../../../packages/durable/test/support/host-process.js";
import { postgresURL } from "../../../../packages/durable/test/support/hosts.js";
import { createPostgres, createSQLite, END_LEASES } from "../histories/server.js";
import { createDevice } from "./support/device.js";
import { type Database, databases, stopPostgres } from "./support/server.js";

let program: HostProgram;
beforeAll(async () => {
  program = await createHostProgram("../../../../labs/sync/test/server/fixture/turn-program");
});
afterAll(async () => {
  await program.close();
  await stopPostgres();
});

const COLLECTION = "chat/trip";

/** A model and a tool that count their calls. */
async function openGatewayAndTool() {
  const counts = new Map<string, number>();
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    const { messages = [] } = JSON.parse(body || "{}") as { messages?: { role: string; content: string }[] };
    const name = request.url === "/book" ? "book" : messages.map(({ role }) => role).join(" ");
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (request.url === "/book") return void response.end("booked");
    const isCall = messages.at(-1)?.content === "Book it";
    const call = { index: 0, id: "c1", type: "function", function: { name: "book", arguments: "{}" } };
    const delta = isCall ? { tool_calls: [call] } : { content: "Done." };
    const end = { delta: {}, finish_reason: isCall ? "tool_calls" : "stop" };
    const frames = [{ delta }, end].map((choice) => ({ choices: [{ index: 0, ...choice }] }));
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const frame of frames) response.write(`data: ${JSON.stringify(frame)}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { counts, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Runs a turn with an approval on a server that is killed at a step. Returns false if it has no such step. */
async function killAtStep(database: Database, killAt: number): Promise<boolean> {
  const gateway = await openGatewayAndTool();
  const url = database === "Postgres" ? await postgresURL() : undefined;
  const stored = url === undefined ? await createSQLite() : await createPostgres(url);
  onTestFinished(() => stored.close());
  const start = (step: number) =>
    program.run(url ?? stored.name, url ? stored.name : "sluice", gateway.address, String(step));
  let server = await start(killAt);
  let wasKilled = false;
  /** Repeats a request, as devices do, when the server was killed and started again after its lease. */
  const request = async (given: Request): Promise<Response> => {
    const body = given.method === "POST" ? await given.text() : undefined;
    const { pathname, search } = new URL(given.url);
    for (;;) {
      const { method, headers } = given;
      const init = { method, headers, ...(body !== undefined && { body }) };
      try {
        const response = await fetch(server.address + pathname + search, init);
        const text = await response.text();
        return new Response(text, { status: response.status, headers: response.headers });
      } catch {
        wasKilled = true;
        await server.ended();
        await stored.run(END_LEASES).catch(() => {});
        server = await start(0);
      }
    }
  };
  const [phone, laptop] = [createDevice(request, "ada"), createDevice(request, "ada")];
  const question = { message: { role: "user", content: "Book it" }, parent: null, revision: 0 };
  await phone.push(COLLECTION, null, [{ record: "q1", value: question }]);
  const turn = { turn: "turn-1", collection: COLLECTION, question: "q1", model: "delta-5.3" };
  await phone.turn("start", turn);
  let report = await phone.turn("state", turn);
  await expect
    .poll(async () => {
      report = await phone.turn("state", turn);
      const [call] = report.calls ?? [];
      if (call) await phone.turn("decide", { turn: "turn-1", ...call, decision: "approve" });
      return report.state;
    })
    .toMatch(/done|failed/);

  // nothing is sent or done twice, and an end that is not known is told
  expect([...gateway.counts.values()].every((count) => count === 1)).toBe(true);
  if (report.state === "failed") expect(report.code).toBe("turn_lost");
  else expect([...gateway.counts.keys()]).toEqual(["user", "book", "user assistant tool"]);
  expect(await laptop.turn("state", turn)).toMatchObject({ state: report.state });
  for (const value of Object.values(await laptop.readAll(COLLECTION))) {
    const { message } = value as {
      message: { role: string; outcome?: string; toolCalls?: { state: string }[] };
    };
    if (message.role === "assistant") expect(message.outcome).toBeDefined();
    for (const { state } of message.toolCalls ?? []) expect(state).toMatch(/done|cancelled/);
  }
  const next = await laptop.turn("start", { ...turn, turn: "turn-2" });
  expect(next.status).toBe(200);
  await server.kill();
  return wasKilled;
}

test.each(databases)(
  "a server on %s that is killed at any step of a turn does nothing twice, and every device sees the end",
  async (database) => {
    let step = 1;
    while (await killAtStep(database, step)) step += 1;
    // the push, the start, two responses, the decision, the run of the tool and the end
    expect(step).toBeGreaterThan(15);
  },
  600_000,
);
