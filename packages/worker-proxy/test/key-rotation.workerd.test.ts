import { afterEach, expect, test, vi } from "vitest";
import { chat, createRequest, openProxy } from "./support/in-process.js";
import { expectNoKey, KEY } from "./support/key.js";

const NEXT = "sk-Hc5Tj8WqUe1Xo6MnBv0PdRs4G";
const log = vi.spyOn(console, "error").mockImplementation(() => {});
afterEach(() => log.mockClear());

const readKey = ({ headers }: Request) => headers.get("authorization")?.slice("Bearer ".length) ?? "";
const unauthorized = (status = 401) =>
  Response.json({ error: { message: `Incorrect API key: ${KEY} ${NEXT}` } }, { status });

/** Opens a proxy whose gateway accepts only these keys. */
function openRotating(known: readonly string[], keys: readonly string[] = [KEY, NEXT], status?: number) {
  const opened = openProxy({ apiKey: () => keys }, (request) =>
    known.includes(readKey(request)) ? Response.json({ id: "1" }) : unauthorized(status),
  );
  return { ...opened, used: () => opened.reached.map(readKey) };
}
/** No part of either key is in a text. */
function expectNoKeys(text: string): void {
  expectNoKey(text);
  for (let at = 0; at + 8 <= NEXT.length; at += 1) expect(text).not.toContain(NEXT.slice(at, at + 8));
}

test("the first key is used as long as the gateway takes it", async () => {
  const { call, used } = openRotating([KEY, NEXT]);
  expect((await call(createRequest())).status).toBe(200);
  expect(used()).toEqual([KEY]);
  expect(log).not.toHaveBeenCalled();
});

test.each([401, 402, 403])(
  "a request that is refused under one key with %i is sent once more under the other, unchanged (case 92)",
  async (status) => {
    const { call, used, reached, events } = openRotating([NEXT], [KEY, NEXT], status);
    expect((await call(createRequest())).status).toBe(200);
    expect(used()).toEqual([KEY, NEXT]);
    for (const request of reached) expect(await request.json()).toEqual(chat);
    expect(events).toMatchObject([{ status: 200 }]);
    const lines = log.mock.calls.flat().join();
    expect(lines).toMatch(new RegExp(`one key with ${status}; the other`));
    expectNoKeys(lines);
  },
);

test("uses the key that worked first from then on, and logs it once (case 92)", async () => {
  const known = [NEXT];
  const { call, used } = openRotating(known);
  for (let count = 0; count < 5; count += 1) expect((await call(createRequest())).status).toBe(200);
  expect(used()).toEqual([KEY, NEXT, NEXT, NEXT, NEXT, NEXT]);
  expect(log).toHaveBeenCalledTimes(1);
  known.splice(0, 1, KEY);
  expect((await call(createRequest())).status).toBe(200);
  expect((await call(createRequest())).status).toBe(200);
  expect(used().slice(6)).toEqual([NEXT, KEY, KEY]);
  expect(log).toHaveBeenCalledTimes(2);
});

test("a key that the operator has withdrawn is not used, though it worked", async () => {
  const keys = [KEY, NEXT];
  const { call, used } = openRotating([NEXT], keys);
  await call(createRequest());
  keys.pop();
  expect((await call(createRequest())).error?.["code"]).toBe("upstream_auth");
  expect(used()).toEqual([KEY, NEXT, KEY]);
});

test("The log says that both keys were refused, and the response does not", async () => {
  const { call, used, events } = openRotating([]);
  const { status, error, text } = await call(createRequest());
  expect([status, error?.["code"]]).toEqual([502, "upstream_auth"]);
  expect(used()).toEqual([KEY, NEXT]);
  expectNoKeys(text + log.mock.calls.flat().join() + JSON.stringify(events));
  expect(text).not.toContain("Incorrect");
});

test.each([400, 404, 429, 500, 503])(
  "a %i is not the key's fault, and the request is not repeated",
  async (status) => {
    const { call, used } = openRotating([], [KEY, NEXT], status);
    expectNoKeys((await call(createRequest())).text);
    expect(used()).toEqual([KEY]);
  },
);

test("A request with one key is not sent again", async () => {
  for (const keys of [[KEY], KEY as never]) {
    const { call, used } = openRotating([], keys);
    expect((await call(createRequest())).error?.["code"]).toBe("upstream_auth");
    expect(used()).toEqual([KEY]);
  }
});

test("neither key is passed on in a response, a stream or a header", async () => {
  for (const key of [KEY, NEXT]) {
    const { call } = openProxy({ apiKey: () => [KEY, NEXT] }, () =>
      Response.json({ id: "1", note: `the key is ${key}` }, { headers: { "x-request-id": key } }),
    );
    const { status, text, headers } = await call(createRequest());
    expect([status, JSON.parse(text).error.code]).toEqual([502, "upstream_type"]);
    expectNoKeys(text + [...headers].join());
  }
});

test.each([
  ["three of them", [KEY, NEXT, `${NEXT}x`]],
  ["none", []],
  ["an empty one", [KEY, ""]],
  ["one with a space", [KEY, ` ${NEXT}`]],
  ["one that is no text", [KEY, 7 as never]],
])("keys of which there are %s give 500, and appear in no response and no log (case 46)", async (_, keys) => {
  const { call, reached } = openRotating([KEY], keys as string[]);
  const { status, error, text } = await call(createRequest());
  expect([status, error?.["code"], reached.length]).toEqual([500, "misconfigured", 0]);
  const lines = log.mock.calls.flat().join();
  expect(lines).toMatch(/apiKey: /);
  expectNoKeys(text + lines);
});
