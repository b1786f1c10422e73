import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { gateway } from "./support/durable-gateway.js";
import { calls, paysOwner, proxy, runs, says, script, tool } from "./support/runs.js";

/* Turns on the server in a conversation that two users share. */

let tests = 0;
let owner = "";
let member = "";
let id = "";

beforeEach(async () => {
  tests += 1;
  owner = `own-${tests}`;
  member = `mem-${tests}`;
  runs.reset();
  paysOwner.value = false;
  vi.spyOn(console, "error").mockImplementation(() => {});
  script(() => says("Hello"));
});
afterEach(() => {
  paysOwner.value = false;
  vi.restoreAllMocks();
});

async function ask(user: string, method: string, path: string, body?: object) {
  const init = {
    method,
    headers: { authorization: user, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  };
  const request = new Request(`https://proxy.example/v1/conversations/${path}`, init);
  const text = await (await proxy.fetch(request, env)).text();
  return text ? JSON.parse(text) : undefined;
}

async function share(access: "read" | "write" = "write") {
  const { token } = await ask(owner, "POST", "c-1/links", { access });
  id = (await ask(member, "POST", "~index/join", { token })).id;
}

const turn = (user: string, at: string, name: string, parent: string | null = null) =>
  ask(user, "POST", `${at}/turns`, {
    message: { id: name, role: "user", content: "Hi", createdAt: 1, author: { id: "owner" } },
    parent,
  });
const records = async () => (await ask(owner, "GET", "c-1/records")).records;
const ended = (count = 1) => expect.poll(() => runs.events.length, { timeout: 20_000 }).toBe(count);

test("A member's turn has the member as author and payer, and an answer that the owner reads", async () => {
  await share();
  const { me } = await ask(member, "GET", `${id}/members`);
  await turn(member, id, "q-1");
  await ended();
  const messages = Object.values<{ value: { message?: { author?: object; content: string } } }>(
    await records(),
  )
    .flatMap(({ value }) => value.message ?? [])
    .map(({ author, content }) => [content, author]);
  expect(messages.sort()).toEqual([
    ["Hello", { id: me }],
    ["Hi", { id: me }],
  ]);
  expect(runs.events).toEqual([expect.objectContaining({ user: member, outcome: "complete" })]);
  expect(runs.events[0]).not.toHaveProperty("payer");
  expect(runs.requests.filter(({ route }) => route === "chat").map(({ user }) => user)).toEqual([member]);
});

test('With `payer: "owner"` the owner pays for a member\'s turn, and its event names both; tools see the member', async () => {
  paysOwner.value = true;
  const seen: string[] = [];
  runs.instructions = ({ user }) => {
    seen.push(user.id);
    return "Be brief.";
  };
  await share();
  await turn(member, id, "q-1");
  await ended();
  expect(runs.events).toEqual([expect.objectContaining({ user: member, payer: owner })]);
  expect(runs.requests.filter(({ route }) => route === "chat").map(({ user }) => user)).toEqual([owner]);
  expect(seen).toEqual([member]);
  const [, answer] = Object.entries<{ value: { message?: object; parent?: string } }>(await records())
    .filter(([, { value }]) => value.message)
    .sort(([, one], [, other]) => Number(one.value.parent !== null) - Number(other.value.parent !== null))
    .map(([key]) => key);
  await turn(owner, "c-1", "q-2", answer);
  await ended(2);
  expect(runs.events[1]).toMatchObject({ user: owner });
  expect(runs.events[1]).not.toHaveProperty("payer");
});

test("case 232: a member that is removed while its turn runs: the turn is stopped, and nothing more is asked for", async () => {
  await share();
  const { me } = await ask(member, "GET", `${id}/members`);
  let begun = () => {};
  const isRunning = new Promise<void>((resolve) => {
    begun = resolve;
  });
  script(
    () => calls("slow"),
    () => says("never"),
  );
  runs.tools = [
    tool("slow", (_, { signal }) => {
      begun();
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    }),
  ];
  await turn(member, id, "q-1");
  await isRunning;
  await ask(owner, "DELETE", "c-1/members", { id: me });
  await ended();
  expect(runs.events).toMatchObject([{ user: member, outcome: "stopped" }]);
  expect(gateway.requests).toHaveLength(1);
  expect((await turn(member, id, "q-2")).error.code).toBe("conversation_gone");
});

test("A turn of a reader is refused, and so is the stop of another's turn", async () => {
  await share("read");
  expect((await turn(member, id, "q-1")).error.code).toBe("read_only");
  expect((await ask(member, "DELETE", `${id}/turns`)).error.code).toBe("read_only");
  expect(gateway.requests).toHaveLength(0);
});

test("A call that waits is approved by another member, and the turn stays that of the one who asked", async () => {
  await share();
  let runsOfTool = 0;
  runs.tools = [
    tool(
      "send",
      async () => {
        runsOfTool += 1;
        return "sent";
      },
      { needsApproval: true },
    ),
  ];
  script(
    () => calls("send"),
    () => says("Done"),
  );
  await turn(owner, "c-1", "q-1");
  const waiting = async () =>
    Object.entries<{ value: { message?: { toolCalls?: { state: string; id: string }[] } } }>(
      await records(),
    ).find(([, { value }]) => value.message?.toolCalls?.[0]?.state === "needs-approval");
  await expect.poll(waiting, { timeout: 20_000 }).toBeTruthy();
  const [messageId = ""] = (await waiting()) ?? [];
  const key = `/reaction/${messageId}/call-0`;
  const body = { device: "laptop", changes: { [key]: { value: { approved: true }, seen: 0 } } };
  expect((await ask(member, "POST", `${id}/records`, body)).taken[key]).toBeGreaterThan(0);
  await ended();
  expect([runsOfTool, runs.events]).toMatchObject([1, [{ user: owner, outcome: "complete" }]]);
});
