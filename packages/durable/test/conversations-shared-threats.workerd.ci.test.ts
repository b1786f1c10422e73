import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { conversations, eraseUser, exportUser, type ObjectState } from "@sluice/durable";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { message, objectFor, unseen } from "./support/conversations.js";
import { faults, isIndex, keptConversations, outageOf, told } from "./support/kept-conversations.js";
import { openPerson, type Person, share } from "./support/people.js";

const START = Date.UTC(2043, 0, 1);
const NOBODYS = `~${"x".repeat(22)}`;
const part = conversations(keptConversations);
let lines: string[] = [];
let tests = 0;
let ada: Person;
let ben: Person;
let eve: Person;
let names: Record<"ada" | "ben" | "eve", string>;

beforeEach(() => {
  tests += 1;
  names = { ada: `ada_${tests}`, ben: `ben_${tests}`, eve: `eve_${tests}` };
  ada = openPerson(names.ada);
  ben = openPerson(names.ben);
  eve = openPerson(names.eve);
  told.length = 0;
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  lines = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
});
afterEach(() => {
  faults.now = undefined;
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const path = (id: string, rest = "") => `/v1/conversations/${id}${rest}`;
const body = { device: "device-e", changes: unseen({ e: message("Eve was here") }) };

/** Each request that a member may send. */
const all = (id: string) =>
  [
    ["GET", path(id, "/records")],
    ["GET", path(id, "/follow")],
    ["GET", path(id, "/export")],
    ["GET", path(id, "/members")],
    ["POST", path(id, "/records"), body],
    ["POST", path(id, "/pass"), { device: "device-e", records: {} }],
    ["POST", path(id, "/leases"), { device: "device-e", name: "m-1", ms: 1_000 }],
    ["DELETE", path(id, "/leases"), { device: "device-e", name: "m-1" }],
    ["POST", path(id, "/links"), { access: "write" }],
    ["DELETE", path(id, "/links"), { id: "x" }],
    ["DELETE", path(id, "/members"), { id: "owner" }],
  ] as const;

test("case 228: who is no member, was one, or guesses gets the answer of a conversation that is not there, on each path", async () => {
  await ada.write("c-1", unseen({ a: message("A secret") }));
  const { id } = await share(ada, ben);
  const asked = async (person: Person, of: string) => {
    const answers = [];
    for (const [method, at, sent] of all(of)) {
      const { status, json } = await person.ask(at, { method, body: sent });
      answers.push([status, json]);
    }
    return answers;
  };
  const nothing = await asked(eve, NOBODYS);
  expect(nothing).toEqual(all(NOBODYS).map(() => [410, expect.objectContaining({})]));
  expect(await asked(eve, id)).toEqual(nothing);
  await ada.removeMember("c-1", (await ben.members(id)).me);
  expect(await asked(ben, id)).toEqual(nothing);
  for (const person of [eve, ben]) expect((await person.remove(id)).status).toBe(204);
  for (const wrong of ["~", `~${"x".repeat(21)}`, `~${"x".repeat(23)}`, `~${"x".repeat(21)}.`])
    expect((await eve.read(wrong)).status).toBe(400);
  expect((await ada.read("c-1")).json.records.e).toBeUndefined();
  expect((await eve.read(id.slice(1))).json.records).toEqual({});
});

describe("case 229: the text of a link", () => {
  test.each([
    ["of nothing", ""],
    ["of another length", "x".repeat(43)],
    ["that leads nowhere", "x".repeat(44)],
    ["with other characters", `${"x".repeat(43)}/`],
  ])("A text %s is 404, and an event without it", async (_, token) => {
    const { status, json } = await eve.join(token);
    expect([status, json.error.code]).toEqual([404, "link_unknown"]);
    if (token !== "") expect(JSON.stringify(told)).not.toContain(token);
  });

  test("The right conversation with another secret is 404, also with that of another conversation's link", async () => {
    const { link } = await share(ada, ben);
    const other = await ada.invite("c-2");
    const mixed = `${link.token.slice(0, 22)}${other.token.slice(22)}`;
    for (const token of [mixed, `${link.token.slice(0, 43)}.`, `${link.token.slice(0, 22)}${"x".repeat(22)}`])
      expect((await eve.join(token)).json.error.code).toBe("link_unknown");
  });

  test("No row, event or line of the log has it, and no answer but the one that made it", async () => {
    const { link, id } = await share(ada, ben);
    const secret = link.token.slice(22);
    const rows = await runInDurableObject(await objectFor("c-1", names.ada), (_, state) => {
      const { sql } = (state as unknown as ObjectState).storage;
      return ["links", "members", "records", "state"].map((table) =>
        sql.exec(`SELECT * FROM ${table}`).toArray(),
      );
    });
    const shown = [rows, told, await ada.members("c-1"), await ben.members(id), await ben.read(id)];
    expect(JSON.stringify([shown, lines])).not.toContain(secret);
    expect(told.map(({ code }) => code)).toEqual(["link_made", "joined"]);
  });

  test("A link needs `access`, a life from a second up, and a body of its own shape", async () => {
    for (const wrong of [{}, { access: "owner" }, { access: "read", ms: 999 }, { access: "read", ms: "1" }])
      expect((await ada.askForLink("c-1", wrong)).json.error.code).toBe("invalid_request");
    expect((await eve.ask(path("~index", "/join"), { method: "POST", body: {} })).status).toBe(400);
    expect(
      (await ada.ask(path("~index", "/links"), { method: "POST", body: { access: "read" } })).status,
    ).toBe(400);
    expect((await eve.ask(path("c-1", "/join"), { method: "POST", body: { token: "x" } })).status).toBe(400);
  });

  test("The rate limit counts a try as a request, and not as a poll", async () => {
    const kinds: boolean[] = [];
    const rateLimit = ({ isPoll }: { isPoll: boolean }) => void kinds.push(isPoll);
    await openPerson(names.eve, { rateLimit: async (asked) => rateLimit(asked) }).join("x".repeat(44));
    expect(kinds).toEqual([false]);
  });
});

describe("case 231: a page that writes in another's name", () => {
  const authorOf = async (key: string) => (await ada.read("c-1")).json.records[key]?.value.message.author;

  test("What it says of the author of a new message is dropped, and nothing changes the author of one that is there", async () => {
    await ada.write("c-1", unseen({ old: message("Before", { author: { id: "forged", name: "Eve" } }) }));
    expect(await authorOf("old")).toBeUndefined();
    const { id } = await share(ada, ben);
    const { me } = await ben.members(id);
    const forged = message("As Ada", { author: { id: "owner", name: "Ada" } });
    const { json } = await ben.write(id, unseen({ b: forged }));
    expect(await authorOf("b")).toEqual({ id: me });
    // also by the owner, and again
    const mine = { ...forged, message: { ...forged.message, error: {} } };
    await ada.write("c-1", { b: { value: mine, seen: json.taken.b } });
    expect(await authorOf("b")).toEqual({ id: me });
    expect((await ben.write(id, unseen({ b: forged }))).json.kept.b).toBeDefined();
  });

  test("The text of another's question can't be changed, by no member and not by the owner", async () => {
    const { id } = await share(ada, ben);
    const { taken } = (await ben.write(id, unseen({ b: message("Yes") }))).json;
    for (const [person, at] of [[ada, "c-1"]] as const) {
      const other = await person.write(at, { b: { value: message("No"), seen: taken.b } });
      expect(other.json.refused.b.code).toBe("author_differs");
    }
    const { taken: own } = (await ada.write("c-1", unseen({ a: message("Mine") }))).json;
    for (const change of [message("Changed"), message("Mine", { role: "assistant" })])
      expect((await ben.write(id, { a: { value: change, seen: own.a } })).json.refused.a.code).toBe(
        "author_differs",
      );
    const edited = { ...message("Yes!"), revision: 2 };
    expect((await ben.write(id, { b: { value: edited, seen: taken.b } })).json.taken.b).toBeGreaterThan(0);
  });

  test("What it passes has its own name, and names are the server's alone", async () => {
    const { id } = await share(ada, ben);
    const { me } = await ben.members(id);
    const { next, leave } = await ada.follow("c-1", "?device=device-a");
    await next();
    await next();
    await ben.pass(id, "device-b", {
      n: message("New", { author: { id: "owner" } }),
      "/members": { names: { [me]: "Ada" } },
    });
    const event = await next();
    expect(event?.data.records).toEqual({ n: message("New", { author: { id: me } }) });
    leave();
    for (const [person, at] of [
      [ben, id],
      [ada, "c-1"],
    ] as const) {
      const seen = Number.MAX_SAFE_INTEGER;
      for (const value of [{ names: {} }, null])
        expect((await person.write(at, { "/members": { value, seen } })).json.refused["/members"].code).toBe(
          "key_reserved",
        );
    }
  });
});

describe("case 232: rights that end while they are used", () => {
  test("A write and a lease that wait find that their sender is no member any more", async () => {
    const { id } = await share(ada, ben);
    const { me } = await ben.members(id);
    let go = () => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    let reached = () => {};
    const isHeld = new Promise<void>((resolve) => {
      reached = resolve;
    });
    // the write needs space, for which the index is asked
    faults.now = async (name, send) => {
      if (isIndex(name) && !name.startsWith("~")) {
        reached();
        await held;
      }
      return await send();
    };
    const writing = ben.write(id, unseen({ b: message("x".repeat(10_000)) }));
    await isHeld;
    await ada.removeMember("c-1", me);
    go();
    expect((await writing).json.error.code).toBe("conversation_gone");
    faults.now = undefined;
    expect((await ada.read("c-1")).json.records.b).toBeUndefined();
  });

  test("A member that waits for a lease does not get it after its removal", async () => {
    const { id } = await share(ada, ben);
    const { me } = await ben.members(id);
    await ada.lease("c-1", "device-a");
    const waiting = ben.lease(id, "device-b", "m-1", { wait: 20_000 });
    await ben.members(id);
    await ada.removeMember("c-1", me);
    await ada.release("c-1", "device-a");
    expect((await waiting).json.error.code).toBe("conversation_gone");
    expect((await ada.lease("c-1", "device-a")).json.isHeld).toBe(true);
  });
});

test("case 230: a reader that opens streams without end has ten, and keeps nobody else out", async () => {
  const { id } = await share(ada, ben, "read");
  const streams = [];
  for (let count = 0; count < 10; count += 1) streams.push(await ben.follow(id));
  const refused = await ben.follow(id);
  expect(refused.response.status).toBe(429);
  const own = await ada.follow("c-1");
  expect(own.response.status).toBe(200);
  for (const { leave } of [...streams, own]) leave();
});

describe("case 236: erasures", () => {
  test("Once the owner is erased, members see that it is gone; an outage leaves nothing for the next call", async () => {
    const { id, link } = await share(ada, ben);
    outageOfBen();
    expect((await eraseUser([part], env, names.ada)).failed).toEqual(["conversations"]);
    expect((await ben.read(id)).json.error.code).toBe("conversation_gone");
    faults.now = undefined;
    expect(await ben.listed(id)).toBeDefined();
    expect((await eraseUser([part], env, names.ada)).failed).toEqual([]);
    expect(await ben.listed(id)).toBeUndefined();
    expect((await ben.read(id)).json.error.code).toBe("conversation_gone");
    expect((await eve.join(link.token)).json.error.code).toBe("link_unknown");
    const { data } = await exportUser([part], env, names.ada);
    expect(data["conversations"]).toEqual([{ id: "~index", records: {} }]);
  });

  test("Once a member is erased, its membership and its name are gone, and its messages stay under an id that is nobody's", async () => {
    const { id } = await share(ada, ben);
    const { me } = await ben.members(id);
    await ben.write(id, unseen({ b: message("From Ben") }));
    await ada.write("c-1", unseen({ a: message("From Ada") }));
    const { data } = await exportUser([part], env, names.ben);
    const exported = data["conversations"] as readonly { id: string; records: object }[];
    const mine = exported.find((one) => one.id === id);
    expect(Object.keys(mine?.records ?? {})).toEqual(["b"]);
    await eraseUser([part], env, names.ben);
    const { records } = (await ada.read("c-1")).json;
    expect(records.b.value.message).toMatchObject({ content: "From Ben", author: { id: me } });
    expect(records["/members"].value.names).toEqual({ owner: `Name of ${names.ada}` });
    const rows = await runInDurableObject(await objectFor("c-1", names.ada), (_, state) =>
      (state as unknown as ObjectState).storage.sql.exec("SELECT * FROM members").toArray(),
    );
    expect(rows).toEqual([]);
    expect((await ben.read(id)).json.error.code).toBe("conversation_gone");
  });
});

describe("case 237: a member's list that can't be reached", () => {
  test("Who joins meanwhile is a member, and the conversation is in the list after the next alarm", async () => {
    const { token } = await ada.invite("c-1");
    outageOfBen();
    const { json } = await ben.join(token);
    expect((await ben.read(json.id)).json.viewer.access).toBe("write");
    await ada.ring("c-1");
    faults.now = undefined;
    expect(await ben.listed(json.id)).toBeUndefined();
    await ada.ring("c-1");
    expect(await ben.listed(json.id)).toMatchObject({ shared: { access: "write" } });
  });

  test("Who is removed meanwhile has lost all at once, and the list is told later; news wait for nobody else", async () => {
    const { id } = await share(ada, ben);
    const { me } = await ben.members(id);
    const { id: eves } = await share(ada, eve);
    outageOfBen();
    await ada.write("c-1", unseen({ a: message("News") }));
    await ada.ring("c-1");
    expect((await eve.read("~index")).json.records[`~news/${eves}`]).toBeDefined();
    await ada.removeMember("c-1", me);
    expect((await ben.read(id)).status).toBe(410);
    await ada.ring("c-1");
    faults.now = undefined;
    expect(await ben.listed(id)).toBeDefined();
    await ada.ring("c-1");
    expect(await ben.listed(id)).toBeUndefined();
  });

  test("A link whose door can't be reached is 503, and can be asked for again", async () => {
    faults.now = outageOf((name) => name.startsWith("~"));
    expect((await ada.askForLink("c-1", { access: "read" })).status).toBe(503);
    faults.now = undefined;
    expect((await ada.members("c-1")).links).toEqual([]);
    const { token } = await ada.invite("c-1", "read");
    expect((await ben.join(token)).status).toBe(200);
  });
});

test("case 239: what others see of a user is the name alone, short and on one line, and an id of this conversation", async () => {
  const authenticate = ({ headers }: Request) => {
    const id = headers.get("authorization");
    return id
      ? { id, name: `  Ben\n\u202e<b>${"x".repeat(200)}`, session: "s-1", address: "192.0.2.1" }
      : null;
  };
  const { token } = await ada.invite("c-1");
  const long = openPerson(names.ben, { authenticate });
  const first = (await long.join(token)).json.id;
  const second = (await long.join((await ada.invite("c-2")).token)).json.id;
  const { members } = await ada.members("c-1");
  expect(members[1].name).toMatch(/^Ben <b>x+$/);
  expect(members[1].name).toHaveLength(100);
  expect(Object.keys(members[1]).sort()).toEqual(["access", "id", "joinedAt", "name"]);
  expect((await long.members(first)).me).not.toBe((await long.members(second)).me);
  const shown = JSON.stringify([members, (await ada.read("c-1")).json, (await long.read(first)).json]);
  for (const secret of [names.ben, await hashFor(names.ben), "192.0.2.1"])
    expect(shown).not.toContain(secret);
  expect(JSON.stringify(await long.listed(first))).not.toContain(await hashFor(names.ada));
});

/** Lets the list of one user not be reached. */
function outageOfBen(): void {
  const { ben: name } = names;
  faults.now = async (object, go) => {
    if (object === (await hashFor(name))) throw new Error("this object can't be reached");
    return await go();
  };
}

async function hashFor(user: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(user));
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
