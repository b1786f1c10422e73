import { once } from "node:events";
import { connect } from "node:net";
import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createFastEmulator, createRequest, KEY, readFrames, sendTo } from "./support.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function serveEmulator(options: Partial<EmulatorOptions> = {}) {
  const emulator = createFastEmulator(options);
  const served = await serve(emulator, { port: 0 });
  closing.push(served.close);
  return { emulator, served };
}

describe("over real sockets", () => {
  test("a response and a stream arrive whole", async () => {
    const { served } = await serveEmulator();
    expect(await (await sendTo(served, createRequest("hi"))).json()).toMatchObject({
      object: "chat.completion",
    });
    const { frames } = await readFrames(
      await sendTo(served, createRequest("Tell me about tea", { stream: true })),
    );
    expect(frames.at(-1)).toBe("[DONE]");
  });

  test("each frame is sent when it is made", async () => {
    const { served } = await serveEmulator();
    const response = await sendTo(
      served,
      createRequest("hi [[stall]]", { model: "gamma-chat-1-6-251015", stream: true }),
    );
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    while (text.split("\n\n").length <= 9) text += new TextDecoder().decode((await reader.read()).value);
    expect(text).toContain('"delta":{"content"');
    await reader.cancel();
  });

  test("headers arrive before the first frame is made", async () => {
    let sendFrame = (_: string) => {};
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        sendFrame = (text) => controller.enqueue(new TextEncoder().encode(text));
      },
    });
    const served = await serve({ fetch: async () => new Response(body) }, { port: 0 });
    closing.push(served.close);
    const response = await fetch(served.url);
    sendFrame("one");
    const { value } = (await response.body?.getReader().read()) ?? {};
    expect(new TextDecoder().decode(value)).toBe("one");
  });

  test("a client that aborts is recorded as aborted", async () => {
    const { emulator, served } = await serveEmulator();
    const controller = new AbortController();
    const response = await sendTo(served, createRequest("hi [[stall]]", { stream: true }), {
      signal: controller.signal,
    });
    await (response.body as ReadableStream<Uint8Array>).getReader().read();
    expect(emulator.requests[0]?.aborted).toBe(false);
    controller.abort();
    await expect.poll(() => emulator.requests[0]).toMatchObject({ aborted: true, finished: false });
  });

  test("a client that disconnects before the response is recorded as aborted", async () => {
    const { emulator, served } = await serveEmulator();
    const controller = new AbortController();
    const response = sendTo(served, createRequest("hi [[stall]]"), { signal: controller.signal });
    await expect.poll(() => emulator.requests).toHaveLength(1);
    controller.abort();
    await expect(response).rejects.toMatchObject({ name: "AbortError" });
    await expect.poll(() => emulator.requests[0]?.aborted).toBe(true);
  });

  test("a client that stops reading stops the stream", async () => {
    const { emulator, served } = await serveEmulator({ chat: () => "so much to say ".repeat(50_000) });
    const socket = connect(Number(new URL(served.url).port), "127.0.0.1");
    closing.push(() => socket.destroy());
    const body = JSON.stringify(createRequest("Go on", { stream: true, reasoning_effort: "none" }));
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await once(socket, "readable");
    const count = () => emulator.requests[0]?.deltas ?? 0;
    let before = -1;
    await vi.waitFor(
      () => {
        const now = count();
        const isStill = now === before;
        before = now;
        expect(isStill).toBe(true);
      },
      { interval: 200, timeout: 20_000 },
    );
    expect(count()).toBeLessThan(200_000);
    expect(emulator.requests[0]?.finished).toBe(false);
  });

  test("a client that disconnects ends the body of a handler that ignores the request's signal", async () => {
    const piece = new Uint8Array(1000);
    let onCancel = () => {};
    const cancelled = new Promise<void>((resolve) => {
      onCancel = resolve;
    });
    const createBody = () =>
      new ReadableStream({ pull: (stream) => stream.enqueue(piece), cancel: onCancel });
    const served = await serve({ fetch: async () => new Response(createBody()) }, { port: 0 });
    closing.push(served.close);
    const reader = (await fetch(served.url)).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await cancelled;
  });

  test.each(["cancels it", "ignores it", "reads a piece and cancels it"])(
    "A client gets the response to a body that the handler refuses, where the handler %s",
    async (act) => {
      let isFirst = true;
      const fetch = async (request: Request) => {
        if (!isFirst) return new Response(`then ${await request.text()}`);
        isFirst = false;
        const reader = act === "ignores it" ? undefined : request.body?.getReader();
        if (act === "reads a piece and cancels it") await reader?.read();
        await reader?.cancel();
        return new Response("refused", { status: 413 });
      };
      const served = await serve({ fetch }, { port: 0 });
      closing.push(served.close);
      const socket = connect(Number(new URL(served.url).port), "127.0.0.1");
      closing.push(() => socket.destroy());
      let text = "";
      socket.setEncoding("utf8").on("data", (piece) => (text += piece));
      const createHeaders = (bytes: number) =>
        `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`;
      socket.write(createHeaders(3_000_000) + "a".repeat(1_000_000));
      await expect.poll(() => text).toContain("refused");
      // the connection accepts the next request once the rest of the body has arrived
      socket.write(`${"a".repeat(2_000_000)}${createHeaders(2)}hi`);
      await expect.poll(() => text).toContain("then hi");
    },
  );

  test("A server survives a handler that cancels a body while it arrives", async () => {
    let turns = 0;
    const fetchServed = async (request: Request) => {
      for (let turn = 0; turn < turns; turn += 1) await undefined;
      await request.body?.cancel();
      return new Response("refused", { status: 413 });
    };
    const served = await serve({ fetch: fetchServed }, { port: 0 });
    closing.push(served.close);
    for (; turns < 40; turns += 1) {
      const response = await fetch(served.url, { method: "POST", body: "a".repeat(1000) });
      expect([response.status, await response.text()]).toEqual([413, "refused"]);
    }
  });

  test("a client gets the text before a dropped connection", async () => {
    const { served } = await serveEmulator();
    const fields = { model: "gamma-chat-1-6-251015", stream: true };
    const { frames, failure } = await readFrames(await sendTo(served, createRequest("hi [[drop]]", fields)));
    expect(frames).toHaveLength(9);
    expect(failure).toBeInstanceOf(TypeError);
  });

  test("a refused connection has no response", async () => {
    const { served } = await serveEmulator({ faults: () => "refuse" });
    await expect(sendTo(served, createRequest("hi"))).rejects.toBeInstanceOf(TypeError);
  });

  test("closing ends open streams", async () => {
    const { served } = await serveEmulator();
    const response = await sendTo(served, createRequest("hi [[stall]]", { stream: true }));
    const reading = readFrames(response);
    await served.close();
    expect((await reading).failure).toBeInstanceOf(TypeError);
  });

  test("malformed requests don't end the server", async () => {
    const { served } = await serveEmulator();
    for (const line of [
      "GET http://elsewhere.example/v1 HTTP/1.1\r\nHost: %%\r\n\r\n",
      "TRACE / HTTP/1.1\r\nHost: x\r\n\r\n",
    ]) {
      const socket = connect(Number(new URL(served.url).port), "127.0.0.1");
      socket.on("error", () => {});
      socket.end(line);
      socket.resume();
      await once(socket, "close");
    }
    expect((await fetch(served.url)).status).toBe(200);
  });
});

test("an emulator does not listen on a port by itself", () => {
  expect(Object.keys(createEmulator({ apiKeys: [KEY] }))).toEqual([
    "fetch",
    "clientOptions",
    "requests",
    "reset",
  ]);
});
