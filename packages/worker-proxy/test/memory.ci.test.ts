import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { readStreams } from "@sluice/worker-proxy";
import { expect, test } from "vitest";
import { createRequest, openProxy } from "./support/in-process.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
const PIECES = 2000;

/** A body of one-byte chunks, each in a buffer as large as a platform's, and how many buffers are still in memory. */
function openSlowBody() {
  const rooms: WeakRef<ArrayBuffer>[] = [];
  let isSent = () => {};
  const sent = new Promise<void>((resolve) => {
    isSent = resolve;
  });
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (rooms.length === PIECES) {
          isSent();
          await ended;
          return controller.close();
        }
        const room = new ArrayBuffer(4096);
        rooms.push(new WeakRef(room));
        controller.enqueue(new Uint8Array(room).subarray(0, 1).fill(32));
        // objects that a turn of the event loop created are freed only after it
        if (rooms.length % 100 === 0) await new Promise((resolve) => setTimeout(resolve));
      },
    },
    { highWaterMark: 0 },
  );
  return {
    body,
    end,
    async held(): Promise<number> {
      await sent;
      await new Promise((resolve) => setTimeout(resolve));
      collectGarbage();
      return rooms.filter((room) => room.deref() !== undefined).length;
    },
  };
}

test("a body in chunks of one byte takes the memory of its bytes, not of the buffers they came in", async () => {
  const slow = openSlowBody();
  const { url, method, headers } = createRequest();
  const request = { method, headers, body: slow.body, duplex: "half" };
  const response = openProxy().call(new Request(url, request));
  expect(await slow.held()).toBeLessThan(200);
  slow.end();
  expect((await response).status).toBe(400);
});

test("A line of a stream that is read has the same bound", async () => {
  const slow = openSlowBody();
  const headers = { "content-type": "text/event-stream" };
  const { call } = openProxy({ plugins: [readStreams()] }, () => new Response(slow.body, { headers }));
  const response = call(createRequest());
  expect(await slow.held()).toBeLessThan(200);
  slow.end();
  expect((await response).text).toContain("upstream_cut");
});
