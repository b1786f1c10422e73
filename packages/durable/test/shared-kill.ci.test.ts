import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { readerOf } from "../../worker-proxy/test/support/event-stream.js";
import { chunk, startUpstream } from "../../worker-proxy/test/support/upstream.js";
import { createHostProgram, type HostProcess, type HostProgram } from "./support/host-process.js";
import { postgresURL, stopPostgres } from "./support/hosts.js";
import { RESERVED } from "./support/shared-proxies.js";

const STREAMS = 100;

let program: HostProgram;
beforeAll(async () => {
  program = await createHostProgram("shared-program");
});
afterAll(async () => {
  await program.close();
  await stopPostgres();
});

function send({ address }: HostProcess, user: string, path: string, body?: object): Promise<Response> {
  const headers = { authorization: user, "content-type": "application/json", "idempotency-key": "once" };
  return fetch(`${address}${path}`, { headers, ...(body && { method: "POST", body: JSON.stringify(body) }) });
}

async function readBudget(process: HostProcess, user: string): Promise<string> {
  const { budgets } = (await (await send(process, user, "/v1/budget")).json()) as {
    budgets: [{ spent: number; reserved: number }];
  };
  return `${budgets[0].spent} spent, ${budgets[0].reserved} reserved`;
}

const chat = { model: "delta-5.3", stream: true, messages: [{ role: "user", content: "hi" }] };
const image = { model: "gamma-image-5-0-260128", prompt: "a bird" };

test("case 188: a process is killed with 100 open responses: another one ends them, settles each once, and sends none again", async () => {
  const upstream = await startUpstream();
  onTestFinished(upstream.close);
  const url = await postgresURL();
  const [one, other] = await Promise.all([1, 2].map(() => program.run(url, "killed", upstream.url)));
  if (!one || !other) throw new Error("both are there");
  upstream.answers((response, { url: path }) => {
    if (path.includes("/images/")) return;
    response.writeHead(200, { "content-type": "text/event-stream" }).write(chunk("one"));
  });
  const users = Array.from({ length: STREAMS }, (_, nth) => `user-${nth}`);
  const open = await Promise.all(
    users.map(async (user) => {
      const response = await send(one, user, "/v1/chat/completions", chat);
      await readerOf(response).until("one");
      return { user, path: `/v1/chat/streams/${response.headers.get("x-stream-id")}` };
    }),
  );
  const waiting = send(one, "painter", "/v1/images/generations", image).catch(() => undefined);
  await expect.poll(() => upstream.requests.length).toBe(STREAMS + 1);

  await one.kill();
  await waiting;
  const ends = open.map(async ({ user, path }) => {
    // by its id, and by the request that comes again
    const [read, repeated] = await Promise.all([
      send(other, user, path),
      send(other, user, "/v1/chat/completions", chat),
    ]);
    return [await read.text(), await repeated.text()];
  });
  for (const text of (await Promise.all(ends)).flat()) expect(text).toContain('"code":"stream_interrupted"');
  const repeated = await send(other, "painter", "/v1/images/generations", image);
  expect([repeated.status, await repeated.text()]).toEqual([502, expect.stringContaining("request_lost")]);
  expect(upstream.requests).toHaveLength(STREAMS + 1);

  const spent = async () =>
    new Set(await Promise.all([...users, "painter"].map((user) => readBudget(other, user))));
  await expect.poll(spent).toEqual(new Set([`${RESERVED} spent, 0 reserved`]));
  const lost = other.logs.filter((line) => line.includes('"outcome":"lost"'));
  expect(lost).toHaveLength(STREAMS + 1);
});
