import { idempotency, resumableStreams } from "@sluice/durable";
import { postgresHost } from "@sluice/durable/postgres";
import { afterAll, describe, expect, test } from "vitest";
import { createTextReader } from "../../worker-proxy/test/support/event-stream.js";
import { createLocation, postgresURL, stopPostgres } from "./support/hosts.js";
import {
  end,
  errorCode,
  numbered,
  openGateway,
  openMeter,
  openStoredProxy,
  piece,
  readCode,
  readStreamId,
  silenceLog,
} from "./support/stored-proxy.js";

afterAll(stopPostgres);

const keyed = { headers: { "idempotency-key": "one" } };
const image = { data: [], usage: { total_tokens: 7 } };

/** Two processes with one database, one gateway and one meter. */
async function openProcesses() {
  const url = await postgresURL();
  const { name: schema } = createLocation("postgres");
  const gateway = openGateway();
  const meter = openMeter();
  const open = () =>
    openStoredProxy({
      host: postgresHost({ url, schema }),
      gateway,
      plugins: [meter.plugin, resumableStreams(), idempotency()],
    });
  return { gateway, meter, firstProcess: open(), secondProcess: open() };
}

describe("a stream of another process", () => {
  test("is read as it comes, from any event", async () => {
    const { gateway, firstProcess, secondProcess } = await openProcesses();
    const live = gateway.streamsLive();
    const first = await firstProcess.startStream();
    const id = readStreamId(first);
    live.send(piece("a") + piece("b"));
    const reader = createTextReader(await secondProcess.resume(id, 1));
    expect(await reader.until('"b"')).toBe(numbered([piece("b")], 2));
    live.send(piece("c"));
    expect(await reader.until('"c"')).toBe(numbered([piece("b"), piece("c")], 2));
    live.send(end);
    live.end();
    const rest = await reader.until("nothing more");
    expect(`${numbered([piece("a")])}${rest}`).toBe(await first.text());
    expect(rest).toContain("[DONE]");
    expect(gateway.requests).toHaveLength(1);
  });

  test("is stopped here, at the gateway too", async () => {
    const { gateway, firstProcess, secondProcess, meter } = await openProcesses();
    const live = gateway.streamsLive();
    const response = await firstProcess.startStream();
    live.send(piece("a"));
    await createTextReader(response).until("a");
    expect((await secondProcess.stop(readStreamId(response))).status).toBe(204);
    await expect.poll(() => live.hasLeft).toBe(true);
    expect(errorCode(await (await secondProcess.resume(readStreamId(response))).text())).toBe(
      "stream_stopped",
    );
    await firstProcess.host.ended();
    expect([meter.reserved.size, meter.spent]).toEqual([0, [100]]);
  });

  test("continues as long as a client of this process reads it", async () => {
    const url = await postgresURL();
    const { name: schema } = createLocation("postgres");
    const gateway = openGateway();
    const open = () =>
      openStoredProxy({
        host: postgresHost({ url, schema }),
        gateway,
        plugins: [resumableStreams({ idleTimeoutMs: 300 })],
      });
    const [firstProcess, secondProcess] = [open(), open()];
    const live = gateway.streamsLive();
    const client = new AbortController();
    const response = await firstProcess.startStream({ signal: client.signal });
    live.send(piece("a"));
    await createTextReader(response).until("a");
    const reader = createTextReader(await secondProcess.resume(readStreamId(response)));
    await reader.until("a");
    client.abort();
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(live.hasLeft).toBe(false);
    live.send(end);
    live.end();
    expect(await reader.until("nothing more")).toContain("[DONE]");
  });

  test("ends as interrupted once its process is gone, and is settled once, however many read it (case 115)", async () => {
    silenceLog();
    const { gateway, firstProcess, secondProcess, meter } = await openProcesses();
    const live = gateway.streamsLive();
    const response = await firstProcess.startStream(keyed);
    const id = readStreamId(response);
    const readers = [
      await secondProcess.resume(id),
      await secondProcess.resume(id),
      await secondProcess.startStream(keyed),
    ];
    live.send(piece("a"));
    const reading = readers.map(createTextReader);
    for (const reader of reading) await reader.until('"a"');
    await firstProcess.host.crash();
    await secondProcess.host.silenceOwners();
    for (const reader of reading) expect(errorCode(await reader.until("never"))).toBe("stream_interrupted");
    await expect.poll(() => [meter.reserved.size, meter.spent]).toEqual([0, [100]]);
    expect(secondProcess.jobs).toMatchObject([{ id, outcome: "lost", spent: 100 }]);
    expect(gateway.requests).toHaveLength(1);
  });
});

describe("a create of another process (cases 100, 102)", () => {
  test("is sent once, and the requests of this process wait for it", async () => {
    const { gateway, firstProcess, secondProcess, meter } = await openProcesses();
    let respond!: (response: Response) => void;
    gateway.responds(
      () =>
        new Promise((resolve) => {
          respond = resolve;
        }),
    );
    const all = [firstProcess, secondProcess, firstProcess, secondProcess].map((process) =>
      process.create("one"),
    );
    await expect.poll(() => gateway.requests.length).toBe(1);
    respond(Response.json(image));
    for (const response of await Promise.all(all)) expect(await response.json()).toEqual(image);
    expect(gateway.requests).toHaveLength(1);
    await expect.poll(() => meter.spent).toEqual([7]);
    expect([...firstProcess.jobs, ...secondProcess.jobs]).toHaveLength(1);
  });

  test("is sent here if the other one was refused", async () => {
    const { gateway, firstProcess, secondProcess } = await openProcesses();
    let respond!: (response: Response) => void;
    gateway.responds(
      () =>
        new Promise((resolve) => {
          respond = resolve;
        }),
    );
    const refused = firstProcess.create("one");
    await expect.poll(() => gateway.requests.length).toBe(1);
    const waiting = secondProcess.create("one");
    await expect.poll(() => secondProcess.host.opened).toBe(1);
    gateway.responds(() => Response.json(image));
    respond(Response.json({ error: {} }, { status: 429 }));
    expect((await refused).status).toBe(429);
    expect(await (await waiting).json()).toEqual(image);
    expect(gateway.requests).toHaveLength(2);
  });

  test("is lost if its process ended, and its late response is not stored", async () => {
    silenceLog();
    const { gateway, firstProcess, secondProcess, meter } = await openProcesses();
    let respond!: (response: Response) => void;
    gateway.responds(
      () =>
        new Promise((resolve) => {
          respond = resolve;
        }),
    );
    const late = firstProcess.create("one");
    await expect.poll(() => gateway.requests.length).toBe(1);
    await secondProcess.host.silenceOwners();
    expect(await readCode(await secondProcess.create("one"))).toBe("request_lost");
    respond(Response.json(image));
    expect(await readCode(await late)).toBe("request_lost");
    expect(await readCode(await secondProcess.create("one"))).toBe("request_lost");
    expect(meter.spent).toEqual([100]);
    expect([...firstProcess.jobs, ...secondProcess.jobs]).toMatchObject([{ outcome: "lost" }]);
    expect(gateway.requests).toHaveLength(1);
  });
});

test("a stream of 30 s with a budget takes at most 10 operations and one row (case 108)", async () => {
  const { gateway, firstProcess } = await openProcesses();
  const live = gateway.streamsLive();
  const response = await firstProcess.startStream();
  const reader = createTextReader(response);
  for (let nth = 0; nth < 100; nth += 1) {
    live.send(piece(`word ${nth}`));
    await reader.until(`word ${nth}"`);
  }
  live.send(end);
  live.end();
  await reader.until("nothing more");
  await firstProcess.host.ended();
  await expect.poll(() => firstProcess.requests.length).toBe(1);
  // a stream of 30 s has two more of "streams.append"
  const operations = ["streams.claim", "streams.storeTicket", "streams.storeTicket", "streams.end"];
  expect(firstProcess.host.operations).toEqual(operations);
  expect([await firstProcess.host.count("jobs"), await firstProcess.host.count("job_parts")]).toEqual([1, 0]);
});
