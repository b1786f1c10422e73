import { createVideoTaskStore, memoryStorage, watchVideoTask } from "@sluice/core";
import { GatewayProvider } from "@sluice/react";
import { type TaskNotificationOptions, useTaskNotifications } from "@sluice/react/notifications";
import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { clientOf, settled, stoppedClock } from "../../core/test/support/gateway.js";

const storage = memoryStorage();
const shown: string[] = [];
/** The notifications that are open, by their tag. */
const open = new Map<string, { onclick?: () => void }>();
let visibility: DocumentVisibilityState = "visible";

beforeEach(() => {
  localStorage.clear();
  shown.length = 0;
  open.clear();
  visibility = "visible";
  Object.defineProperty(document, "visibilityState", { get: () => visibility, configurable: true });
  class Notification {
    static permission = "granted";
    static requestPermission = async () => "granted";
    readonly tag: string;
    onclick?: () => void;
    constructor(title: string, { body, tag }: { body: string; tag: string }) {
      this.tag = tag;
      shown.push(`${title}: ${body}`);
      open.set(tag, this);
    }
    close() {
      open.delete(this.tag);
    }
  }
  vi.stubGlobal("Notification", Notification);
});

afterEach(() => {
  vi.unstubAllGlobals();
  Reflect.deleteProperty(document, "visibilityState");
  Reflect.deleteProperty(navigator, "serviceWorker");
});

function hide(): void {
  visibility = "hidden";
  document.dispatchEvent(new Event("visibilitychange"));
}

function Notify({
  kept = storage,
  words,
}: Pick<TaskNotificationOptions, "words"> & { kept?: typeof storage }) {
  const { mode, enable, disable } = useTaskNotifications({ storage: kept, words });
  return (
    <button type="button" onClick={() => void (mode ? disable() : enable())}>
      {mode ?? "enable"}
    </button>
  );
}

/** A hidden page with a task that was submitted before: its first poll says that it runs, the next that it has ended. */
async function hiddenPage(
  ends: "SUCCESS" | "FAILURE",
  words?: TaskNotificationOptions["words"],
  hasPush = false,
) {
  const own = memoryStorage();
  const entry = {
    key: "k-1",
    model: "beta3.0-video",
    submittedAt: Date.now(),
    state: "created",
    revision: 1,
  };
  await own.write("video-tasks", new Map([["k-1", { ...entry, handle: { id: "t-1" } }]]));
  const clock = stoppedClock();
  let polls = 0;
  const { client } = clientOf(
    ({ url }) => {
      if (url.endsWith("/v1/notifications"))
        return hasPush ? Response.json({ publicKey: "AQID" }) : new Response("{}", { status: 404 });
      polls += 1;
      const status = polls === 1 ? "IN_PROGRESS" : ends;
      return Response.json({
        code: "success",
        data: { task_id: "t-1", status, ...(ends === "SUCCESS" && { result_url: "https://cdn.test/v.mp4" }) },
      });
    },
    { clock, random: () => 0.5, baseURL: `https://${crypto.randomUUID()}.test` },
  );
  hide();
  const show = () =>
    render(
      <GatewayProvider client={client}>
        <Notify kept={own} words={words} />
      </GatewayProvider>,
    );
  const page = show();
  const press = async (mode: string) => {
    fireEvent.click(screen.getByRole("button"));
    await act(() => settled());
    // a push service that is silent is given up after this time
    if (hasPush) await act(() => clock.advance(5000));
    await waitFor(() => expect(screen.getByRole("button").textContent).toBe(mode));
  };
  await press("page");
  await act(() => clock.advance(0));
  await waitFor(() => expect(polls).toBe(1));
  const end = async () => {
    await act(() => clock.advance(60_000));
    await act(() => settled());
  };
  return { ...page, show, press, end };
}

test.each([
  ["SUCCESS", undefined, "Your video is ready: "],
  ["FAILURE", undefined, "Your video failed: "],
  ["FAILURE", { succeeded: "Fertig", failed: "Fehler" }, "Fehler: "],
] as const)(
  "A hidden page polls on, and notifies of the end %s in the words %o",
  async (ends, words, notice) => {
    const { end } = await hiddenPage(ends, words);
    await end();
    expect(shown).toEqual([notice]);
  },
);

test("A page notifies no more after the user has disabled it, and again when it is enabled again", async () => {
  const off = await hiddenPage("SUCCESS");
  await off.press("enable");
  await off.end();
  expect(shown).toEqual([]);
  off.unmount();
  localStorage.clear();
  const again = await hiddenPage("SUCCESS");
  await again.press("enable");
  await again.press("page");
  await again.end();
  expect(shown).toEqual(["Your video is ready: "]);
});

test("A page notifies no more when its push service has answered late", async () => {
  let answer = () => {};
  const silence = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const pushManager = {
    getSubscription: async () => null,
    subscribe: () => silence.then(() => ({ toJSON: () => ({}) })),
  };
  const serviceWorker = { register: async () => {}, ready: Promise.resolve({ pushManager }) };
  vi.stubGlobal("PushManager", {});
  Object.defineProperty(navigator, "serviceWorker", { value: serviceWorker, configurable: true });
  const { end } = await hiddenPage("SUCCESS", undefined, true);
  answer();
  await waitFor(() => expect(screen.getByRole("button").textContent).toBe("push"));
  await end();
  expect(shown).toEqual([]);
});

test("A page notifies no more when its component has gone", async () => {
  const { end, unmount } = await hiddenPage("SUCCESS");
  unmount();
  await end();
  expect(shown).toEqual([]);
});

test("A page notifies no more when its component goes before it is known whether there is push", async () => {
  const { end, show, unmount } = await hiddenPage("SUCCESS");
  unmount();
  show().unmount();
  await end();
  expect(shown).toEqual([]);
});

/** A client on a clock that stands still. After its test, tasks that no page shows close their channels. */
function clientOfPage(answer: Parameters<typeof clientOf>[0]) {
  const clock = stoppedClock();
  onTestFinished(() => clock.advance(1000));
  return clientOf(answer, { clock }).client;
}

test("A page without push that is hidden when a task ends notifies once", async () => {
  let answer: (response: Response) => void = () => {};
  const poll = new Promise<Response>((resolve) => {
    answer = resolve;
  });
  const client = clientOfPage(({ method, url }) => {
    if (url.endsWith("/v1/notifications")) return new Response("{}", { status: 404 });
    if (method === "POST") return Response.json({ id: "t-1", task_id: "t-1", status: "queued" });
    return poll;
  });
  render(
    <GatewayProvider client={client}>
      <Notify />
    </GatewayProvider>,
  );
  fireEvent.click(screen.getByRole("button"));
  await waitFor(() => expect(screen.getByRole("button").textContent).toBe("page"));
  const store = createVideoTaskStore(client, { storage, pollInBackground: true });
  await store.create(
    { model: "beta3.0-video", input: { prompt: "A reef" }, parameters: {} },
    { label: "Reef" },
  );
  hide();
  const data = { task_id: "t-1", status: "SUCCESS", result_url: "https://cdn.test/v.mp4" };
  answer(Response.json({ code: "success", data }));
  await waitFor(() => expect(shown).toEqual(["Your video is ready: Reef"]));
  const focus = vi.spyOn(window, "focus").mockImplementation(() => {});
  const [[tag, notification] = []] = open;
  expect(tag).toBe((await storage.read("video-tasks")).keys().next().value);
  notification?.onclick?.();
  expect([focus.mock.calls.length, open.size]).toEqual([1, 0]);
});

test("A page shows no notification of a task that ends while it is visible, nor of one that it knows as ended", async () => {
  const own = memoryStorage();
  const task = { id: "t-0", rawStatus: "SUCCESS", state: "succeeded", url: "https://cdn.test/0.mp4" };
  const entry = { key: "k-0", model: "beta3.0-video", submittedAt: 1, state: "created", revision: 1 };
  await own.write("video-tasks", new Map([["k-0", { ...entry, handle: { id: "t-0" }, task }]]));
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const client = clientOfPage(async ({ method, url }) => {
    if (url.endsWith("/v1/notifications")) return new Response("{}", { status: 404 });
    if (method === "POST") return Response.json({ id: "t-2", task_id: "t-2", status: "queued" });
    await ended;
    return Response.json({ code: "success", data: { task_id: "t-2", status: "FAILURE" } });
  });
  render(
    <GatewayProvider client={client}>
      <Notify kept={own} />
    </GatewayProvider>,
  );
  fireEvent.click(screen.getByRole("button"));
  await waitFor(() => expect(screen.getByRole("button").textContent).toBe("page"));
  const store = createVideoTaskStore(client, { storage: own });
  const stop = store.subscribe(() => {});
  await store.create({ model: "beta3.0-video", input: { prompt: "A reef" }, parameters: {} });
  end();
  await waitFor(() => expect(store.getSnapshot().task?.state).toBe("failed"));
  hide();
  stop();
  expect(shown).toEqual([]);
});

test("a page that is hidden leaves the events of its tasks, so that it does not count as one that shows them", async () => {
  const left: string[] = [];
  const { client, requests } = clientOf(({ url, signal }) => {
    if (!url.endsWith("/events"))
      return Response.json(
        { code: "success", data: { task_id: "t-1", status: "QUEUED" } },
        { headers: { "x-sluice-offers": "video-events" } },
      );
    const body = new ReadableStream({
      start: () => signal.addEventListener("abort", () => left.push("left")),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  const stop = new AbortController();
  const tasks = watchVideoTask(client, "t-1", { signal: stop.signal });
  await tasks.next();
  const next = tasks.next().catch(() => "stopped");
  await waitFor(() => expect(requests.length).toBe(2));
  hide();
  await waitFor(() => expect(left).toEqual(["left"]));
  stop.abort();
  expect(await next).toBe("stopped");
});
