import { GatewayProvider, type UseImagesOptions, useImages } from "@sluice/react";
import { act, fireEvent, render, screen } from "@testing-library/react";
import { type ReactNode, StrictMode, useState } from "react";
import { hydrateRoot } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { createTestClient, settled, stoppedClock } from "../../core/test/support/gateway.js";

const model = "gamma-image-5-0-260128";
const reef = { url: "https://cdn.test/reef.png", size: "2048x2048" };
const withheld = { error: { message: "withheld" } };
const createResponse = (...data: object[]) => Response.json({ model, created: 1_755_000_000, data });

let renders = 0;
const methods = new Set<unknown>();

function Painter(props: Partial<UseImagesOptions<typeof model>> & { label?: string }) {
  const { label = "painter", ...options } = props;
  const images = useImages({ model, ...options });
  renders += 1;
  for (const method of [images.generate, images.stop, images.reset]) methods.add(method);
  return (
    <section aria-label={label}>
      <output>{images.status}</output>
      <p>{images.data?.images.map(({ url, error }) => url ?? error.message).join(", ")}</p>
      <i>{images.error ? `${images.error.name}, ${images.error.billing}` : "no error"}</i>
      <button type="button" onClick={() => void images.generate({ prompt: "A reef" })}>
        paint
      </button>
      <button type="button" onClick={images.stop}>
        stop
      </button>
      <button type="button" onClick={images.reset}>
        reset
      </button>
    </section>
  );
}

function Counted({ onImages }: { onImages: (text: string) => void }) {
  const [count, setCount] = useState(1);
  return (
    <>
      <button type="button" onClick={() => setCount(count + 1)}>
        count
      </button>
      <Painter
        params={{ seed: count }}
        onSuccess={({ images }) => onImages(`${images.length} image at ${count}`)}
      />
    </>
  );
}

const press = (name: string) => fireEvent.click(screen.getByRole("button", { name }));
const readStatus = () => screen.getByRole("status").textContent;
const shown = () => screen.getByRole("paragraph").textContent;

/** Renders an app whose gateway holds its responses until the test sends them. */
function renderLive(children: ReactNode = <Painter />, wrap: (app: ReactNode) => ReactNode = (app) => app) {
  const clock = stoppedClock();
  const resolvers: ((response: Response) => void)[] = [];
  const signals: AbortSignal[] = [];
  const { client, requests } = createTestClient(
    ({ signal }) => {
      signals.push(signal);
      return new Promise<Response>((resolve) => resolvers.push(resolve));
    },
    { clock },
  );
  const app = (content: ReactNode) => wrap(<GatewayProvider client={client}>{content}</GatewayProvider>);
  const view = render(app(children));
  return {
    clock,
    requests,
    signals,
    show: (content: ReactNode) => view.rerender(app(content)),
    unmount: view.unmount,
    respond: (...data: object[]) =>
      act(async () => {
        await settled();
        resolvers.shift()?.(createResponse(...data));
        await settled();
      }),
  };
}

describe("useImages", () => {
  test("rendering sends nothing, and a request renders twice", async () => {
    const before = renders;
    const { requests, ...app } = renderLive();
    await act(settled);
    expect([readStatus(), requests.length, renders - before]).toEqual(["idle", 0, 1]);
    press("paint");
    expect([readStatus(), renders - before]).toEqual(["pending", 2]);
    await app.respond(reef, withheld);
    expect([readStatus(), shown(), renders - before]).toEqual(["success", `${reef.url}, withheld`, 3]);
    expect(requests).toHaveLength(1);
  });

  test("a double click sends once, also in StrictMode", async () => {
    const { clock, requests, ...app } = renderLive(<Painter />, (content) => (
      <StrictMode>{content}</StrictMode>
    ));
    press("paint");
    press("paint");
    // mounting twice has let go of nothing
    await act(() => clock.advance(60_000));
    await app.respond(reef);
    expect([readStatus(), shown(), requests.length]).toEqual(["success", reef.url, 1]);
  });

  test("a request that breaks a rule renders once", () => {
    const { requests } = renderLive(<Painter params={{ seed: 0.5 }} />);
    const before = renders;
    press("paint");
    expect([readStatus(), renders - before, requests.length]).toEqual(["error", 1, 0]);
    expect(screen.getByText("ValidationError, none")).toBeTruthy();
  });

  test("stop shows that the request may be billed, and reset deletes it", async () => {
    const { signals } = renderLive();
    press("paint");
    await act(settled);
    press("stop");
    expect(readStatus()).toBe("error");
    expect(screen.getByText("AbortError, maybe")).toBeTruthy();
    expect(signals[0]?.aborted).toBe(true);
    press("reset");
    expect(readStatus()).toBe("idle");
    expect(screen.getByText("no error")).toBeTruthy();
  });

  test("methods keep their identity", async () => {
    methods.clear();
    const app = renderLive();
    press("paint");
    await app.respond(reef);
    app.show(<Painter label="another" />);
    expect(methods.size).toBe(3);
  });

  test("parameters and callbacks are read when they are used", async () => {
    const reported: string[] = [];
    const { requests, ...app } = renderLive(<Counted onImages={(text) => reported.push(text)} />);
    press("count");
    press("paint");
    press("count");
    await app.respond(reef);
    expect(reported).toEqual(["1 image at 3"]);
    expect(await requests[0]?.json()).toMatchObject({ seed: 2 });
  });

  test("two components with one id show the same images", async () => {
    const { requests, ...app } = renderLive(
      <>
        <Painter id="a" label="left" />
        <Painter id="a" label="right" />
        <Painter id="b" label="other" />
      </>,
    );
    for (const button of screen.getAllByRole("button", { name: "paint" }).slice(0, 2))
      fireEvent.click(button);
    await app.respond(reef);
    expect(screen.getAllByText(reef.url)).toHaveLength(2);
    expect(requests).toHaveLength(1);
  });

  test("two components with one id send with their own options", async () => {
    const reported: string[] = [];
    const { requests, ...app } = renderLive(
      <>
        <Painter id="a" label="left" params={{ seed: 1 }} onSuccess={() => reported.push("left")} />
        <Painter id="a" label="right" params={{ seed: 2 }} onSuccess={() => reported.push("right")} />
      </>,
    );
    for (const button of screen.getAllByRole("button", { name: "paint" })) {
      fireEvent.click(button);
      await app.respond(reef);
    }
    expect(reported).toEqual(["left", "right"]);
    expect(await Promise.all(requests.map((request) => request.json()))).toMatchObject([
      { seed: 1 },
      { seed: 2 },
    ]);
  });

  test("images with an id outlive their component", async () => {
    const { clock, signals, ...app } = renderLive(<Painter id="a" />);
    press("paint");
    await act(settled);
    app.show(<p>another route</p>);
    await clock.advance(9 * 60_000);
    expect(signals[0]?.aborted).toBe(false);
    await app.respond(reef);
    app.show(<Painter id="a" />);
    expect([readStatus(), shown(), signals.length]).toEqual(["success", reef.url, 1]);
    app.show(<p>another route</p>);
    await clock.advance(15 * 60_000);
    app.show(<Painter id="a" />);
    expect(readStatus()).toBe("idle");
  });

  test("a request without an id is aborted soon after its component is removed", async () => {
    const reported: string[] = [];
    const { clock, signals, unmount } = renderLive(<Painter onError={({ name }) => reported.push(name)} />);
    press("paint");
    await act(settled);
    unmount();
    await clock.advance(999);
    expect(signals[0]?.aborted).toBe(false);
    await clock.advance(1);
    expect([signals[0]?.aborted, reported]).toEqual([true, ["AbortError"]]);
  });
});

test("images are idle on a server, and hydrate without a warning", async () => {
  const { client } = createTestClient(() => createResponse(reef));
  const app = (
    <GatewayProvider client={client}>
      <Painter id="ssr" />
    </GatewayProvider>
  );
  const html = renderToString(app);
  expect(html).toContain("idle");
  const container = document.createElement("div");
  container.innerHTML = html;
  const complaints: unknown[] = [];
  await act(async () => {
    hydrateRoot(container, app, { onRecoverableError: (error) => complaints.push(error) });
  });
  expect(complaints).toEqual([]);
});
