import { createVideoTaskStore, memoryStorage, watchVideoTask } from "@sluice/core";
import { GatewayProvider } from "@sluice/react";
import { useTaskNotifications } from "@sluice/react/notifications";
import { fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { clientOf } from "../../core/test/support/gateway.js";

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
});

function hide(): void {
  visibility = "hidden";
  document.dispatchEvent(new Event("visibilitychange"));
}

function Notify({ kept = storage }) {
  const { mode, enable } = useTaskNotifications({ storage: kept });
  return (
    <button type="button" onClick={() => void enable()}>
      {mode ?? "enable"}
    </button>
  );
}

test("without push, a page that is hidden when a task ends notifies once", async () => {
  let answer: (response: Response) => void = () => {};
  const poll = new Promise<Response>((resolve) => {
    answer = resolve;
  });
  const { client } = clientOf(({ method, url }) => {
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
  await expect.poll(() => screen.getByRole("button").textContent).toBe("page");
  const store = createVideoTaskStore(client, { storage, pollInBackground: true });
  await store.create(
    { model: "beta3.0-video", input: { prompt: "A reef" }, parameters: {} },
    { label: "Reef" },
  );
  hide();
  const data = { task_id: "t-1", status: "SUCCESS", result_url: "https://cdn.test/v.mp4" };
  answer(Response.json({ code: "success", data }));
  await expect.poll(() => shown).toEqual(["Your video is ready: Reef"]);
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
  const { client } = clientOf(async ({ method, url }) => {
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
  await expect.poll(() => screen.getByRole("button").textContent).toBe("page");
  const store = createVideoTaskStore(client, { storage: own });
  const stop = store.subscribe(() => {});
  await store.create({ model: "beta3.0-video", input: { prompt: "A reef" }, parameters: {} });
  end();
  await expect.poll(() => store.getSnapshot().task?.state).toBe("failed");
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
  await expect.poll(() => requests.length).toBe(2);
  hide();
  await expect.poll(() => left).toEqual(["left"]);
  stop.abort();
  expect(await next).toBe("stopped");
});
