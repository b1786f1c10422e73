import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CHATS, chat, startAttacked, stream } from "./support/attacked.js";
import { createPiece, done, stopped, streamHead } from "./support/raw-gateway.js";

/* Clients that close their socket to workerd: which closes workerd notices, and which limits end the other requests. */

/** Timeout for the gateway's headers. Nothing else ends the request of a client that has closed its socket in order. */
const HEADERS_MS = 3000;
const budget = { user: 1e9 };

const leave = {
  "a reset": (socket: Socket) => void socket.resetAndDestroy(),
  "a close": (socket: Socket) => void socket.destroy(),
  "the end of its own side": (socket: Socket) => void socket.end(),
};

describe.each([
  ["without a meter", {}],
  ["with a meter", { budget }],
])("%s", (_, plan) => {
  let proxy: Awaited<ReturnType<typeof startAttacked>>;
  beforeAll(async () => {
    proxy = await startAttacked({ plan, options: { timeout: { firstChunkMs: HEADERS_MS } } });
  });
  afterAll(() => proxy.close());

  /** Sends a user's request over a socket. Returns the socket, and the request that reached the gateway. */
  async function sendOverSocket(user: string, body: object) {
    const text = JSON.stringify(body);
    const socket = connect(proxy.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    const head = [
      `POST ${CHATS} HTTP/1.1`,
      "Host: localhost",
      `Authorization: Bearer ${user}`,
      "Content-Type: application/json",
      `Content-Length: ${text.length}`,
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n${text}`);
    await proxy.upstream.arrived(1);
    const [request] = proxy.upstream.requests;
    if (!request) throw new Error("nothing has come");
    return { socket, request };
  }

  const readEvent = async (user: string) =>
    JSON.parse(await proxy.loggedLine(new RegExp(`^\\{.*"userId":"${user}"`)));

  test.each([
    ["a stream", stream],
    ["JSON", chat],
  ])("a reset before the headers of %s ends the gateway's request at once (case 138)", async (kind, body) => {
    proxy.upstream.respondWith(() => {});
    const user = `reset-${kind.slice(-4)}`;
    const { socket, request } = await sendOverSocket(user, body);
    leave["a reset"](socket);
    await request.closed;
    const event = await readEvent(user);
    expect(event).toMatchObject({ status: 499, code: "client_left" });
    expect(event.durationMs).toBeLessThan(HEADERS_MS);
  });

  test.each(["a reset", "a close"] as const)(
    "%s within a stream ends the gateway's request (case 138)",
    async (how) => {
      proxy.upstream.respondWith((socket) => {
        socket.write(streamHead + createPiece("one"));
        const more = setInterval(() => socket.write(createPiece("more")), 20);
        socket.on("close", () => clearInterval(more));
      });
      const user = `within-${how.slice(2)}`;
      const { socket, request } = await sendOverSocket(user, stream);
      await new Promise((resolve) => socket.once("data", resolve));
      leave[how](socket);
      await request.closed;
      expect(await readEvent(user)).toMatchObject({ status: 499, code: "client_left" });
    },
  );

  test.each([
    ["a close", "a stream", stream],
    ["a close", "JSON", chat],
    ["the end of its own side", "a stream", stream],
    ["the end of its own side", "JSON", chat],
  ] as const)(
    "%s before the headers of %s can't be seen: `firstChunkMs` ends the gateway's request (case 139)",
    async (how, kind, body) => {
      proxy.upstream.respondWith(() => {});
      const user = `quiet-${how.length}-${kind.slice(-4)}`;
      const { socket, request } = await sendOverSocket(user.replace(" ", ""), body);
      leave[how](socket);
      await request.closed;
      expect(await readEvent(user)).toMatchObject({ status: 504, code: "upstream_timeout" });
    },
  );

  test("a client that has only closed its sending side gets the whole stream (case 139)", async () => {
    let goOn = (_text: string) => {};
    proxy.upstream.respondWith((socket) => {
      socket.write(streamHead + createPiece("one"));
      goOn = (text) => socket.end(text);
    });
    const { socket } = await sendOverSocket("half", stream);
    let text = "";
    socket.setEncoding("latin1").on("data", (piece) => {
      text += piece;
    });
    const ended = new Promise((resolve) => socket.once("close", resolve));
    leave["the end of its own side"](socket);
    goOn(createPiece("two") + stopped() + done);
    await ended;
    expect(text).toMatch(/one.*two.*\[DONE\]/s);
    expect(await readEvent("half")).toMatchObject({ status: 200, outcome: "complete" });
  });
});
