import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { toNodeHandler } from "@sluice/worker-proxy/node";
import { expect, onTestFinished, test, vi } from "vitest";

type Respond = Parameters<typeof toNodeHandler>[0];

/** Serves a response on a port of this machine. */
async function serve(respond: Respond) {
  const server = createServer(toNodeHandler(respond)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}` };
}

/** Opens a connection, over which nothing is tidied. */
function open(port: number) {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let text = "";
  const watched = new Set<() => void>();
  const look = () => {
    for (const each of watched) each();
  };
  socket.setEncoding("latin1").on("data", (piece) => {
    text += piece;
    look();
  });
  socket.on("error", () => {}).on("close", look);
  /** Resolves with the received text as soon as it includes `sought`. */
  const until = (sought: string) =>
    new Promise<string>((resolve, reject) => {
      const check = () => {
        if (text.includes(sought)) resolve(text);
        else if (socket.closed) reject(new Error(`closed: ${text}`));
      };
      watched.add(check);
      check();
    });
  return { socket, until };
}

const closed = async (socket: Socket) => void (socket.closed || (await once(socket, "close")));
const head = (line: string, ...headers: string[]) => `${[line, ...headers].join("\r\n")}\r\n\r\n`;

/** Catches the lines of the log. */
function logged() {
  const error = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => error.mockRestore());
  return () => error.mock.calls.flat().join("\n");
}

test("A request has its method, address, headers and body; its response has status, headers and body", async () => {
  const { url } = await serve(async (request) => {
    const received = { method: request.method, url: request.url, name: request.headers.get("x-name") };
    const headers = new Headers({ "x-own": "1" });
    headers.append("set-cookie", "a=1");
    headers.append("set-cookie", "b=2");
    // a real request: it can be copied
    const body = await new Request(request, { headers }).text();
    return Response.json({ ...received, body }, { status: 201, headers });
  });
  const received = { method: "POST", headers: { "x-name": "ada" }, body: "tea for ü" };
  const response = await fetch(`${url}/a?b=c`, received);
  expect([response.status, response.headers.get("x-own")]).toEqual([201, "1"]);
  expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  expect(await response.json()).toEqual({
    method: "POST",
    url: `${url}/a?b=c`,
    name: "ada",
    body: "tea for ü",
  });
});

test("Headers are there before the first byte of the body", async () => {
  let begin = (_: string) => {};
  const { url } = await serve(
    () =>
      new Response(
        new ReadableStream({
          start(controller) {
            begin = (text) => {
              controller.enqueue(new TextEncoder().encode(text));
              controller.close();
            };
          },
        }),
        { headers: { "x-stream-id": "1" } },
      ),
  );
  const response = await fetch(url);
  expect(response.headers.get("x-stream-id")).toBe("1");
  begin("now");
  expect(await response.text()).toBe("now");
});

test("a client that disconnects is reported by the signal, before the headers and in the body, and ends the body (case 197)", async () => {
  const log = logged();
  const pending: Promise<unknown>[] = [];
  const { port } = await serve((request) => {
    const { pathname } = new URL(request.url);
    const leaves = new Promise((resolve) => request.signal.addEventListener("abort", resolve));
    if (pathname === "/before") {
      pending.push(leaves);
      return leaves.then(() => Promise.reject(new Error("nobody is there")));
    }
    return new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new Uint8Array([65])),
        cancel: () => void pending.push(leaves),
      }),
    );
  });
  const before = open(port);
  before.socket.write(head("GET /before HTTP/1.1", "Host: a"));
  await expect.poll(() => pending.length).toBe(1);
  before.socket.destroy();
  await pending[0];
  const within = open(port);
  within.socket.write(head("GET /within HTTP/1.1", "Host: a"));
  await within.until("\r\nA");
  within.socket.destroy();
  await expect.poll(() => pending.length).toBe(2);
  await pending[1];
  expect(log()).toBe("");
});

test("the signal does not abort after the whole response was sent", async () => {
  let signal: AbortSignal | undefined;
  const { port } = await serve((request) => {
    signal = request.signal;
    return new Response("all");
  });
  const { socket, until } = open(port);
  socket.write(head("GET / HTTP/1.1", "Host: a", "Connection: close"));
  await until("all");
  await closed(socket);
  expect(signal?.aborted).toBe(false);
});

test("A client that does not read holds the body back", async () => {
  let made = 0;
  const { port } = await serve(
    () =>
      new Response(
        new ReadableStream({
          async pull(controller) {
            await new Promise(setImmediate);
            made += 1;
            controller.enqueue(new Uint8Array(65_536));
          },
        }),
      ),
  );
  const { socket, until } = open(port);
  socket.write(head("GET / HTTP/1.1", "Host: a"));
  await until("200 OK");
  socket.pause();
  // until nothing moves any more
  for (let before = -1; before !== made; ) {
    before = made;
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
  expect(made * 65_536).toBeLessThan(32 * 1024 * 1024);
});

test("a body that breaks off closes the connection, so that the client sees a cut and no end (case 197)", async () => {
  const log = logged();
  let cut = () => {};
  const { port, url } = await serve(
    () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode("part"));
            cut = () => controller.error(new Error("the disk is gone"));
          },
        }),
      ),
  );
  const { socket, until } = open(port);
  socket.write(head("GET / HTTP/1.1", "Host: a"));
  const text = await until("part");
  cut();
  await closed(socket);
  // the end of a body in chunks
  expect(text).not.toContain("\r\n0\r\n");
  const response = await fetch(url);
  const read = response.text();
  cut();
  await expect(read).rejects.toThrow();
  expect(log()).toContain("node: a response failed: Error: the disk is gone");
});

test("a response that fails is 500 without its cause, which is in the log (case 197)", async () => {
  const log = logged();
  const { url } = await serve(() => {
    throw new Error("a secret of the operator");
  });
  const response = await fetch(url);
  expect([response.status, await response.text()]).toEqual([500, ""]);
  expect(log()).toContain("sluice proxy: node: a response failed: Error: a secret of the operator");
});

test("a body of a request that breaks off fails where it is read, and nothing is logged (case 197)", async () => {
  const log = logged();
  const ends: Promise<unknown>[] = [];
  const { port } = await serve(async (request) => {
    const end = request.text().catch((error: unknown) => error);
    ends.push(end);
    await end;
    throw new Error("nobody is there");
  });
  const { socket } = open(port);
  socket.write(`${head("POST / HTTP/1.1", "Host: a", "Content-Length: 100")}abc`);
  await expect.poll(() => ends.length).toBe(1);
  socket.destroy();
  expect(await ends[0]).toBeInstanceOf(Error);
  expect(log()).toBe("");
});

test.each([3, 100_000, 5_000_000])(
  "An unread body of %i bytes is dropped: the client has its response, and the next one on the same connection",
  async (length) => {
    const { port } = await serve(({ method }) => new Response(method, { status: 413 }));
    const { socket, until } = open(port);
    socket.write(head("POST / HTTP/1.1", "Host: a", `Content-Length: ${length}`));
    socket.write("x".repeat(length));
    socket.write(head("PUT / HTTP/1.1", "Host: a", "Content-Length: 0"));
    expect(await until("PUT")).toMatch(/POST.*PUT/s);
  },
);

test("A body that is given up in the middle is dropped, too", async () => {
  const { port } = await serve(async ({ body, method }) => {
    const reader = body?.getReader();
    await reader?.read();
    await reader?.cancel();
    return new Response(method, { status: 413 });
  });
  const { socket, until } = open(port);
  socket.write(head("POST / HTTP/1.1", "Host: a", "Content-Length: 5000000"));
  socket.write("x".repeat(5_000_000));
  socket.write(head("PUT / HTTP/1.1", "Host: a", "Content-Length: 0"));
  expect(await until("PUT")).toMatch(/POST.*PUT/s);
});

test("HEAD has the headers alone, and ends a body that would never end", async () => {
  let cancelled = () => {};
  const isCancelled = new Promise<void>((resolve) => {
    cancelled = resolve;
  });
  const { port } = await serve(
    () => new Response(new ReadableStream({ cancel: () => cancelled() }), { headers: { "x-own": "1" } }),
  );
  const { socket, until } = open(port);
  socket.write(head("HEAD / HTTP/1.1", "Host: a", "Connection: close"));
  expect((await until("\r\n\r\n")).split("\r\n\r\n")).toEqual([expect.stringContaining("x-own: 1"), ""]);
  await Promise.all([closed(socket), isCancelled]);
});

test.each([
  ["two slashes", "GET //evil.example/x HTTP/1.1", "Host: app.example", "http://app.example//evil.example/x"],
  ["an address", "GET http://app.example/x HTTP/1.1", "Host: app.example", "http://app.example/x"],
  ["no host", "GET /x HTTP/1.0", "X-None: 1", "http://localhost/x"],
  ["a host of numbers", "GET /x HTTP/1.1", "Host: [::1]:80", "http://[::1]/x"],
])("a request with %s has the address of its own host (case 198)", async (_, line, header, address) => {
  const { port } = await serve(({ url }) => new Response(url));
  const { socket, until } = open(port);
  socket.write(head(line, header, "Connection: close"));
  expect(await until("\r\n\r\n")).toContain("200 OK");
  await closed(socket);
  expect((await until("http://")).split("\r\n")).toContain(address);
});

test.each([
  ["a name in the host", "GET /x HTTP/1.1", "Host: ada@app.example"],
  ["a path in the host", "GET /x HTTP/1.1", "Host: app.example/evil"],
  ["a space in the host", "GET /x HTTP/1.1", "Host: app example"],
  ["no path", "OPTIONS * HTTP/1.1", "Host: app.example"],
  ["another scheme", "GET ftp://app.example/x HTTP/1.1", "Host: app.example"],
  ["TRACE", "TRACE /x HTTP/1.1", "Host: app.example"],
])("a request with %s is 400, and reaches no other handler (case 198)", async (_, line, header) => {
  const respond = vi.fn(() => new Response());
  const { port } = await serve(respond);
  const { socket, until } = open(port);
  socket.write(head(line, header, "Connection: close"));
  expect(await until("HTTP/1.1")).toMatch(/^HTTP\/1\.1 400 /);
  expect(respond).not.toHaveBeenCalled();
});
