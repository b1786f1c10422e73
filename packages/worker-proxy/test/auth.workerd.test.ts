import { expect, test } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { createRequest, openProxy } from "./support/in-process.js";

expectLog(
  "503 authentication_unavailable",
  "500 misconfigured",
  "authorization: came twice",
  "onEvent failed",
);

test("if users can't be checked, every request is refused (case 33)", async () => {
  for (const authenticate of [
    () => {
      throw new Error("no keys");
    },
    () => Promise.reject(new Error("no keys")),
  ]) {
    const { reached, events, call } = openProxy({ authenticate });
    const { status, error } = await call(createRequest());
    expect([status, error?.["type"]]).toEqual([503, "proxy_error"]);
    expect(reached).toEqual([]);
    expect(events).toMatchObject([{ status: 503, code: "authentication_unavailable" }]);
  }
});

test.each([null, undefined, false])("%s is no user: 401", async (nobody) => {
  const { reached, call } = openProxy({ authenticate: () => nobody as never });
  const { status, error } = await call(createRequest());
  expect([status, error?.["type"]]).toEqual([401, "authentication_error"]);
  expect(reached).toEqual([]);
});

test.each([{}, { id: "" }, { id: 7 }, true, "user-1"])("%j is no user: 500", async (user) => {
  const { reached, call } = openProxy({ authenticate: () => user as never });
  expect((await call(createRequest())).status).toBe(500);
  expect(reached).toEqual([]);
});

test("two Authorization headers are refused (case 14)", async () => {
  const { reached, call } = openProxy({ authenticate: () => ({ id: "user-1" }) });
  const { status } = await call(
    createRequest({ headers: { authorization: "Bearer user-token, Bearer other" } }),
  );
  expect(status).toBe(401);
  expect(reached).toEqual([]);
});

test("an `authenticate` that reads the body is a wrong setting, and nothing is sent", async () => {
  const { reached, call } = openProxy({
    authenticate: async (request) => {
      await request.text();
      return { id: "user-1" };
    },
  });
  expect((await call(createRequest())).status).toBe(500);
  expect(reached).toEqual([]);
});

test("an `onEvent` that throws breaks nothing", async () => {
  const { call } = openProxy({
    plugins: [
      {
        onEvent() {
          throw new Error("full disk");
        },
      },
    ],
  });
  expect((await call(createRequest())).text).toBe('{"id":"1"}');
  expect((await call(createRequest({ headers: { authorization: "" } }))).status).toBe(401);
});

test("an `onEvent` that fails later breaks nothing", async () => {
  const unheard: unknown[] = [];
  const hear = (event: Event) => {
    event.preventDefault();
    unheard.push(event);
  };
  addEventListener("unhandledrejection", hear);
  const { call } = openProxy({ plugins: [{ onEvent: () => Promise.reject(new Error("full disk")) }] });
  expect((await call(createRequest())).text).toBe('{"id":"1"}');
  await new Promise((resolve) => setTimeout(resolve));
  removeEventListener("unhandledrejection", hear);
  expect(unheard).toEqual([]);
});

test.each([
  ["a wrong key", { authorization: "Bearer sk-wrong" }, "invalid_api_key"],
  ["two keys", { authorization: "Bearer user-token, Bearer sk-wrong" }, "invalid_api_key"],
  ["no key", { authorization: "" }, "unauthenticated"],
  ["an empty key", { authorization: "Bearer " }, "unauthenticated"],
  ["another scheme", { authorization: "Basic dXNlcg==" }, "unauthenticated"],
])("a request with %s gets a 401 whose code says why (case 89)", async (_, headers, code) => {
  const { call, reached } = openProxy();
  const { status, error } = await call(createRequest({ headers }));
  expect([status, error?.["code"], error?.["type"]]).toEqual([401, code, "authentication_error"]);
  expect(reached).toEqual([]);
});
