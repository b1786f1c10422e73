import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { message, unseen } from "./support/conversations.js";
import { told } from "./support/kept-conversations.js";
import { openPerson, type Person, share } from "./support/people.js";

const START = Date.UTC(2041, 0, 1);
let tests = 0;
let ada: Person;
let ben: Person;
let eve: Person;
let names: Record<"ada" | "ben" | "eve", string>;

beforeEach(() => {
  tests += 1;
  names = { ada: `ada/${tests}`, ben: `ben/${tests}`, eve: `eve/${tests}` };
  ada = openPerson(names.ada);
  ben = openPerson(names.ben);
  eve = openPerson(names.eve);
  told.length = 0;
  vi.useFakeTimers({ toFake: ["Date"], now: START });
});
afterEach(() => void vi.useRealTimers());

describe("an invited user", () => {
  test("A member finds the conversation in the list, reads it, and follows it live", async () => {
    await ada.write("c-1", unseen({ a: message("Hello") }));
    const { id } = await share(ada, ben);
    expect(id).toMatch(/^~[\w-]{22}$/);
    expect(await ben.listed(id)).toMatchObject({
      title: "Otters",
      shared: { access: "write", owner: `Name of ${names.ada}` },
    });
    const { json } = await ben.read(id);
    expect(json.records.a.value.message.content).toBe("Hello");
    expect(json.viewer).toEqual({ me: expect.stringMatching(/^[\w-]{22}$/), access: "write" });
    const { next, leave } = await ben.follow(id, `?since=${json.version}`);
    await next();
    await ada.write("c-1", unseen({ b: message("News") }));
    const { data } = (await next()) ?? { data: {} };
    expect(data.records.b.value.message).toMatchObject({ content: "News", author: { id: "owner" } });
    expect(data.viewer).toEqual(json.viewer);
    leave();
  });

  test("A member with `write` writes under its own name, and the owner reads that", async () => {
    const { id } = await share(ada, ben);
    const { me } = await ben.members(id);
    const { next, leave } = await ada.follow("c-1", `?since=${(await ada.read("c-1")).json.version}`);
    await next();
    expect((await ben.write(id, unseen({ b: message("From Ben") }))).json.taken.b).toBeGreaterThan(0);
    const event = await next();
    expect(event?.data.records.b.value.message.author).toEqual({ id: me });
    const { records } = (await ada.read("c-1")).json;
    expect(records["/members"].value.names).toEqual({
      owner: `Name of ${names.ada}`,
      [me]: `Name of ${names.ben}`,
    });
    leave();
  });

  test("case 230: a member with `read` reads, and each write is refused with a code and an event", async () => {
    const { id } = await share(ada, ben, "read");
    told.length = 0;
    expect((await ben.read(id)).json.viewer.access).toBe("read");
    const refused = [
      await ben.write(id, unseen({ b: message("No") })),
      await ben.pass(id, "device-b", { b: message("No") }),
      await ben.lease(id, "device-b"),
    ];
    expect(refused.map(({ status, json }) => [status, json.error.code])).toEqual(
      refused.map(() => [403, "read_only"]),
    );
    expect(told.map(({ code, outcome, user, owner }) => [code, outcome, user, owner])).toEqual(
      refused.map(() => ["read_only", "refused", names.ben, names.ada]),
    );
    expect((await ada.read("c-1")).json.records.b).toBeUndefined();
  });

  test("case 234: only the owner removes the conversation, invites, and removes others; a member who removes it leaves", async () => {
    const { id } = await share(ada, ben);
    await share(ada, eve);
    const other = (await eve.members(id)).me;
    for (const { status, json } of [
      await ben.askForLink(id, { access: "read" }),
      await ben.takeBack(id, "any"),
      await ben.removeMember(id, other),
    ])
      expect([status, json.error.code]).toEqual([403, "owner_only"]);
    expect((await ben.members(id)).links).toBeUndefined();
    expect((await ben.remove(id)).status).toBe(204);
    expect(await ben.listed(id)).toBeUndefined();
    expect((await ben.read(id)).json.error.code).toBe("conversation_gone");
    expect((await ada.members("c-1")).members.map((one: { id: string }) => one.id)).toEqual(["owner", other]);
    expect((await ada.read("c-1")).status).toBe(200);
  });

  test("A link may be opened again, by the owner too, and one with `write` gives a reader more", async () => {
    const { id, link } = await share(ada, ben, "read");
    expect((await ben.join(link.token)).json).toEqual({ id, access: "read" });
    expect((await ada.join(link.token)).json).toEqual({ id: "c-1", access: "owner" });
    const more = await ada.invite("c-1", "write");
    const { me } = await ben.members(id);
    expect((await ben.join(more.token)).json).toEqual({ id, access: "write" });
    expect((await ben.join(link.token)).json).toEqual({ id, access: "write" });
    expect(await ben.members(id)).toMatchObject({ me, access: "write" });
    expect((await ben.listed(id)).shared.access).toBe("write");
    expect((await ada.members("c-1")).members).toHaveLength(2);
  });

  test("A member has a title of its own", async () => {
    const { id } = await share(ada, ben);
    const known = (await ben.read("~index")).json.records[id];
    const renamed = { ...known.value, title: "Ben's", revision: 2 };
    await ben.write("~index", { [id]: { value: renamed, seen: known.version } });
    expect((await ada.listed("c-1")).title).toBe("Otters");
    expect(await ben.search("Ben")).toMatchObject([{ id, title: "Ben's" }]);
  });
});

describe("links and members", () => {
  test("The owner lists links and members; a link that is taken back or over lets nobody in, and its members stay", async () => {
    const { id, link } = await share(ada, ben);
    const short = await ada.invite("c-1", "read", { ms: 60_000 });
    const { members, links, me } = await ada.members("c-1");
    expect(members.map((one: object) => ({ ...one, id: "", joinedAt: 0 }))).toEqual([
      { id: "", name: `Name of ${names.ada}`, access: "owner", joinedAt: 0 },
      { id: "", name: `Name of ${names.ben}`, access: "write", joinedAt: 0 },
    ]);
    expect(me).toBe("owner");
    expect(links).toEqual(
      [
        { id: link.id, access: "write", createdAt: START, endsAt: null },
        { id: short.id, access: "read", createdAt: START, endsAt: START + 60_000 },
      ].sort((one, other) => (one.id < other.id ? -1 : 1)),
    );
    expect((await ada.takeBack("c-1", link.id)).status).toBe(204);
    vi.setSystemTime(START + 60_000);
    for (const { token } of [link, short])
      expect((await eve.join(token)).json.error.code).toBe("link_unknown");
    expect((await ada.members("c-1")).links).toEqual([]);
    expect((await ben.read(id)).status).toBe(200);
  });

  test("More links and members than the options allow are refused, and room comes back", async () => {
    const first = await ada.invite("c-1");
    await ada.invite("c-1");
    await ada.invite("c-1", "read", { ms: 1_000 });
    const { status, json } = await ada.askForLink("c-1", { access: "read" });
    expect([status, json.error.code]).toEqual([409, "too_many_links"]);
    vi.setSystemTime(START + 1_000);
    expect((await ada.askForLink("c-1", { access: "read" })).status).toBe(200);
    for (const name of ["x", "y", "z"]) await openPerson(`${name}/${tests}`).join(first.token);
    expect((await ben.join(first.token)).json.error.code).toBe("too_many_members");
    const x = openPerson(`x/${tests}`);
    await x.remove((await x.join(first.token)).json.id);
    expect((await ben.join(first.token)).status).toBe(200);
  });

  test("case 235: a member that is removed loses its stream and its leases at once, and no link leads back", async () => {
    const { id, link } = await share(ada, ben);
    const { me } = await ben.members(id);
    const { next, leave } = await ben.follow(id);
    await next();
    await next();
    expect((await ben.lease(id, "device-b")).json.isHeld).toBe(true);
    expect((await ada.lease("c-1", "device-a")).json.isHeld).toBe(false);
    await ada.removeMember("c-1", me);
    const seen: string[] = [];
    for (let event = await next(); event; event = await next()) seen.push(event.event);
    expect(seen.at(-1)).toBe("gone");
    expect((await ada.lease("c-1", "device-a")).json.isHeld).toBe(true);
    for (const { status, json } of [
      await ben.read(id),
      await ben.write(id, unseen({ b: message("Late") })),
      await ben.pass(id, "device-b", { b: message("Late") }),
      await ben.release(id, "device-a"),
      (await ben.follow(id)).response.status === 410 ? await ben.read(id) : { status: 0, json: {} },
    ])
      expect([status, json.error?.code]).toEqual([410, "conversation_gone"]);
    expect((await ben.join(link.token)).json.error.code).toBe("link_unknown");
    await ada.ring("c-1");
    expect(await ben.listed(id)).toBeUndefined();
    leave();
  });

  test("case 233: a member can't give back that of another", async () => {
    const { id } = await share(ada, ben);
    await ada.lease("c-1", "device-a");
    await ben.release(id, "device-a");
    expect((await ben.lease(id, "device-a")).json.isHeld).toBe(false);
    const write = { device: "device-a", lease: "m-1" };
    expect((await ben.write(id, unseen({ b: 1 }), write)).json.error.code).toBe("lease_lost");
  });
});

describe("the end of a shared conversation", () => {
  test("Once the owner has removed it, it is gone for members, and from their lists", async () => {
    const { id, link } = await share(ada, ben);
    const { next, leave } = await ben.follow(id);
    await ada.remove("c-1");
    const seen: string[] = [];
    for (let event = await next(); event; event = await next()) seen.push(event.event);
    expect(seen.at(-1)).toBe("gone");
    expect(await ben.listed(id)).toBeUndefined();
    expect((await ben.read(id)).json.error.code).toBe("conversation_gone");
    expect((await ben.join(link.token)).json.error.code).toBe("link_unknown");
    leave();
  });

  test("A member's removal from the bin of its list leaves, and a conversation that is gone leaves the list", async () => {
    const { id } = await share(ada, ben);
    const known = (await ben.read("~index")).json.records[id];
    await ben.write("~index", {
      [id]: { value: { ...known.value, removedAt: START, revision: 2 }, seen: known.version },
    });
    vi.setSystemTime(START + 31 * 86_400_000);
    await ben.ring("~index");
    expect(await ben.listed(id)).toBeUndefined();
    expect((await ada.members("c-1")).members).toHaveLength(1);
  });
});

describe("what a user has not seen", () => {
  const newsOf = async (person: Person, id: string) =>
    (await person.read("~index")).json.records[`~news/${id}`]?.value.at;

  test("An answer is news for all, and a question for all but its author", async () => {
    const { id } = await share(ada, ben);
    const { json: first } = await ben.write(id, unseen({ q: message("Why?") }));
    await ada.ring("c-1");
    expect(await newsOf(ada, "c-1")).toBe(first.taken.q);
    expect(await newsOf(ben, id)).toBeUndefined();
    const answer = message("Because", { role: "assistant", outcome: "complete" });
    const { json: second } = await ben.write(id, unseen({ a: answer }));
    await ada.ring("c-1");
    expect([await newsOf(ada, "c-1"), await newsOf(ben, id)]).toEqual([second.taken.a, second.taken.a]);
  });

  test("An answer that still comes is no news", async () => {
    await ada.write("c-1", unseen({ a: message("Bec", { role: "assistant" }) }));
    await ada.ring("c-1");
    expect(await newsOf(ada, "c-1")).toBeUndefined();
  });

  test("A device says what was shown, for all devices, and can't say what is new", async () => {
    const { json } = await ada.write("~index", unseen({ "~seen/c-1": { at: 5 }, "~news/c-1": { at: 9 } }));
    expect(json.taken["~seen/c-1"]).toBeGreaterThan(0);
    expect(json.refused["~news/c-1"].code).toBe("key_reserved");
  });
});
