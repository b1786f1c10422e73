import type { ClientEvent } from "@sluice/core";
import { uploadMedia } from "@sluice/core/media";
import { describe, expect, test } from "vitest";
import { clientOf, rejectionOf, stoppedClock } from "./support/gateway.js";
import { PART, refused, useSmallParts } from "./support/uploads.js";

useSmallParts();

/* Parts of an upload that go straight to the bucket, by addresses that the proxy signs. */

const SIZE = 2 * PART + 5;
/** A file whose first part has the byte 1 all over, the second one 2, the third one 3. */
const film = () => new Blob([1, 2, 3].map((byte) => new Uint8Array(byte < 3 ? PART : 5).fill(byte)));

type Answer = (request: Request) => Response | Promise<Response>;

interface World {
  /** Answers in the place of the bucket; undefined where it stores the part. */
  readonly bucket?: (nth: number, request: Request) => Response | Promise<Response> | undefined;
  /** Answers in the place of the proxy to a request of a kind, `sign` or `stored`. */
  readonly proxy?: (kind: string, nth: number) => ReturnType<Answer> | undefined;
}

/** A page, a proxy that signs addresses, and its bucket. */
function open({ bucket, proxy }: World = {}) {
  const clock = stoppedClock();
  const log: string[] = [];
  const events: ClientEvent[] = [];
  const parts = new Map<number, Uint8Array>();
  const seen: Request[] = [];
  let offset = 0;
  let puts = 0;
  const reasons: string[] = [];
  const counts: Record<string, number> = {};
  const stateOf = (more: object = {}) =>
    Response.json({
      id: "file-1",
      bytes: SIZE,
      offset,
      expiresAt: Date.now() + 600_000,
      ...(offset < SIZE ? { direct: true } : { url: "https://app.test/v1/media/file-1" }),
      ...more,
    });
  const { client } = clientOf(
    async (request, nth) => {
      if (nth > 60) return refused(403, "one request too many");
      const { host, searchParams } = new URL(request.url);
      const body = new Uint8Array(await request.clone().arrayBuffer());
      if (host === "bucket.test") {
        seen.push(request);
        log.push(`bucket ${body.length}`);
        puts += 1;
        const answer = bucket?.(puts, request);
        if (answer) return answer;
        parts.set(Number(searchParams.get("at")), body);
        return new Response(null, { status: 200 });
      }
      const way = request.headers.get("upload-direct");
      const kind = way === "sign" || way === "stored" ? way : request.method;
      if (way !== null && way !== kind) reasons.push(way);
      log.push(body.length > 0 ? `${kind} ${body.length}` : kind);
      counts[kind] = (counts[kind] ?? 0) + 1;
      const answer = proxy?.(kind, counts[kind]);
      if (answer) return answer;
      if (kind === "sign")
        return stateOf({ partURL: `https://bucket.test/part?at=${offset}&signature=secret` });
      if (kind === "GET") return stateOf();
      if (kind === "stored" && !parts.has(offset)) return refused(409, "part_missing");
      if (kind !== "stored") parts.set(offset, body);
      offset += parts.get(offset)?.length ?? 0;
      return stateOf();
    },
    { clock, random: () => 1, onEvent: (event) => events.push(event), headers: { "x-app": "studio" } },
  );
  const upload = (file = film(), signal?: AbortSignal) =>
    clock.advanceUntil(uploadMedia(client, file, { signal }), 1000);
  return {
    client,
    clock,
    log,
    events,
    reasons,
    seen,
    upload,
    stored: () => [...parts],
  };
}

function expectWhole({ stored }: ReturnType<typeof open>): void {
  const found = stored().map(([at, part]) => [at, part.length, part[0], part.at(-1)]);
  expect(found).toEqual([
    [0, PART, 1, 1],
    [PART, PART, 2, 2],
    [2 * PART, 5, 3, 3],
  ]);
}

/** One warning of the upload names the rule and the way out, and no address. */
function expectWarning({ events }: ReturnType<typeof open>): void {
  const warnings = events.filter((event) => event.type === "warning");
  expect(warnings).toEqual([
    {
      type: "warning",
      callId: events.map((event) => "callId" in event && event.callId).find(Boolean),
      issue: { path: "", rule: "uploads.direct", message: expect.stringContaining("CORS rule") },
    },
  ]);
  expect(JSON.stringify(warnings)).not.toMatch(/secret|bucket\.test/);
}

const viaBucket = ["sign", `bucket ${PART}`, "stored", "sign", "bucket 5", "stored"];

describe("An upload whose proxy signs addresses of the bucket", () => {
  test("sends the first part to the proxy and all others to the bucket, without a header, and keeps no address", async () => {
    const world = open();
    expect((await world.upload()).url).toBe("https://app.test/v1/media/file-1");
    expect(world.log).toEqual([`POST ${PART}`, ...viaBucket]);
    expectWhole(world);
    for (const { headers, method, redirect } of world.seen) {
      expect([method, redirect, [...headers.keys()]]).toEqual(["PUT", "manual", []]);
    }
    expect(JSON.stringify(world.events)).not.toContain("secret");
    expect(world.events.map(({ type }) => type)).toEqual([
      ...Array.from({ length: 7 }, () => ["request", "response"]).flat(),
      "end",
    ]);
  });

  const refusing: readonly (readonly [string, string, NonNullable<World["bucket"]>])[] = [
    [
      "refuses it",
      "refused 403",
      () => new Response("<Error><Code>AccessDenied</Code></Error>", { status: 403 }),
    ],
    ["allows no page of this origin", "unreachable", () => Promise.reject(new TypeError("Failed to fetch"))],
    [
      "sends it elsewhere",
      "refused 307",
      () => new Response(null, { status: 307, headers: { location: "https://x.test" } }),
    ],
    ["is a network that says yes and stores nothing", "missing", () => new Response("<h1>Welcome</h1>")],
    [
      "is asked to come back in a day",
      "refused 503",
      () => new Response(null, { status: 503, headers: { "retry-after": "86400" } }),
    ],
  ];
  test.each(refusing)(
    "goes on through the proxy where the bucket %s, and says so once: %s",
    async (_, reason, bucket) => {
      const world = open({ bucket });
      await world.upload();
      expectWhole(world);
      const [first, sign, put, ...rest] = world.log;
      expect([first, sign, put]).toEqual([`POST ${PART}`, "sign", `bucket ${PART}`]);
      expect(rest.filter((kind) => kind !== "stored")).toEqual([`PATCH ${PART}`, "PATCH 5"]);
      expect(world.reasons).toEqual([reason]);
      expectWarning(world);
    },
  );

  test("tells the proxy of the reason again where the request that had it is lost", async () => {
    const lost = () => Promise.reject(new TypeError("fetch failed"));
    const world = open({
      bucket: () => new Response(null, { status: 403 }),
      proxy: (kind, nth) => (kind === "PATCH" && nth === 1 ? lost() : undefined),
    });
    await world.upload();
    expectWhole(world);
    expect(world.reasons).toEqual(["refused 403", "refused 403"]);
    expectWarning(world);
  });

  test("sends the parts through it where another instance of the proxy signs none", async () => {
    const world = open({ proxy: (kind) => (kind === "sign" ? refused(400, "no_direct_parts") : undefined) });
    expect((await world.upload()).url).toBe("https://app.test/v1/media/file-1");
    expect(world.log).toEqual([`POST ${PART}`, "sign", `PATCH ${PART}`, "PATCH 5"]);
    expectWhole(world);
    expect(world.reasons).toEqual(["unsigned"]);
    expectWarning(world);
  });

  test("goes on through the proxy where the bucket says nothing for five minutes", async () => {
    let isAsked = () => {};
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    const world = open({
      bucket() {
        isAsked();
        return new Promise(() => {});
      },
    });
    const upload = uploadMedia(world.client, film());
    upload.catch(() => {});
    // no time passes before: a request of the proxy would seem to take long
    await asked;
    await world.clock.advance(300_000);
    await world.clock.advanceUntil(upload, 1000);
    expectWhole(world);
    expect(world.log).toEqual([`POST ${PART}`, "sign", `bucket ${PART}`, `PATCH ${PART}`, "PATCH 5"]);
    expect(world.reasons).toEqual(["unreachable"]);
    expectWarning(world);
  });

  test.each([undefined, 7, "javascript:alert(1)", "https://", "/part"])(
    "goes on through the proxy where the address is %s",
    async (partURL) => {
      const state = { id: "file-1", bytes: SIZE, offset: PART, direct: true, partURL };
      const world = open({ proxy: (kind) => (kind === "sign" ? Response.json(state) : undefined) });
      await world.upload();
      expect(world.log).toEqual([`POST ${PART}`, "sign", `PATCH ${PART}`, "PATCH 5"]);
      expect(world.reasons).toEqual(["unsigned"]);
      expectWarning(world);
    },
  );

  test("looks up how far it is where an answer of the proxy is lost, and sends no part twice", async () => {
    const lost = () => Promise.reject(new TypeError("fetch failed"));
    const signing = open({ proxy: (kind, nth) => (kind === "sign" && nth === 1 ? lost() : undefined) });
    await signing.upload();
    expect(signing.log).toEqual([`POST ${PART}`, "sign", "GET", ...viaBucket]);
    const noting = open({ proxy: (kind, nth) => (kind === "stored" && nth === 1 ? lost() : undefined) });
    await noting.upload();
    expectWhole(noting);
    expect(noting.log.filter((kind) => kind.startsWith("POST"))).toHaveLength(1);
    expect(noting.log).toContain("GET");
  });

  test("ends with a 404, a 400, or an offset that never moves, within its bytes", async () => {
    const answers = [
      () => refused(404, "not_found"),
      () => refused(400, "invalid_request"),
      () => Response.json({ id: "file-1", bytes: SIZE, offset: PART, direct: true }),
      () => new Response("<h1>Sign in</h1>", { headers: { "content-type": "text/html" } }),
    ];
    for (const answer of answers) {
      const world = open({ proxy: (kind) => (kind === "stored" ? answer() : undefined) });
      const error = await rejectionOf(world.upload());
      expect((error as Error).message).not.toContain("one request too many");
      const sent = world.log.map((line) => Number(/\d+$/.exec(line)?.[0] ?? 0));
      expect(sent.reduce((all, size) => all + size, 0)).toBeLessThanOrEqual(3 * SIZE + 2 * PART);
    }
  });

  test("ends with the reason of its caller while the bucket stores a part, and the next call goes on there", async () => {
    const stop = new AbortController();
    const world = open({
      bucket(nth, { signal }) {
        if (nth > 1) return undefined;
        stop.abort(new Error("the page is left"));
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    });
    const file = film();
    expect(await rejectionOf(world.upload(file, stop.signal))).toMatchObject({ message: "the page is left" });
    await world.upload(file);
    expectWhole(world);
    expect(world.log).toEqual([`POST ${PART}`, "sign", `bucket ${PART}`, "GET", ...viaBucket]);
  });
});
