import { expect, test } from "vitest";
import { connect, IMAGE, joinTexts } from "./support/connect.js";

test("Calls are forgotten beyond 1,000, successful calls first", async () => {
  const { call, countPosts } = await connect({ client: { idempotencyKeys: false } });
  await call(IMAGE, { prompt: "A lost reef [[drop]]" });
  // a refusal is not recorded, since it costs nothing
  for (let n = 0; n < 1001; n++)
    await call("chat_gamma-chat-1-6-251015", { messages: [{ role: "user", content: `${n}` }] });
  const paid = countPosts();
  expect(joinTexts(await call(IMAGE, { prompt: "A lost reef [[drop]]" }))).toMatch(/^Nothing was sent/);
  expect(countPosts()).toBe(paid);
});
