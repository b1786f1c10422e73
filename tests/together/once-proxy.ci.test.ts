import type { Client } from "@sluice/core";
import { createAssetStore, createImageStore, createVideoTaskStore, memoryStorage } from "@sluice/stores";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createRandom } from "../simulation/random.ts";
import { asset, type Fault, imageRequest, openProxy, reef } from "../support/once-proxy.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** The outcome of a request at the gateway: refused, not reached, cut after its success, or its object is lost during it. */
type GatewayFault = "refused" | "unreached" | "cut" | "killed" | "slow" | undefined;

describe("Of 1,000 schedules of faults, each", () => {
  const kinds = ["image", "video", "asset"] as const;
  const pageFaults = ["unsent", "lose", "lose", "cut", undefined] as const;
  const gatewayFaults = ["refused", "unreached", "cut", "killed", "slow", undefined, undefined] as const;

  test("bills each order of the user once, and shows its result unless its end is unknown", {
    timeout: 120_000,
  }, async () => {
    const wrong: unknown[] = [];
    let shownOnes = 0;
    for (let seed = 0; seed < 1000; seed += 1) {
      const { made, shown, story } = await run(kinds[seed % kinds.length] ?? "video", seed);
      const isRight = made.length === 1 && (shown === made[0] || shown === "failed");
      if (!isRight) wrong.push({ seed, made, shown, story });
      if (shown === made[0]) shownOnes += 1;
    }
    expect(wrong.slice(0, 3)).toEqual([]);
    expect(shownOnes).toBeGreaterThan(500);
    expect(shownOnes).toBeLessThan(950);
  });

  /** Requests one image or video until it is shown, or is billed and has failed. */
  async function run(kind: (typeof kinds)[number], seed: number) {
    const random = createRandom(seed, kind);
    const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item;
    const faults: GatewayFault[] = [pick(gatewayFaults), pick(gatewayFaults)];
    const made: string[] = [];
    const story: unknown[] = [];
    let opens = 0;
    const { openPage, kill } = openProxy({ gateway, options: { mediaURLs: "any" } });
    const storage = memoryStorage();
    const openClient = () => {
      const clientFaults: Fault[] = Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
        pick(pageFaults),
      );
      opens += 1;
      if (opens > 4) clientFaults.length = 0;
      story.push(["page", ...clientFaults]);
      return openPage({ faults: clientFaults, retries: pick([0, 1, 2]) }).client;
    };
    let stores = [createStore(openClient())];
    for (let nth = 0; nth < 10; nth += 1) {
      const ended = await Promise.all(stores.map((store) => store()));
      story.push(ended);
      const shown = ended.find(({ id }) => id !== undefined)?.id;
      if (shown !== undefined) return { made, shown, story };
      const isError = ended.some(({ status = 0 }) => status >= 400);
      // after an error of the proxy, another request is a new request, which a user with a bill does not send
      if (made.length > 0 && isError) return { made, shown: "failed", story };
      if (random() < 0.2) kill();
      // a video survives a reload and is visible in other tabs; an image or asset belongs to its page
      if (kind === "video") stores = [createStore(openClient())];
      if (kind === "video" && !isError && random() < 0.5) stores.push(createStore(openClient()));
    }
    return { made, shown: undefined, story };

    /** A store in its page. Each call requests the same image or video. */
    function createStore(client: Client) {
      const images = createImageStore(client, { model: imageRequest.model });
      const video = createVideoTaskStore(client, { storage });
      const assets = createAssetStore(client, { groupId: "g" });
      return async () => {
        if (kind === "image") {
          const { data, error } = await images.generate({ prompt: imageRequest.prompt });
          return toEnd(data?.images[0]?.url, error);
        }
        const { handle, error } =
          kind === "video" ? await video.create(reef) : await assets.create(new URL(asset.URL));
        return toEnd(handle?.id, error);
      };
    }

    async function gateway(): Promise<Response> {
      const fault = faults.shift();
      story.push(fault);
      if (fault === "refused") return Response.json({ error: { message: "no" } }, { status: 429 });
      if (fault === "unreached") throw new TypeError("failed", { cause: { code: "ECONNREFUSED" } });
      const id = `made-${made.length + 1}`;
      made.push(id);
      if (fault === "killed") kill();
      if (fault === "slow") await new Promise((resolve) => setTimeout(resolve));
      if (fault === "cut") throw new TypeError("terminated");
      if (kind === "image") return Response.json({ data: [{ url: id }] });
      return Response.json(kind === "video" ? { id, status: "queued", progress: 0 } : { Id: id });
    }
  }

  function toEnd(shown: string | undefined, error: unknown) {
    const { status, billing } = (error ?? {}) as { status?: number; billing?: string };
    // an id has the mark of its user
    const id = shown?.split("_")[0];
    return { id, status, billing };
  }
});
