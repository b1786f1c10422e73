import type { Client } from "@sluice/core";
import {
  GatewayProvider,
  type Presence,
  useAsset,
  useChatStream,
  useImages,
  useVideoTask,
  useVideoTasks,
} from "@sluice/react";
import { createVideoTaskStore, memoryStorage } from "@sluice/stores";
import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { Fragment, type FunctionComponent, StrictMode, useState } from "react";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  createTestClient,
  DONE,
  frame,
  openBody,
  settled,
  stoppedClock,
} from "../../core/test/support/gateway.js";
import { createRefresh } from "./support/fast-refresh.js";

const present: Presence = { absence: undefined, subscribe: () => () => {} };
const imageURL = "https://cdn.test/reef.png";
const videoURL = "https://cdn.test/reef.mp4";
const videoRequest = { model: "beta3.0-video", input: { prompt: "A reef" } } as const;
let gateways = 0;

/** Output of a component: the state of its hooks, and its button. */
interface View {
  readonly shown: string;
  readonly act: () => void;
}

/** Creates a client of a gateway that holds its responses to creates until the test sends them. */
function createGateway() {
  const clock = stoppedClock();
  // lets stores without components close their channels to other tabs
  onTestFinished(() => clock.advance(1000));
  const connection = openBody();
  const held: ((response: Response) => void)[] = [];
  const signals: AbortSignal[] = [];
  const queries: string[] = [];
  gateways += 1;
  const { client, requests } = createTestClient(
    (sent) => {
      if (sent.url.endsWith("GetAsset")) return Response.json({ Id: "a-1", Status: "Active" });
      if (sent.method === "GET") {
        queries.push(sent.url);
        const isOver = queries.length > 1;
        const data = isOver
          ? { status: "SUCCESS", result_url: videoURL }
          : { status: "IN_PROGRESS", progress: "40%" };
        return Response.json({ code: "success", message: "", data: { task_id: "t-1", ...data } });
      }
      signals.push(sent.signal);
      if (sent.url.endsWith("chat/completions"))
        return new Response(connection.body, { headers: { "content-type": "text/event-stream" } });
      return new Promise<Response>((resolve) => held.push(resolve));
    },
    {
      clock,
      random: () => 0.5,
      baseURL: `https://refreshed-${gateways}.test`,
      gateway: { assetLookup: "/gamma/asset/GetAsset" },
    },
  );
  const creates = () =>
    requests.filter(({ method, url }) => method === "POST" && !url.endsWith("GetAsset")).length;
  const respond = (body: object) =>
    act(async () => {
      held.shift()?.(Response.json(body));
      await settled();
    });
  const advance = (ms: number) => act(() => clock.advance(ms));
  return { client, connection, signals, queries, creates, respond, advance };
}

function Button({ label, onPress }: { label: string; onPress: () => void }) {
  return (
    <button type="button" onClick={onPress}>
      {label}
    </button>
  );
}

/** A page of one component, which is edited: to another text with the same hooks, or with another hook before them. */
function createEditor(client: Client, useView: () => View, Mode: typeof Fragment | typeof StrictMode) {
  const { load, refresh } = createRefresh();
  const signature = "useState{[firstName]} useView{}";
  const version = (name: string): FunctionComponent =>
    // biome-ignore lint/correctness/noComponentHookFactories: a module that is edited makes its component anew
    function Studio() {
      const [firstName] = useState(name);
      const { shown, act } = useView();
      return <Button label={`${name}, state of ${firstName}: ${shown}`} onPress={act} />;
    };
  const versionWithOneMore = (name: string): FunctionComponent =>
    // biome-ignore lint/correctness/noComponentHookFactories: a module that is edited makes its component anew
    function Studio() {
      useState("another hook");
      const [firstName] = useState(name);
      const { shown, act } = useView();
      return <Button label={`${name}, state of ${firstName}: ${shown}`} onPress={act} />;
    };
  const Studio = load(version("first"), signature);
  render(
    <Mode>
      <GatewayProvider client={client}>
        <Studio />
      </GatewayProvider>
    </Mode>,
  );
  const edit = (component: FunctionComponent, hooks: string) =>
    act(async () => {
      refresh(component, hooks);
      await settled();
    });
  return {
    shown: () => screen.getByRole("button").textContent,
    press: () =>
      act(async () => {
        fireEvent.click(screen.getByRole("button"));
        await settled();
      }),
    sameHooks: () => edit(version("second"), signature),
    otherHooks: () => edit(versionWithOneMore("third"), `useState{} ${signature}`),
  };
}

const receipt = { id: "t-1", model: videoRequest.model, status: "queued", created_at: 1_755_000_000 };

function useVideo(): View {
  const { status, phase, progress, data, create } = useVideoTask({ presence: present });
  const shown = data?.url ?? (phase === "creating" ? "submitting" : `${status} ${progress}`);
  return { shown, act: () => void create(videoRequest) };
}

function useSecondVideo(): View {
  const { handle, create, reset } = useVideoTask({ taskId: "t-0", presence: present });
  const submitAnother = () => {
    reset();
    void create(videoRequest);
  };
  return { shown: `${handle?.id}`, act: submitAnother };
}

function useFirstVideo(): View {
  const { status, progress, refetch } = useVideoTask({ taskId: "t-1", presence: present });
  return { shown: `${status} ${progress}`, act: refetch };
}

let storage = memoryStorage();

function useListedVideo(): View {
  const { status, create } = useVideoTask({ storage, presence: present });
  const { tasks } = useVideoTasks({ storage, presence: present });
  const listed = tasks.map(({ state, task }) => task?.state ?? state).join();
  return { shown: `${status} [${listed}]`, act: () => void create(videoRequest) };
}

let registered: string[] = [];

function useHero(): View {
  const { data, phase, status, create } = useAsset({
    groupId: "group-1",
    presence: present,
    onCreate: (handle) => registered.push(handle.uri),
  });
  return { shown: data?.uri ?? phase ?? status, act: () => void create("https://files.test/hero.png") };
}

function useReef(id?: string): View {
  const { data, status, generate } = useImages({ id, model: "gamma-image-5-0-260128" });
  return { shown: data?.images[0]?.url ?? status, act: () => void generate({ prompt: "A reef" }) };
}

function useNamedReef(): View {
  return useReef("reef");
}

function useReply(id?: string): View {
  const { status, messages, send } = useChatStream({ ...(id && { id }), model: "delta-5.3" });
  return { shown: `${status} ${messages.at(-1)?.content}`, act: () => void send("Hello?") };
}

function useNamedReply(): View {
  return useReply("reef");
}

// outside StrictMode a refresh runs the effects again too
const modes = [
  ["in StrictMode", StrictMode],
  ["outside StrictMode", Fragment],
] as const;

describe.each(modes)("fast refresh with the same hooks, %s, keeps work in flight", (_, Mode) => {
  test("A video task continues from its creation to its end, with one create and one poller", async () => {
    const { client, creates, queries, respond, advance } = createGateway();
    const { shown, press, sameHooks } = createEditor(client, useVideo, Mode);
    await press();
    await sameHooks();
    expect(shown()).toBe("second, state of first: submitting");
    await press();
    expect(creates()).toBe(1);
    await respond(receipt);
    await waitFor(() => expect(shown()).toContain("pending 0.4"));
    await act(settled);
    await sameHooks();
    expect(shown()).toContain("pending 0.4");
    await press();
    await advance(14_999);
    expect([creates(), queries.length]).toEqual([1, 1]);
    await advance(1);
    await waitFor(() => expect(shown()).toContain(videoURL));
    expect([creates(), queries.length]).toEqual([1, 2]);
  });

  test("A task that was created after another was attached continues", async () => {
    const { client, respond } = createGateway();
    const { shown, press, sameHooks } = createEditor(client, useSecondVideo, Mode);
    expect(shown()).toContain("t-0");
    await press();
    await respond(receipt);
    await waitFor(() => expect(shown()).toContain("t-1"));
    await sameHooks();
    expect(shown()).toBe("second, state of first: t-1");
  });

  test("An asset in flight continues", async () => {
    const { client, creates, respond } = createGateway();
    const { shown, press, sameHooks } = createEditor(client, useHero, Mode);
    await press();
    await sameHooks();
    expect(shown()).toBe("second, state of first: creating");
    await press();
    expect(creates()).toBe(1);
    await respond({ Id: "a-1" });
    await waitFor(() => expect(shown()).toContain("asset://a-1"));
    await sameHooks();
    expect(shown()).toContain("asset://a-1");
  });

  test("Images in flight continue", async () => {
    const { client, creates, signals, respond, advance } = createGateway();
    const { shown, press, sameHooks } = createEditor(client, useReef, Mode);
    await press();
    await sameHooks();
    expect(shown()).toBe("second, state of first: pending");
    await press();
    await advance(60_000);
    expect([creates(), signals[0]?.aborted]).toEqual([1, false]);
    await respond({ created: 1_755_000_000, data: [{ url: imageURL }] });
    expect(shown()).toContain(imageURL);
  });

  test("A response of a chat continues", async () => {
    const { client, creates, connection, advance } = createGateway();
    const { shown, press, sameHooks } = createEditor(client, useReply, Mode);
    await press();
    connection.send(frame({ content: "Hel" }));
    await advance(1000);
    await waitFor(() => expect(shown()).toContain("streaming Hel"));
    await sameHooks();
    expect(shown()).toBe("second, state of first: streaming Hel");
    await advance(60_000 - 2000);
    connection.send(frame({ content: "lo" }) + frame({}, "stop") + DONE);
    connection.end();
    await waitFor(() => expect(shown()).toContain("ready Hello"));
    expect(creates()).toBe(1);
  });
});

describe.each(modes)(
  "fast refresh with other hooks, %s, mounts again and finds work in flight:",
  (_, Mode) => {
    test("a video task in the list during its creation, with one create and one poller", async () => {
      const { client, creates, queries, respond, advance } = createGateway();
      storage = memoryStorage();
      const { shown, press, otherHooks } = createEditor(client, useListedVideo, Mode);
      await press();
      await otherHooks();
      expect(shown()).toBe("third, state of third: idle [submitting]");
      await respond(receipt);
      await waitFor(() => expect(shown()).toContain("[running]"));
      await act(settled);
      await otherHooks();
      expect(shown()).toContain("[running]");
      await advance(15_000);
      await waitFor(() => expect(shown()).toContain("[succeeded]"));
      expect([creates(), queries.length]).toEqual([1, 2]);
    });

    test("a video task that is attached, without another poll", async () => {
      const { client, queries } = createGateway();
      const attached = createVideoTaskStore(client, { presence: present });
      attached.attach("t-1");
      const { shown, otherHooks } = createEditor(client, useFirstVideo, Mode);
      await waitFor(() => expect(shown()).toContain("pending 0.4"));
      await act(settled);
      await otherHooks();
      expect(shown()).toBe("third, state of third: pending 0.4");
      expect(queries).toHaveLength(1);
    });

    test("an asset, whose onCreate gets the handle", async () => {
      registered = [];
      const { client, creates, signals, respond } = createGateway();
      const { shown, press, otherHooks } = createEditor(client, useHero, Mode);
      await press();
      await otherHooks();
      expect([shown(), signals[0]?.aborted]).toEqual(["third, state of third: idle", false]);
      await respond({ Id: "a-1" });
      expect([registered, creates()]).toEqual([["asset://a-1"], 1]);
    });

    test("images with an id", async () => {
      const { client, creates, respond, advance } = createGateway();
      const { shown, press, otherHooks } = createEditor(client, useNamedReef, Mode);
      await press();
      await otherHooks();
      expect(shown()).toBe("third, state of third: pending");
      await press();
      await advance(60_000);
      await respond({ created: 1_755_000_000, data: [{ url: imageURL }] });
      expect([shown(), creates()]).toEqual([`third, state of third: ${imageURL}`, 1]);
    });

    test("a response of a chat with an id", async () => {
      const { client, creates, connection, advance } = createGateway();
      const { shown, press, otherHooks } = createEditor(client, useNamedReply, Mode);
      await press();
      connection.send(frame({ content: "Hel" }));
      await advance(1000);
      await waitFor(() => expect(shown()).toContain("streaming Hel"));
      await otherHooks();
      expect(shown()).toBe("third, state of third: streaming Hel");
      connection.send(frame({ content: "lo" }) + frame({}, "stop") + DONE);
      connection.end();
      await waitFor(() => expect(shown()).toContain("ready Hello"));
      expect(creates()).toBe(1);
    });
  },
);
