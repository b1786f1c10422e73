import { webhook } from "@sluice/durable";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openRunUser } from "./support/run-user.js";
import { isKeeping, type RunEnv, runs, says, script } from "./support/runs.js";

/** So far away that no alarm rings by itself. */
const NOON = Date.parse("2036-11-27T11:00:00Z");

let users = 0;
let ada = openRunUser("none");
/** The webhooks that reached the app, with their bodies. */
let hooks: { readonly id: string; readonly body: Record<string, unknown> }[] = [];

beforeEach(() => {
  ada = openRunUser(`told-${++users}`);
  runs.reset();
  hooks = [];
  isKeeping.value = true;
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.useFakeTimers({ toFake: ["Date"], now: NOON });
  script(() => says("It is a fine morning at the reef"));
  appSays();
  runs.send.push(hook);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

let app: (request: Request) => Promise<Response>;
const hook = webhook<RunEnv>({
  url: () => "https://app.example/hook",
  secret: () => `whsec_${btoa("a secret of the app, 32 and more")}`,
  fetch: (request) => app(request),
});

/** Answers of the app, the last one for ever. */
function appSays(...statuses: readonly number[]): void {
  let at = 0;
  app = async (request) => {
    const status = statuses[Math.min(at++, statuses.length - 1)] ?? 204;
    const id = request.headers.get("webhook-id") ?? "";
    if (status < 300) hooks.push({ id, body: (await request.json()) as Record<string, unknown> });
    return new Response(null, { status });
  };
}

async function turn(id = "q-1"): Promise<void> {
  const message = { id, content: "Hi" };
  expect((await ada.ask("POST", "/turns", { device: "phone", message, parent: null })).status).toBe(202);
}
const events = (kind: string) => runs.events.filter((event) => event.kind === kind);

describe("case 255: notices of the end of a turn", () => {
  test("The app gets one signed webhook, with title and beginning where the options say so", async () => {
    const index = openRunUser(ada.user, "~index");
    const titled = { "c-1": { value: { title: "Reef" }, seen: 0 } };
    await index.ask("POST", "/records", { device: "phone", changes: titled });
    await turn();
    await ada.ended();
    expect(hooks).toEqual([]);
    await ada.ring();
    await ada.ring();
    expect(hooks).toMatchObject([
      {
        id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
        body: {
          type: "turn.complete",
          data: { id: "q-1", user: ada.user, conversation: "c-1", title: "Reef", text: "It is a fi" },
        },
      },
    ]);
    expect(events("webhook")).toMatchObject([{ outcome: "complete", user: ada.user }]);
  });

  test("The app gets all of a long title, and no half of a letter", async () => {
    const index = openRunUser(ada.user, "~index");
    const titled = { "c-1": { value: { title: "\u{1f41f}".repeat(5000) }, seen: 0 } };
    await index.ask("POST", "/records", { device: "phone", changes: titled });
    script(() => says("It is a f\u{1f41f}"));
    await turn();
    await ada.ended();
    await ada.ring();
    expect(hooks.map(({ body }) => body["data"])).toMatchObject([
      { title: "\u{1f41f}".repeat(5000), text: "It is a f" },
    ]);
  });

  test("An app that is down for an hour gets it later, under the same id, and each failure is an event", async () => {
    appSays(500, 503, 204);
    await turn();
    await ada.ended();
    await ada.ring();
    vi.setSystemTime(NOON + 5_000);
    await ada.ring();
    vi.setSystemTime(NOON + 65_000);
    await ada.ring();
    vi.setSystemTime(NOON + 365_000);
    await ada.ring();
    expect(hooks).toHaveLength(1);
    expect(events("webhook").map(({ outcome }) => outcome)).toEqual(["waiting", "waiting", "complete"]);
  });

  test("An app that refuses for good, and one that is down for two days, get no more, and the last failure is an event", async () => {
    appSays(410);
    await turn();
    await ada.ended();
    await ada.ring();
    expect(events("webhook")).toMatchObject([{ outcome: "refused", upstreamStatus: 410 }]);
    appSays(500);
    await turn("q-2");
    await ada.ended(2);
    for (let hour = 0; hour < 48; hour += 1) {
      await ada.ring();
      vi.setSystemTime(NOON + hour * 3_600_000);
    }
    await ada.ring();
    const outcomes = events("webhook").map(({ outcome }) => outcome);
    expect(outcomes.at(-1)).toBe("failed");
    expect(outcomes).toHaveLength(10);
  });

  test("An object that is lost right after the end tells of it all the same, once", async () => {
    await turn();
    await ada.ended();
    await ada.lose();
    await ada.ring();
    await ada.lose();
    await ada.ring();
    expect(hooks).toHaveLength(1);
  });

  test("A turn that its user has stopped, and one whose conversation is removed, is not told of", async () => {
    await turn();
    await ada.ended();
    expect((await ada.ask("DELETE", "")).status).toBe(204);
    expect(events("webhook")).toMatchObject([{ outcome: "dropped", code: "conversation_removed" }]);
    await ada.ring();
    expect(hooks).toEqual([]);
    expect(runs.ends).toHaveLength(1);
  });

  test("Each end that waits for an app which is down is an event once its conversation is removed, and none that was told", async () => {
    appSays(503);
    runs.send.push({ name: "mail", kind: "copy", run: async () => ({ upstreamStatus: 200 }) });
    for (let nth = 1; nth <= 12; nth += 1) {
      const message = { id: `q-${nth}`, content: "Hi" };
      const parent = nth === 1 ? null : `q-${nth - 1}`;
      expect((await ada.ask("POST", "/turns", { device: "phone", message, parent })).status).toBe(202);
      await ada.ended(nth);
    }
    // the first ones are told by mail, and not to the app
    await ada.ring();
    const told = events("copy").filter(({ outcome }) => outcome === "complete");
    expect(told.length).toBeGreaterThan(0);
    expect((await ada.ask("DELETE", "")).status).toBe(204);
    const dropped = (kind: string) => events(kind).filter(({ code }) => code === "conversation_removed");
    expect(new Set(dropped("webhook").map(({ id }) => id)).size).toBe(12);
    expect(dropped("copy")).toHaveLength(12 - told.length);
  });
});
