import { expect, test } from "vitest";
import { connected, IMAGE, textOf } from "./support/connect.js";

test("Calls are forgotten beyond 1,000, those that have ended well first", async () => {
  const { call, bills } = await connected({ client: { idempotencyKeys: false } });
  await call(IMAGE, { prompt: "A lost reef [[drop]]" });
  // a refusal is not remembered: it costs no place
  for (let n = 0; n < 1001; n++)
    await call("chat_gamma-chat-1-6-251015", { messages: [{ role: "user", content: `${n}` }] });
  const paid = bills();
  expect(textOf(await call(IMAGE, { prompt: "A lost reef [[drop]]" }))).toMatch(/^Nothing was sent/);
  expect(bills()).toBe(paid);
});
