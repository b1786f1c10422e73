import {
  createAssetStore,
  createVideoTaskStore,
  type Presence,
  type VideoTaskStoreOptions,
} from "@sluice/stores";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createTestClient, settled, shows, stoppedClock } from "../../core/test/support/gateway.js";

afterEach(() => vi.unstubAllGlobals());

const MINUTE = 60_000;
const isResting = ({ nextPollAt }: { nextPollAt: number | undefined }) => nextPollAt !== undefined;
const lost = () => {
  throw new TypeError("Failed to fetch");
};
const refused = () => Response.json({ error: { message: "no gateway" } }, { status: 502 });

/** Opens a page of a browser, whose server responds to polls with `respond`. */
function openBrowserPage(options: VideoTaskStoreOptions = {}) {
  const window = new EventTarget();
  const document = Object.assign(new EventTarget(), { visibilityState: "visible" });
  const navigator = { onLine: true };
  vi.stubGlobal("navigator", navigator);
  vi.stubGlobal("document", document);
  vi.stubGlobal("addEventListener", window.addEventListener.bind(window));
  const clock = stoppedClock();
  let polls = 0;
  const server = {
    respond: (): Response => {
      const progress = `${polls % 100}%`;
      return Response.json({ code: "success", data: { task_id: "t-1", status: "IN_PROGRESS", progress } });
    },
  };
  const { client } = createTestClient(
    () => {
      polls += 1;
      return server.respond();
    },
    {
      clock,
      random: () => 0.5,
      baseURL: `https://gateway-${Math.random()}.test`,
      gateway: { assetLookup: "/gamma/asset/GetAsset" },
    },
  );
  const video = createVideoTaskStore(client, options);
  const attach = async () => {
    const unsubscribe = video.subscribe(() => {});
    onTestFinished(unsubscribe);
    video.attach("t-1");
    await shows(video, isResting);
    return unsubscribe;
  };
  return {
    client,
    clock,
    server,
    video,
    attach,
    polls: () => polls,
    /** Makes the browser report that it has a network or not. */
    network(onLine: boolean) {
      navigator.onLine = onLine;
      window.dispatchEvent(new Event(onLine ? "online" : "offline"));
      return settled();
    },
    show(visibilityState: "visible" | "hidden") {
      document.visibilityState = visibilityState;
      document.dispatchEvent(new Event("visibilitychange"));
      return settled();
    },
  };
}

const polling = { fetchStatus: "idle", pauseReason: undefined };
const offline = { fetchStatus: "paused", pauseReason: "offline", nextPollAt: undefined };

describe("a page whose browser has no network", () => {
  test("polls a server that responds despite that", async () => {
    const { network, attach, clock, video, polls } = openBrowserPage();
    await network(false);
    await attach();
    await clock.advance(10 * MINUTE);
    expect(polls()).toBe(41);
    await network(false);
    await clock.advance(MINUTE);
    expect(polls()).toBe(45);
    expect(video.getSnapshot()).toMatchObject(polling);
  });

  test("polls until a poll reaches no server, and at once when the network is back", async () => {
    const { network, attach, clock, video, server, polls } = openBrowserPage();
    await attach();
    const { respond } = server;
    server.respond = lost;
    await network(false);
    await clock.advance(15_000);
    expect(video.getSnapshot()).toMatchObject({ status: "pending", ...offline });
    expect(polls()).toBe(2);
    server.respond = respond;
    await network(true);
    expect(polls()).toBe(3);
    expect(video.getSnapshot()).toMatchObject({ ...polling, failureReason: undefined });
  });

  test("tries again once a minute, when it is shown again, and after refetch", async () => {
    const { network, attach, show, clock, video, server, polls } = openBrowserPage();
    await attach();
    const { respond } = server;
    server.respond = lost;
    await network(false);
    await clock.advance(15_000);
    for (const retry of [() => clock.advance(MINUTE), () => show("visible"), async () => video.refetch()]) {
      const before = polls();
      await retry();
      await settled();
      expect(polls()).toBe(before + 1);
      expect(video.getSnapshot()).toMatchObject(offline);
    }
    const before = polls();
    await clock.advance(60 * MINUTE);
    expect(polls()).toBe(before + 60);
    expect(video.getSnapshot()).toMatchObject({ status: "pending", ...offline });
    // a server on this machine was restarted
    server.respond = respond;
    await clock.advance(MINUTE);
    expect(video.getSnapshot()).toMatchObject(polling);
    await clock.advance(15_000);
    expect(polls()).toBe(before + 62);
  });

  test("does not count as offline after an error response or an earlier failure", async () => {
    const { network, attach, clock, video, server, polls } = openBrowserPage();
    server.respond = lost;
    await attach();
    await network(false);
    expect(video.getSnapshot()).toMatchObject({
      fetchStatus: "idle",
      failureReason: { name: "ConnectionError" },
    });
    server.respond = refused;
    await clock.advance(15_000);
    expect(polls()).toBe(2);
    expect(video.getSnapshot()).toMatchObject({ ...polling, failureReason: { name: "APIError" } });
  });

  test("A hidden page polls only with pollInBackground, and until a poll reaches no server", async () => {
    const first = openBrowserPage();
    await first.attach();
    await first.network(false);
    await first.show("hidden");
    expect(first.video.getSnapshot()).toMatchObject({ fetchStatus: "paused", pauseReason: "hidden" });
    await first.clock.advance(10 * MINUTE);
    expect(first.polls()).toBe(1);
    const second = openBrowserPage({ pollInBackground: true });
    await second.attach();
    await second.network(false);
    await second.show("hidden");
    await second.clock.advance(MINUTE);
    expect(second.polls()).toBe(5);
    second.server.respond = lost;
    await second.clock.advance(15_000);
    expect(second.video.getSnapshot()).toMatchObject(offline);
  });

  test("leaves no timer or listener behind", async () => {
    const { network, attach, clock, server, polls } = openBrowserPage();
    const unsubscribe = await attach();
    server.respond = lost;
    await network(false);
    await clock.advance(15_000);
    unsubscribe();
    await clock.advance(1000);
    expect(clock.sleeping()).toBe(0);
    await network(true);
    expect(polls()).toBe(2);
  });

  test("uses only the app's own presence", async () => {
    const present: Presence = { absence: undefined, subscribe: () => () => {} };
    const { network, attach, clock, video, server } = openBrowserPage({ presence: present });
    await attach();
    server.respond = lost;
    await network(false);
    await clock.advance(15_000);
    expect(video.getSnapshot()).toMatchObject({ ...polling, failureReason: { name: "ConnectionError" } });
  });

  test("polls assets in the same way", async () => {
    const { client, network, clock, server, polls } = openBrowserPage();
    await network(false);
    server.respond = () => Response.json({ Id: "a-1", Status: "Processing" });
    const asset = createAssetStore(client);
    onTestFinished(asset.subscribe(() => {}));
    asset.attach("a-1");
    await shows(asset, isResting);
    await clock.advance(3000);
    expect(polls()).toBe(2);
    expect(asset.getSnapshot()).toMatchObject(polling);
    server.respond = lost;
    await clock.advance(3000);
    expect(asset.getSnapshot()).toMatchObject(offline);
  });
});
