import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { chat, startProxy } from "./support/harness.js";
import { KEY } from "./support/key.js";
import { chunk, done, finish, reply } from "./support/upstream.js";

const NEXT = "sk-Hc5Tj8WqUe1Xo6MnBv0PdRs4G";
let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeAll(async () => {
  proxy = await startProxy({ keys: [KEY, NEXT] });
});
afterAll(() => proxy.close());
afterEach(() => proxy.forget());

const unauthorized = reply(
  401,
  { "content-type": "application/json" },
  `{"error":{"message":"${KEY} ${NEXT}"}}`,
);
const bearers = () =>
  proxy.upstream.requests.map(({ rawHeaders }) => rawHeaders.filter((value) => value.startsWith("Bearer ")));

test("over sockets, a stream that is refused under the first key comes under the second", async () => {
  const events = chunk("a") + finish + done;
  const stream = reply(200, { "content-type": "text/event-stream" }, events);
  proxy.upstream.respondWith((response, request) =>
    (request.rawHeaders.includes(`Bearer ${NEXT}`) ? stream : unauthorized)(response, request),
  );
  const body = { ...chat, stream: true };
  const { status, text } = await proxy.call(body);
  expect([status, text]).toEqual([200, events]);
  expect(bearers()).toEqual([[`Bearer ${KEY}`], [`Bearer ${NEXT}`]]);
  for (const request of proxy.upstream.requests) expect(JSON.parse(request.body)).toEqual(body);
});

test("reveals no part of either key when the gateway refuses both (case 37)", async () => {
  proxy.upstream.respondWith(unauthorized);
  const { status, error, text } = await proxy.call();
  expect([status, error?.["code"]]).toEqual([502, "upstream_auth"]);
  expect(text).not.toContain(NEXT.slice(3, 11));
  // the key that worked before is tried first
  expect(bearers()).toEqual([[`Bearer ${NEXT}`], [`Bearer ${KEY}`]]);
  expect(await proxy.events(1)).toMatchObject([{ status: 502, code: "upstream_auth" }]);
});
