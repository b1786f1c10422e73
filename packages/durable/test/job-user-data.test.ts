import { eraseUser, exportUser, idempotency, resumableStreams } from "@sluice/durable";
import { describe, expect, test, vi } from "vitest";
import { createTextReader } from "../../worker-proxy/test/support/event-stream.js";
import {
  end,
  finish,
  openGateway,
  openMeter,
  openStoredProxy,
  piece,
  readCode,
  readStreamId,
  silenceLog,
} from "./support/stored-proxy.js";

const USER = "Bearer user-token";
const image = { data: [], usage: { total_tokens: 7 } };

function openUser() {
  const gateway = openGateway();
  const meter = openMeter();
  const parts = [resumableStreams(), idempotency()];
  return { gateway, meter, parts, ...openStoredProxy({ gateway, plugins: [meter.plugin, ...parts] }) };
}

describe("the data of a user (case 117)", () => {
  test("lists each stream and each create with its response, and none of another user", async () => {
    const { gateway, proxy, startStream, create } = openUser();
    gateway.streams(piece("a") + end);
    const stream = await startStream();
    await stream.text();
    gateway.responds(() => Response.json(image, { headers: { "x-request-id": "gateway-2" } }));
    await create("one");
    await create("one", { headers: { authorization: "Bearer other-token" } });
    const { data, failed } = await exportUser(proxy, {}, USER);
    expect(failed).toEqual([]);
    expect(data["streams"]).toMatchObject([
      {
        id: readStreamId(stream),
        state: "complete",
        requestId: "gateway-1",
        text: expect.stringContaining("[DONE]"),
      },
    ]);
    expect(data["creates"]).toMatchObject([
      { state: "complete", status: 200, requestId: "gateway-2", text: JSON.stringify(image) },
    ]);
    expect((data["creates"] as object[]).length).toBe(1);
  });

  test("comes in pages, each with a bounded size, which a cursor continues", async () => {
    const { gateway, proxy, create } = openUser();
    const text = "a".repeat(3_000_000);
    gateway.responds(() => Response.json({ data: [], text }));
    for (const key of ["one", "two", "three"]) await (await create(key)).text();
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await exportUser(proxy, {}, USER, { part: "creates", cursor });
      const creates = page.data["creates"] as { id: string; text: string }[];
      expect(creates).toHaveLength(1);
      expect(creates[0]?.text.length).toBeGreaterThan(text.length);
      ids.push(...creates.map(({ id }) => id));
      cursor = page.cursors["creates"];
    } while (cursor !== undefined);
    expect(new Set(ids).size).toBe(3);
    await expect(exportUser(proxy, {}, USER, { cursor: "a" })).rejects.toThrow("cursor: give the part");
  });

  test("is erased, and the streams of another user stay", async () => {
    const { gateway, proxy, startStream, resume, create } = openUser();
    gateway.streams(piece("a") + end);
    const [mine, other] = [
      await startStream(),
      await startStream({ headers: { authorization: "Bearer other-token" } }),
    ];
    for (const response of [mine, other]) await response.text();
    gateway.responds(() => Response.json(image));
    await create("one");
    expect(await eraseUser(proxy, {}, USER)).toEqual({ erased: ["streams", "creates"], failed: [] });
    expect((await exportUser(proxy, {}, USER)).data).toEqual({ streams: [], creates: [] });
    expect((await resume(readStreamId(mine))).status).toBe(404);
    const rest = await resume(readStreamId(other), 0, { headers: { authorization: "Bearer other-token" } });
    expect(await rest.text()).toContain("[DONE]");
    // the key of an erased user is free: to refuse it, something would have to stay
    await create("one");
    expect(gateway.requests).toHaveLength(4);
  });

  test("is erased with what runs: a stream stops, and a create gets 410", async () => {
    const { gateway, meter, proxy, jobs, startStream, create } = openUser();
    const live = gateway.streamsLive();
    const stream = await startStream();
    live.send(piece("a"));
    await createTextReader(stream).until("a");
    gateway.hangs();
    const creating = create("one");
    await expect.poll(() => gateway.requests.length).toBe(2);
    expect((await eraseUser(proxy, {}, USER)).failed).toEqual([]);
    const erased = await creating;
    expect([erased.status, await readCode(erased)]).toEqual([410, "user_erased"]);
    expect(live.hasLeft).toBe(true);
    expect(gateway.requests.every(({ signal }) => signal.aborted)).toBe(true);
    expect(jobs.map(({ job, outcome, code }) => [job, outcome, code]).sort()).toEqual([
      ["chat", "stopped", "stream_stopped"],
      ["create", "stopped", "user_erased"],
    ]);
    expect([meter.reserved.size, meter.spent]).toEqual([0, [100, 100]]);
    expect((await exportUser(proxy, {}, USER)).data).toEqual({ streams: [], creates: [] });
  });

  test.each([
    "before the gateway has responded",
    "in JSON of which the half is there",
    "behind its finish reason",
  ])("is erased with a stream %s, which has one event", async (when) => {
    const { gateway, meter, proxy, jobs, startStream } = openUser();
    const live = gateway.streamsLive();
    if (when.startsWith("before")) gateway.hangs();
    if (when.startsWith("in JSON")) {
      const start = (controller: ReadableStreamDefaultController<Uint8Array>) =>
        controller.enqueue(new TextEncoder().encode('{"choices":['));
      gateway.responds(
        () =>
          new Response(new ReadableStream({ start }), { headers: { "content-type": "application/json" } }),
      );
    }
    const pending = startStream();
    await expect.poll(() => gateway.requests.length).toBe(1);
    if (when.startsWith("behind")) {
      live.send(piece("a") + finish);
      await createTextReader(await pending).until("finish_reason");
    }
    expect((await eraseUser(proxy, {}, USER)).failed).toEqual([]);
    expect(jobs).toMatchObject([{ job: "chat", userId: USER, outcome: "stopped", code: "stream_stopped" }]);
    expect([meter.reserved.size, gateway.requests[0]?.signal.aborted]).toEqual([0, true]);
  });

  test("keeps a job until its reservation is settled, and erases its responses (case 165)", async () => {
    silenceLog();
    const { gateway, meter, proxy, jobs, startStream, resume, host } = openUser();
    gateway.streams(piece("a secret plan") + end);
    meter.fails = true;
    const stream = await startStream();
    await stream.text();
    await host.ended();
    expect(await eraseUser(proxy, {}, USER)).toEqual({ erased: ["creates"], failed: ["streams"] });
    expect((await resume(readStreamId(stream))).status).toBe(404);
    expect(JSON.stringify(await exportUser(proxy, {}, USER))).not.toContain("a secret plan");
    meter.fails = false;
    // now the timer is due that settles the charge
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 31_000 });
    await expect.poll(() => [meter.reserved.size, meter.spent]).toEqual([0, [7]]);
    vi.useRealTimers();
    expect(await eraseUser(proxy, {}, USER)).toEqual({ erased: ["streams", "creates"], failed: [] });
    expect((await exportUser(proxy, {}, USER)).data).toEqual({ streams: [], creates: [] });
    expect(jobs).toHaveLength(1);
  });
});
