import { type Clock, createClient } from "@sluice/core";
import { createVideoTaskList, createVideoTaskStore, listVideoTasks, memoryStorage } from "@sluice/stores";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { settled, stoppedClock } from "../../packages/core/test/support/gateway.js";
import { readRuns } from "../support/seed.js";

const request = { model: "beta3.0-video", input: { prompt: "A reef at dawn" } } as const;
const runs = readRuns(30);
const id = fc.stringMatching(/^[\w-]{1,40}$/);

/** A client whose creates return `receipt`; every query finds a task that runs. */
function openTab<Time extends Clock>(receipt: unknown, clock: Time) {
  const polled: string[] = [];
  const client = createClient({
    baseURL: `https://gateway-${Math.random()}.test`,
    clock,
    gateway: { assetLookup: async () => ({ Status: "Processing" }) },
    onEvent: () => {},
    fetch: async ({ method, url }) => {
      if (method === "POST") return Response.json(receipt);
      polled.push(decodeURIComponent(new URL(url).pathname.split("/").at(-1) ?? ""));
      return Response.json({ code: "success", data: { status: "IN_PROGRESS" } });
    },
  });
  return { client, clock, polled };
}

describe("the id of a video", () => {
  const createReceipt = (ids: fc.Arbitrary<Record<string, unknown>>) =>
    fc
      .tuple(fc.dictionary(fc.string(), fc.jsonValue()), ids, fc.jsonValue(), fc.jsonValue(), fc.jsonValue())
      .map(
        ([more, ids, created_at, model, status]): Record<string, unknown> => ({
          ...more,
          created_at,
          model,
          status,
          ...ids,
        }),
      );

  test("is in the list and is polled, whatever else the receipt has", async () => {
    const ids = fc.oneof(
      id.map((id) => ({ id })),
      fc.nat().map((id) => ({ id })),
      fc.tuple(id, fc.constantFrom("", null)).map(([task_id, id]) => ({ id, task_id })),
    );
    await fc.assert(
      fc.asyncProperty(createReceipt(ids), async (receipt) => {
        const { client, polled } = openTab(receipt, stoppedClock());
        const video = createVideoTaskStore(client);
        const stop = video.subscribe(() => {});
        await video.create(request);
        await settled();
        stop();
        const expected = String(receipt["id"] || receipt["task_id"] || receipt["id"]);
        expect(await listVideoTasks(client, {})).toMatchObject([
          { state: "created", handle: { id: expected } },
        ]);
        expect(polled).toEqual([expected]);
      }),
      runs,
    );
  });
});

describe("a storage", () => {
  const entry = {
    key: "k",
    model: "m",
    submittedAt: 1,
    label: "Reef",
    state: "created",
    revision: 1,
    handle: { id: "t-1", model: "m", createdAt: 1 },
    task: { id: "t-1", state: "running", rawStatus: "IN_PROGRESS", progress: 0.5 },
    error: { name: "APIError", message: "refused" },
  };

  /** The entry, with one of its values replaced by any JSON. */
  const spoiled = fc
    .tuple(
      fc.constantFrom<readonly [keyof typeof entry, string?]>(
        ...Object.entries(entry).flatMap(([name, value]): (readonly [keyof typeof entry, string?])[] => [
          [name as keyof typeof entry],
          ...Object.keys(Object(value) as object)
            .filter(() => typeof value === "object")
            .map((inner) => [name as keyof typeof entry, inner] as const),
        ]),
      ),
      fc.jsonValue(),
    )
    .map(([[name, inner], value]) => ({
      ...entry,
      [name]: inner === undefined ? value : { ...(entry[name] as object), [inner]: value },
    }));

  test("may have any JSON at any position of an entry: the other entries are shown, and ids are stored", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(spoiled, fc.jsonValue()), { maxLength: 5 }), async (records) => {
        const storage = memoryStorage();
        await storage.write(
          "video-tasks",
          new Map<string, unknown>([...records.entries()].map(([at, it]) => [`${at}`, it])),
        );
        await storage.write("video-tasks", new Map([["k", entry]]));
        const { client } = openTab({}, stoppedClock());
        const list = createVideoTaskList(client, { storage });
        const stop = list.subscribe(() => {});
        await settled();
        stop();
        const shown = list.getSnapshot();
        expect(shown).toContainEqual(expect.objectContaining({ key: "k", handle: entry.handle }));
        const stored = records.filter((it) => (it as typeof entry | null)?.handle?.id === "t-1");
        expect(shown.filter(({ handle }) => handle?.id === "t-1")).toHaveLength(stored.length + 1);
      }),
      { ...runs, examples: [[[{ ...entry, revision: -1 }]]] },
    );
  });
});
