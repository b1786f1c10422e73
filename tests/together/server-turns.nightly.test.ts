import { createSchedule, listSchedules } from "@sluice/core/remote";
import { afterEach, expect, test } from "vitest";
import { device, open, stopAll } from "../support/server-turns.ts";

const PATIENCE = { interval: 20 };

afterEach(stopAll);

test("A morning picture that one device plans is shown on the other, with no page of the first", async () => {
  const server = await open(() => "Hi");
  const phone = device(server.url);
  const made = await createSchedule(phone.client, "c-1", {
    title: "Morning picture",
    image: { model: "gamma-image-5-0-260128", prompt: "A reef at dawn" },
    at: Date.now() + 1_500,
  });
  phone.leave();
  const laptop = device(server.url);
  await expect.poll(() => laptop.messages()[1]?.images?.length, PATIENCE).toBe(1);
  expect(laptop.texts()).toEqual(["A reef at dawn", ""]);
  await expect.poll(() => laptop.messages()[1]?.outcome, PATIENCE).toBe("complete");
  expect(await listSchedules(laptop.client, "c-1")).toMatchObject([
    { id: made.id, nextAt: null, code: "done", last: { at: made.nextAt, outcome: "started" } },
  ]);
  // the chat goes on below the picture
  expect(await laptop.chat.send("Thanks")).toMatchObject({ outcome: "complete" });
  expect(laptop.texts()).toEqual(["A reef at dawn", "", "Thanks", "Hi"]);
});
