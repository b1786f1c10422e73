import { describe, expect, test } from "vitest";
import { connected, IMAGE, textOf } from "./support/connect.js";

const reef = { prompt: "A reef" };
const key = "k-0123456789";

describe("A call that is repeated with its idempotency_key", () => {
  test("gets the first result, and pays once", async () => {
    const { call, bills } = await connected();
    const first = await call(IMAGE, { ...reef, idempotency_key: key });
    expect(await call(IMAGE, { idempotency_key: key, ...reef })).toEqual(first);
    expect(bills()).toBe(1);
  });

  test("joins the first one while it is in flight", async () => {
    const { call, bills } = await connected();
    const both = [0, 1].map(() => call(IMAGE, { ...reef, idempotency_key: key }));
    const [one, other] = await Promise.all(both);
    expect(other).toEqual(one);
    expect(bills()).toBe(1);
  });

  test("is refused for other arguments", async () => {
    const { call, bills } = await connected();
    await call(IMAGE, { ...reef, idempotency_key: key });
    const other = await call(IMAGE, { prompt: "A lake", idempotency_key: key });
    expect(textOf(other)).toMatch(/^Nothing was sent: this idempotency_key belongs to another call/);
    expect(bills()).toBe(1);
  });

  test("is sent again after a refusal, which costs nothing", async () => {
    const { call, bills } = await connected();
    const busy = { prompt: "A reef [[429:1]]", idempotency_key: key };
    expect((await call(IMAGE, busy)).isError).toBe(true);
    expect((await call(IMAGE, busy)).isError).toBeUndefined();
    expect(bills()).toBe(2);
  });
});

describe("A call that may be billed", () => {
  const lost = { prompt: "A reef [[drop]]" };

  test("is not sent again straight to the gateway, with or without its key", async () => {
    const { call, bills } = await connected({ client: { idempotencyKeys: false } });
    expect((await call(IMAGE, { ...lost, idempotency_key: key })).isError).toBe(true);
    for (const again of [lost, { ...lost, idempotency_key: key }, lost])
      expect(textOf(await call(IMAGE, again))).toMatch(
        /^Nothing was sent: an earlier call with the same arguments/,
      );
    expect(bills()).toBe(1);
  });

  test("is not sent again through a proxy that does not know keys", async () => {
    const { call, bills, emulator } = await connected();
    await call(IMAGE, lost);
    expect(textOf(await call(IMAGE, lost))).toMatch(/^Nothing was sent: an earlier call/);
    expect(bills()).toBe(1);
    expect(emulator.requests.map(({ path }) => path)).toContain("/health");
  });

  test("is paid for again where the user wants it, by a new key", async () => {
    const { call, bills } = await connected();
    await call(IMAGE, lost);
    await call(IMAGE, { ...lost, idempotency_key: "k-new-and-random" });
    expect(bills()).toBe(2);
  });

  test("is one that was cancelled, too: hosts cancel what takes long, and try again", async () => {
    const { call, bills, emulator } = await connected();
    const caller = new AbortController();
    const slow = { prompt: "A reef [[stall]]" };
    const calling = call(IMAGE, slow, { signal: caller.signal });
    await expect.poll(() => emulator.requests.length).toBe(1);
    caller.abort();
    await expect(calling).rejects.toThrow();
    expect(textOf(await call(IMAGE, slow))).toMatch(/^Nothing was sent: an earlier call/);
    expect(bills()).toBe(1);
  });

  test("does not hold up the same call where the first one has ended well", async () => {
    const { call, bills } = await connected();
    await call(IMAGE, reef);
    await call(IMAGE, reef);
    expect(bills()).toBe(2);
  });
});
