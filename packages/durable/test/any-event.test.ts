import { videoWatch } from "@sluice/durable";
import { type AnyEvent, createProxy } from "@sluice/worker-proxy";
import { expect, expectTypeOf, test } from "vitest";
import { KEY } from "../../worker-proxy/test/support/key.js";

test("One handler of events fits `onEvent` of a proxy and of a watch, also in options that they share", () => {
  const onEvent = (event: AnyEvent) => {
    if (event.kind === "request") expectTypeOf(event.status).toEqualTypeOf<number>();
    else expectTypeOf(event.outcome).not.toBeAny();
  };
  const shared = { baseURL: "https://gateway.example", apiKey: () => KEY, onEvent };
  const own = { authenticate: "public", origins: [], models: ["beta3.0-video"] } as const;
  expect(createProxy({ ...shared, ...own }).fetch).toBeTypeOf("function");
  expect(videoWatch(shared)).toBeTypeOf("function");
});
