import { createVideoTaskStore, memoryStorage, watchVideoTask } from "@sluice/core";
import { GatewayProvider } from "@sluice/react";
import { useTaskNotifications } from "@sluice/react/notifications";
import { fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { clientOf } from "../../core/test/support/gateway.js";

const storage = memoryStorage();
const shown: string[] = [];
let visibility: DocumentVisibilityState = "visible";

beforeEach(() => {
  localStorage.clear();
  shown.length = 0;
  visibility = "visible";
  Object.defineProperty(document, "visibilityState", { get: () => visibility, configurable: true });
  class Notification {
    static permission = "granted";
    static requestPermission = async () => "granted";
    constructor(title: string, { body }: { body: string }) {
      shown.push(`${title}: ${body}`);
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

function Notify() {
  const { mode, enable } = useTaskNotifications({ storage });
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
