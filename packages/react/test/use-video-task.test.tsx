import type { Issue, MediaUploader, RecordStorage, SucceededVideoTask } from "@sluice/core";
import { GatewayProvider, type Presence, useVideoTask, useVideoTasks } from "@sluice/react";
import { createVideoTaskStore, memoryStorage } from "@sluice/stores";
import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { type ReactNode, StrictMode } from "react";
import { hydrateRoot } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { expect, onTestFinished, test } from "vitest";
import { createTestClient, settled, stoppedClock } from "../../core/test/support/gateway.js";

const request = { model: "beta3.0-video", input: { prompt: "A reef at dawn" } } as const;
const url = "https://cdn.test/v.mp4";
const task = (data: object) =>
  Response.json({ code: "success", message: "", data: { task_id: "t-1", ...data } });
const present: Presence = { absence: undefined, subscribe: () => () => {} };

let gateways = 0;

/** Creates a client and its gateway. Each query of the task gets the next of `steps`. */
function createGateway(steps: readonly object[], check?: MediaUploader["check"]) {
  const clock = stoppedClock();
  // lets stores without components close their channels to other tabs
  onTestFinished(() => clock.advance(1000));
  let queries = 0;
  gateways += 1;
  const { client, requests } = createTestClient(
    (sent) => {
      if (sent.method === "POST")
        return Response.json({
          id: "t-1",
          model: request.model,
          status: "queued",
          created_at: 1_755_000_000,
        });
      queries += 1;
      return task(steps[Math.min(queries, steps.length) - 1] as object);
    },
    {
      clock,
      baseURL: `https://gateway-${gateways}.test`,
      random: () => 0.5,
      uploads: check && { upload: () => Promise.reject(new Error("no file is expected")), check },
    },
  );
  const app = (content: ReactNode) => <GatewayProvider client={client}>{content}</GatewayProvider>;
  const creates = () => requests.filter(({ method }) => method === "POST").length;
  return { client, clock, app, creates, queries: () => queries };
}

interface VideoProps {
  readonly taskId?: string;
  readonly enabled?: boolean;
  readonly storage?: RecordStorage;
  readonly onSuccess?: (task: SucceededVideoTask) => void;
  readonly onError?: (error: Error) => void;
}

function Video(props: VideoProps) {
  const { status, phase, progress, data, create, reset } = useVideoTask({
    ...props,
    presence: present,
  });
  return (
    <section>
      <output>{phase === "creating" ? `${status}, submitting` : status}</output>
      <p>{data?.url ?? progress ?? "nothing"}</p>
      <button type="button" onClick={() => void create(request, { label: "Reef" })}>
        submit
      </button>
      <button type="button" onClick={reset}>
        reset
      </button>
    </section>
  );
}

function Link() {
  const { data } = useVideoTask({
    taskId: "t-1",
    presence: present,
    select: (task) => new URL(task.url).host,
  });
  return <output>{data ?? "nothing"}</output>;
}

function List({ storage }: { storage?: RecordStorage | undefined }) {
  const { tasks, remove } = useVideoTasks({ storage, presence: present });
  return (
    <ul>
      {tasks.map(({ key, label, task }) => (
        <li key={key}>
          {label} {task?.state}
          <button type="button" onClick={() => remove(key)}>
            remove
          </button>
        </li>
      ))}
    </ul>
  );
}

const status = () => screen.getByRole("status").textContent;
const shown = () => screen.getByRole("paragraph").textContent;
const press = (name: string) => fireEvent.click(screen.getByRole("button", { name }));

test("a double click creates one task, which shows its progress and its video", async () => {
  const done: string[] = [];
  const { app, clock, creates } = createGateway([
    { status: "IN_PROGRESS", progress: "40%" },
    { status: "SUCCESS", result_url: url },
  ]);
  render(<StrictMode>{app(<Video onSuccess={(finished) => done.push(finished.url)} />)}</StrictMode>);
  expect([status(), shown(), creates()]).toEqual(["idle", "nothing", 0]);
  press("submit");
  press("submit");
  expect(status()).toBe("pending, submitting");
  await waitFor(() => expect(shown()).toBe("0.4"));
  await act(() => settled());
  await act(() => clock.advance(15_000));
  await waitFor(() => expect([status(), shown()]).toEqual(["success", url]));
  expect([done, creates()]).toEqual([[url], 1]);
  press("reset");
  expect([status(), shown()]).toEqual(["idle", "nothing"]);
});

test("taskId attaches to a task, in StrictMode and after a remount without a second poll", async () => {
  const { app, clock, queries } = createGateway([{ status: "IN_PROGRESS", progress: "40%" }]);
  const view = render(<StrictMode>{app(<Video taskId="t-1" />)}</StrictMode>);
  await waitFor(() => expect([status(), shown()]).toEqual(["pending", "0.4"]));
  view.rerender(<StrictMode>{app(<p>another route</p>)}</StrictMode>);
  await act(() => clock.advance(500));
  view.rerender(<StrictMode>{app(<Video taskId="t-1" />)}</StrictMode>);
  expect([status(), shown()]).toEqual(["pending", "0.4"]);
  expect(queries()).toBe(1);
});

test("callbacks are read when they are used, and another taskId shows another task", async () => {
  const reported: string[] = [];
  const { app, clock } = createGateway([{ status: "IN_PROGRESS" }, { status: "SUCCESS", result_url: url }]);
  const view = render(app(<Video taskId="t-0" onSuccess={() => reported.push("stale")} />));
  await act(() => settled());
  view.rerender(app(<Video taskId="t-0" onSuccess={(done) => reported.push(done.id)} />));
  await act(() => clock.advance(15_000));
  await waitFor(() => expect(status()).toBe("success"));
  await act(() => settled());
  expect(reported).toEqual(["t-0"]);
  view.rerender(app(<Video taskId="t-1" />));
  expect(status()).toBe("pending");
  view.rerender(app(<Video taskId="t-0" />));
  expect([status(), shown()]).toEqual(["success", url]);
});

test("another client attaches the task again", async () => {
  const [first, second] = [
    createGateway([{ status: "SUCCESS", result_url: url }]),
    createGateway([{ status: "IN_PROGRESS", progress: "40%" }]),
  ];
  const view = render(first.app(<Video taskId="t-1" />));
  await waitFor(() => expect(shown()).toBe(url));
  view.rerender(second.app(<Video taskId="t-1" />));
  await waitFor(() => expect(shown()).toBe("0.4"));
});

test("the media are checked before sending, once for a double click, and issues are shown", async () => {
  const checks: ((issues: readonly Issue[]) => void)[] = [];
  const check = () => new Promise<readonly Issue[]>((resolve) => checks.push(resolve));
  const errors: string[] = [];
  const { app, creates } = createGateway([{ status: "IN_PROGRESS", progress: "40%" }], check);
  const video = <Video onError={({ message }) => errors.push(message)} />;
  render(<StrictMode>{app(video)}</StrictMode>);
  press("submit");
  press("submit");
  await act(() => settled());
  expect([status(), creates(), checks.length]).toEqual(["pending, submitting", 0, 1]);
  await act(async () =>
    checks[0]?.([{ path: "input.media.0", message: "is too small", rule: "media.side" }]),
  );
  expect([status(), errors]).toEqual(["error", ["input.media.0: is too small"]]);
  press("submit");
  await act(async () => checks[1]?.([]));
  await waitFor(() => expect(shown()).toBe("0.4"));
  expect([status(), creates()]).toEqual(["pending", 1]);
});

test("data is the result of select for the finished task", async () => {
  const { app } = createGateway([{ status: "SUCCESS", result_url: url }]);
  render(app(<Link />));
  await waitFor(() => expect(status()).toBe("cdn.test"));
});

test("a task is not polled while `enabled` is false", async () => {
  const { app, queries } = createGateway([{ status: "IN_PROGRESS", progress: "40%" }]);
  const view = render(app(<Video taskId="t-1" enabled={false} />));
  await act(() => settled());
  expect([status(), queries()]).toEqual(["pending", 0]);
  view.rerender(app(<Video taskId="t-1" />));
  await waitFor(() => expect(shown()).toBe("0.4"));
});

test("the list has all submitted tasks, also from before a reload, until they are removed", async () => {
  const storage = memoryStorage();
  const first = createGateway([{ status: "IN_PROGRESS" }]);
  const store = createVideoTaskStore(first.client, { storage, presence: present });
  await store.create(request, { label: "Reef" });

  const second = createGateway([{ status: "SUCCESS", result_url: url }]);
  render(second.app(<List storage={storage} />));
  await waitFor(() => expect(screen.getByRole("listitem").textContent).toContain("Reef succeeded"));
  press("remove");
  await waitFor(() => expect(screen.queryByRole("listitem")).toBeNull());
});

test("a server renders no task, and hydration gives no warning", async () => {
  const { app } = createGateway([{ status: "IN_PROGRESS", progress: "40%" }]);
  const content = app(
    <>
      <Video taskId="t-1" />
      <List />
    </>,
  );
  const container = document.createElement("div");
  container.innerHTML = renderToString(content);
  expect(container.textContent).toContain("idle");
  const complaints: unknown[] = [];
  const root = await act(async () =>
    hydrateRoot(container, content, { onRecoverableError: (error) => complaints.push(error) }),
  );
  expect(complaints).toEqual([]);
  act(() => root.unmount());
});
