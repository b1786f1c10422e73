import { generateImages } from "@sluice/core";
import { createChatStore } from "@sluice/stores";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startPostgres } from "../../packages/durable/test/support/postgres-server.js";
import {
  copyTemplate,
  createUserClient,
  readMetrics,
  runtimes,
  type ServerProcess,
  startScenario,
  startServer,
} from "../support/server-template.ts";

/* The server of the Node template, in each runtime that supports it. */

let scenario: Awaited<ReturnType<typeof startScenario>>;
beforeAll(async () => {
  scenario = await startScenario();
});
afterAll(() => scenario.close());

// three processes start and end in each test
describe.each(Object.entries(runtimes))("the server on %s", { timeout: 90_000 }, (_, command) => {
  /** Starts a server with its own folder. It ends with the test. */
  async function open(env: NodeJS.ProcessEnv = {}) {
    scenario.emulator.reset();
    const { folder, remove } = copyTemplate();
    const start = () => startServer(folder, command, { ...scenario.env, ...env });
    let running: Promise<ServerProcess> = start();
    onTestFinished(async () => {
      const { signal, ended } = await running;
      signal("SIGKILL");
      await ended;
      remove();
    });
    await running;
    const target = async () => (await running).url;
    return {
      start,
      target,
      server: () => running,
      createUser: (user: string) => createUserClient(user, target),
      /** Kills the server, like a power failure, and starts it again. Requests wait until then. */
      async crash() {
        const { signal, ended } = await running;
        signal("SIGKILL");
        running = ended.then(start);
        await running;
      },
    };
  }

  const listRequests = () => scenario.emulator.requests.filter(({ method }) => method === "POST");

  test("A response that a kill cuts off keeps what was shown, ends as an error, and is paid once (case 199)", async () => {
    const { createUser, crash, target } = await open();
    const { client, request } = await createUser("ada");
    const chat = createChatStore(client, { model: "delta-5.3" });
    const text = () => `${chat.getSnapshot().messages[1]?.content ?? ""}`;
    const turn = chat.send("Hello [[stall]]");
    await expect.poll(text, { timeout: 60_000 }).toMatch(/\w/);
    const shown = text();
    await crash();
    const { messages, error } = await turn;
    expect(messages.at(-1)).toMatchObject({ content: expect.stringContaining(shown), outcome: "truncated" });
    expect(error?.message).toContain("the rest of this response is lost; send the request again");
    expect(listRequests()).toHaveLength(1);

    const lostJobs = 'sluice_jobs_total{job="chat",model="delta-5.3",outcome="lost"}';
    const spent = async () => (await readMetrics(await target()))['sluice_spent_total{model="delta-5.3"}'];
    await expect.poll(async () => readMetrics(await target()), PATIENCE).toMatchObject({ [lostJobs]: "1" });
    const { budgets } = await (await request("/api/v1/budget")).json();
    expect(budgets[0]).toMatchObject({ reserved: 0, spent: Number(await spent()) });
    expect(await chat.send("And now?")).toMatchObject({ outcome: "complete" });
    expect(listRequests()).toHaveLength(2);
  });

  test("A stored response survives a restart, and so does an image that is requested again", async () => {
    const { createUser, crash } = await open();
    const { client, request } = await createUser("ada");
    const init = {
      method: "POST",
      headers: { "idempotency-key": "tea-for-two" },
      body: JSON.stringify({
        model: "delta-5.3",
        stream: true,
        messages: [{ role: "user", content: "Hello" }],
      }),
    };
    const first = await request("/api/v1/chat/completions", init);
    const reply = await first.text();
    expect(reply).toContain("[DONE]");
    const image = { model: "gamma-image-5-0-260128", prompt: "a bird" } as const;
    await generateImages(client, image);
    await crash();
    const again = await request("/api/v1/chat/completions", init);
    expect(await again.text()).toBe(reply);
    expect(listRequests()).toHaveLength(2);
  });

  test("An uploaded file survives a restart, with a link to the app's own address", async () => {
    const { createUser, crash, target } = await open();
    const { request } = await createUser("ada");
    const bytes = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(1000, 7)]);
    const headers = { "content-type": "application/octet-stream" };
    const stored = await request("/api/v1/uploads", { method: "POST", headers, body: bytes });
    const { url } = (await stored.json()) as { url: string };
    expect(url).toMatch(/^https:\/\/chat\.sluice\.test\/api\/v1\/media\//);
    await crash();
    const { pathname, search } = new URL(url);
    const read = await fetch((await target()) + pathname + search);
    expect(Buffer.from(await read.arrayBuffer()).equals(bytes)).toBe(true);
  });

  // a process is lost for the others when its lease of 15 s is over
  test("Two servers on one Postgres share their records, also when the first is killed", {
    timeout: 180_000,
  }, async () => {
    const database = await startPostgres();
    onTestFinished(database.close);
    const first = await open({ DATABASE_URL: database.url });
    const second = await open({ DATABASE_URL: database.url });
    const body = JSON.stringify({
      model: "delta-5.3",
      stream: true,
      messages: [{ role: "user", content: "Hi" }],
    });
    const init = { method: "POST", headers: { "idempotency-key": "hello" }, body };
    const readReply = async ({ request }: Awaited<ReturnType<typeof first.createUser>>) =>
      (await request("/api/v1/chat/completions", init)).text();
    const reply = await readReply(await first.createUser("ada"));
    expect(reply).toContain("[DONE]");
    const elsewhere = await second.createUser("ada");
    expect(await readReply(elsewhere)).toBe(reply);
    const { signal, ended } = await first.server();
    signal("SIGKILL");
    await ended;
    expect(await readReply(elsewhere)).toBe(reply);
    expect(listRequests()).toHaveLength(1);
  });

  test("SIGTERM lets a response end, accepts no new request, and ends the process", async () => {
    const { createUser, server } = await open({ DRAIN_MS: "50000" });
    const { client, request } = await createUser("ada");
    const { signal, ended, url, lines } = await server();
    const chat = createChatStore(client, { model: "delta-5.3" });
    const turn = chat.send("Hello [[slow]]");
    await expect.poll(() => chat.getSnapshot().status).toBe("streaming");
    signal("SIGTERM");
    expect(await turn).toMatchObject({ outcome: "complete" });
    expect(await ended).toBe(0);
    expect(lines.join("\n")).not.toContain("could not be settled");
    await expect(fetch(`${url}/live`)).rejects.toThrow();
    await expect(request("/api/v1/budget")).rejects.toThrow();
  });

  test("A second server with the same data is refused in one line, and the first server continues (case 200)", async () => {
    const { start, target } = await open();
    await expect(start()).rejects.toThrow(
      /^it ended with 1: The server can't start: nodeHost: another process has data\/sluice\.db; stop that one.*$/,
    );
    expect((await fetch(`${await target()}/live`)).status).toBe(200);
  });

  test("Operators have health, metrics, events, export and erasure, and other users do not", async () => {
    const { createUser, target, server } = await open();
    const ada = await createUser("ada");
    const grace = await createUser("grace");
    const url = await target();
    expect((await fetch(`${url}/live`)).status).toBe(200);
    expect(await (await fetch(`${url}/api/health`)).json()).toEqual({ status: "ok" });
    expect((await fetch(`${url}/metrics`)).status).toBe(404);
    const chat = createChatStore(ada.client, { model: "delta-5.3" });
    await chat.send("a secret of ada's");
    const operate = async ({ request }: typeof ada, operation: string) => {
      const body = JSON.stringify({ user: "ada" });
      const response = await request(`/api/v1/admin/${operation}`, { method: "POST", body });
      return { status: response.status, body: await response.json() };
    };
    expect(await operate(ada, "users/export")).toMatchObject({ status: 404 });
    const exported = await operate(grace, "users/export");
    expect(exported).toMatchObject({ status: 200, body: { user: "ada", failed: [] } });
    expect(exported.body.data.streams).toMatchObject([{ text: expect.stringContaining("[DONE]") }]);
    expect(await operate(grace, "users/erase")).toMatchObject({ status: 200, body: { failed: [] } });
    expect((await operate(grace, "users/export")).body.data.streams).toEqual([]);
    const events = (await server()).lines
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));
    expect(events).toContainEqual(
      expect.objectContaining({ job: "chat", userId: "ada", outcome: "complete" }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ type: "request", userId: "grace", operation: "users/erase", target: "ada" }),
    );
    expect((await server()).lines.join("\n")).not.toContain("a secret of ada's");
  });
});

/** By the objects' alarms alone, which come within 30 seconds. */
const PATIENCE = { timeout: 50_000, interval: 500 };
