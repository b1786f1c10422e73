import {
  createConversationLink,
  createSchedule,
  joinConversation,
  listSchedules,
  removeSchedule,
  type ScheduleTime,
  type ScheduleWork,
} from "@sluice/core/remote";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { list, openServer, watched } from "../support/conversations-server.ts";

/* Schedules of a conversation, as a page makes, lists and removes them. */

let server: ReturnType<typeof openServer>;
beforeEach(() => {
  server = openServer({ hasSchedules: true });
});
afterEach(() => server.close());

const DAY_MS = 86_400_000;
const picture = {
  title: "Morning picture",
  image: { model: "gamma-image-5-0-260128", prompt: "A reef at dawn" },
  time: "08:00",
  timeZone: "Europe/Berlin",
} as const satisfies { title: string } & ScheduleWork & ScheduleTime;

describe("a schedule", () => {
  test("It is made with a random id, listed on each device, and removed", async () => {
    const [phone, laptop] = [server.device(), server.device()];
    const made = await createSchedule(phone.client, "trip", picture);
    expect(made).toMatchObject({ ...picture, id: expect.stringMatching(/^[\w-]{1,64}$/), user: "ada" });
    expect(made.nextAt).toBeGreaterThan(Date.now());
    const other = await createSchedule(phone.client, "trip", {
      message: { content: "Good night" },
      at: Date.now() + DAY_MS,
    });
    expect(other.id).not.toBe(made.id);
    const ids = async () => (await listSchedules(laptop.client, "trip")).map(({ id }) => id);
    expect(new Set(await ids())).toEqual(new Set([made.id, other.id]));
    await removeSchedule(laptop.client, "trip", made.id);
    await removeSchedule(phone.client, "trip", made.id);
    const left = (await listSchedules(phone.client, "trip")).filter(({ nextAt }) => nextAt !== null);
    expect(left).toEqual([other]);
    await expect(createSchedule(phone.client, "trip", { ...picture, id: made.id })).rejects.toMatchObject({
      apiCode: "schedule_removed",
    });
  });

  test("One that is sent again, also at once, is one, and another request with its id changes it", async () => {
    const { client } = server.device();
    const again = () => createSchedule(client, "trip", { ...picture, id: "morning" });
    const [first, second] = await Promise.all([again(), again()]);
    expect(second).toEqual(first);
    expect(await again()).toEqual(first);
    const later = await createSchedule(client, "trip", { ...picture, id: "morning", time: "09:00" });
    expect(later).toMatchObject({ id: "morning", time: "09:00", createdAt: first.createdAt });
    expect(await listSchedules(client, "trip")).toEqual([later]);
  });

  test("A conversation that it begins is in the list of each device", async () => {
    const [phone, laptop] = [server.device(), server.device()];
    const listed = watched(laptop.storage, list(laptop.client));
    await createSchedule(phone.client, "morning", picture);
    await expect
      .poll(() => listed.records.get("morning"), { timeout: 20_000 })
      .toMatchObject({ title: "Morning picture", revision: 0 });
    listed.stop();
  });

  test("It is an object for each device that follows the conversation", async () => {
    const [phone, laptop] = [server.device(), server.device()];
    const { id, nextAt } = await createSchedule(phone.client, "trip", picture);
    const collection = `"${laptop.client.scope}"/chat/trip`;
    const stop = laptop.storage.watch(collection, () => {});
    const read = async () => (await laptop.storage.read(collection)).get(`/schedule/${id}`);
    await expect.poll(read, { timeout: 20_000 }).toMatchObject({ id, nextAt });
    stop();
  });

  test.each([
    ["a time that has been", { message: { content: "Hi" }, at: 1 }, /at: send a time in the future/],
    ["a time without a zone", { ...picture, timeZone: "" }, /timeZone: send the name of a zone/],
    ["no text", { message: { content: " " }, time: "08:00", timeZone: "UTC" }, /message\.content/],
    ["another kind of id", { ...picture, id: "a b" }, /id: send 1 to 64 letters/],
  ])("%s is refused with the name of the field", async (_, schedule, message) => {
    const { client } = server.device();
    await expect(createSchedule(client, "trip", schedule as typeof picture)).rejects.toMatchObject({
      name: "APIError",
      apiCode: "invalid_request",
      message: expect.stringMatching(message),
    });
    expect(await listSchedules(client, "trip")).toEqual([]);
  });

  test("More than a user may have are refused", async () => {
    const { client } = server.device();
    for (const id of ["one", "two", "two"]) await createSchedule(client, id, picture);
    await expect(createSchedule(client, "three", picture)).rejects.toMatchObject({
      apiCode: "too_many_schedules",
      status: 429,
    });
  });

  test("A member of a shared conversation neither lists nor makes schedules, and sees no id of a user", async () => {
    const [ada, ben] = [server.device(), server.device({ user: "ben" })];
    const made = await createSchedule(ada.client, "trip", picture);
    const { token } = await createConversationLink(ada.client, "trip", { access: "write" });
    const { id } = await joinConversation(ben.client, token);
    for (const one of [
      () => createSchedule(ben.client, id, picture),
      () => listSchedules(ben.client, id),
      () => removeSchedule(ben.client, id, made.id),
    ])
      await expect(one()).rejects.toMatchObject({ apiCode: "owner_only" });
    expect(await listSchedules(ada.client, "trip")).toEqual([made]);
    // the record of it reaches him, and names nobody
    const collection = `"${ben.client.scope}"/chat/${id}`;
    const stop = ben.storage.watch(collection, () => {});
    const read = async () => (await ben.storage.read(collection)).get(`/schedule/${made.id}`);
    await expect.poll(read, { timeout: 20_000 }).toMatchObject({ title: "Morning picture" });
    expect(await read()).not.toHaveProperty("user");
    stop();
  });
});

describe("a server that answers about schedules as it should not", () => {
  test.each([
    ["a page", () => new Response("<html>", { headers: { "content-type": "text/html" } }), "ResponseError"],
    ["JSON of another shape", () => Response.json([]), "ResponseError"],
    ["no id", () => Response.json({ schedules: [{}], schedule: { nextAt: 1 } }), "ResponseError"],
    [
      "a time that is none",
      () => Response.json({ schedules: [{ id: "a", nextAt: "x" }], schedule: { id: "a" } }),
      "ResponseError",
    ],
    ["404 of nothing", () => new Response("", { status: 404 }), "APIError"],
    ["503", () => new Response("", { status: 503, headers: { "retry-after": "86400" } }), "APIError"],
  ])("%s once is an error of one call, and the next one works", async (_, answer, name) => {
    let isBroken = true;
    const { client } = server.device({
      fetch: async (request) => {
        if (isBroken) return answer();
        request.headers.set("origin", "https://app.example.com");
        return server.answer(request);
      },
    });
    const make = () => createSchedule(client, "trip", { ...picture, id: "morning" });
    await expect(make()).rejects.toMatchObject({ name });
    await expect(listSchedules(client, "trip")).rejects.toMatchObject({ name });
    isBroken = false;
    expect(await make()).toMatchObject({ id: "morning" });
    expect(await listSchedules(client, "trip")).toMatchObject([{ id: "morning" }]);
  });

  test("A proxy without schedules is an error that says so, and no network is one of the connection", async () => {
    const without = openServer();
    const { client, goOffline } = without.device();
    await expect(listSchedules(client, "trip")).rejects.toMatchObject({ name: "APIError", status: 404 });
    goOffline();
    await expect(createSchedule(client, "trip", picture)).rejects.toMatchObject({ name: "ConnectionError" });
    await without.close();
  });
});
