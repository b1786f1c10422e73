import { expect, test } from "vitest";
import { settled } from "../../core/test/support/gateway.js";
import { createLiveChat } from "./support/chat.js";

test("Ten thousand queued messages are shown, and dropped by stop()", async () => {
  const { chat, requests } = createLiveChat({ whenBusy: "queue" });
  const turns = Array.from({ length: 10_001 }, (_, nth) => chat.send(`message ${nth}`));
  expect(chat.getSnapshot().queued).toHaveLength(10_000);
  chat.stop();
  const outcomes = (await Promise.all(turns)).map(({ outcome }) => outcome);
  expect(new Set(outcomes.slice(1))).toEqual(new Set(["not-sent"]));
  expect(chat.getSnapshot().queued).toEqual([]);
  await settled();
  expect(requests.length).toBeLessThan(2);
});
