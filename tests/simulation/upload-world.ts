import { createClient, isGatewayError, memoryStorage } from "@sluice/core";
import { uploadMedia } from "@sluice/core/media";
import { stoppedClock } from "../../packages/core/test/support/gateway.js";
import { between, type Random, randomOf, weighted } from "./random.js";

/** Size of a part. */
const PART = 8_388_608;
const SIZE = 2 * PART + 4096;
/** Requests of one call after which it counts as endless. */
const ENDLESS = 200;
/** Clock of one call, in milliseconds: five waits of 30 s, and ten minutes for each part that is silent. */
const CALL_MS = 60 * 60_000;

const content = Uint8Array.from({ length: SIZE }, (_, at) => (at * 31 + (at >> 13)) & 255);
const name = { lastModified: 1_790_000_000_000, type: "video/mp4" };

/** Faults of a request, with their weights. `answer lost` and `forgets` make the proxy store bytes that no page knows. */
const faults = {
  none: 60,
  "request lost": 6,
  "answer lost": 6,
  "not found": 4,
  nonsense: 4,
  busy: 5,
  "asks for a day": 2,
  silent: 1,
  forgets: 2,
  "takes nothing": 3,
  "stands elsewhere": 2,
} as const;
type Fault = keyof typeof faults;

/**
 * Proxies that are ill for ever. `forgetful`: the file is gone after each start. `still`: nothing is stored after it.
 * `creeping`: each part stores one byte. `swaying`: parts are lost, and there when they are looked up.
 */
const illnesses = { none: 70, forgetful: 8, still: 7, creeping: 8, swaying: 7 } as const;
type Illness = keyof typeof illnesses;

interface Stored {
  readonly parts: Uint8Array[];
  offset: number;
}

/** One world: a browser with a storage, a user who uploads a file, leaves and comes back, and a proxy with faults. */
export async function simulateUploads(
  seed: number,
): Promise<{ readonly trace: string[]; readonly failure?: string }> {
  const random = randomOf(seed, "user");
  const trace: string[] = [];
  const illness = weighted(random, illnesses);
  const proxy = createProxy(seed, illness, trace);
  const clock = stoppedClock();
  const storage = memoryStorage();
  try {
    for (let visit = 1; visit <= 4; visit += 1) {
      const isLast = visit === 4;
      if (isLast) proxy.heal();
      const result = await visitPage(isLast);
      trace.push(`visit ${visit}: ${result}`);
      if (isLast && illness === "none" && result !== "stored")
        throw new Error(`the proxy is well, and the upload ends: ${result}`);
    }
    proxy.assertStoredOnce();
    return { trace };
  } catch (error) {
    return { trace, failure: `${error}` };
  }

  /** A page with a new client and the file picked again: uploads, and may leave in the middle. */
  async function visitPage(stays: boolean): Promise<string> {
    const client = createClient({
      baseURL: "https://app.test",
      fetch: proxy.fetch,
      clock,
      random: randomOf(seed, "jitter"),
      onEvent() {},
    });
    const leave = new AbortController();
    const leavesAt = stays || random() < 0.4 ? Number.POSITIVE_INFINITY : between(random, 1, 6);
    const file = new File([content], "clip.mp4", name);
    const tabs = stays || random() < 0.8 ? 1 : 2;
    const startedAt = clock.now();
    proxy.beginCalls(tabs, (nth) => {
      if (nth >= leavesAt) leave.abort(new Error("left"));
      return leave.signal.aborted;
    });
    const calls = Array.from({ length: tabs }, () =>
      uploadMedia(client, file, { storage, signal: leave.signal, onProgress: assertProgress }),
    );
    const settled = await clock.advanceUntil(Promise.allSettled(calls), 4000);
    proxy.assertAffordable(tabs);
    if (clock.now() - startedAt > CALL_MS * tabs) throw new Error("a call takes more than an hour");
    return settled.map(outcomeOf).find((outcome) => outcome !== "stored") ?? "stored";
  }

  function outcomeOf(result: PromiseSettledResult<{ readonly id: string }>): string {
    if (result.status === "fulfilled") {
      proxy.assertWhole(result.value.id);
      return "stored";
    }
    const { reason } = result;
    if (isGatewayError(reason) && reason.outcome !== "not-sent")
      throw new Error(`the outcome is ${reason.outcome}`);
    return (reason as Error).message;
  }
}

function assertProgress({
  loadedBytes,
  totalBytes,
}: {
  readonly loadedBytes: number;
  readonly totalBytes: number;
}) {
  if (!(loadedBytes >= 0 && loadedBytes <= totalBytes)) throw new Error(`progress of ${loadedBytes} bytes`);
}

/** The proxy and the network before it. It counts the bytes that a page sends as money. */
function createProxy(seed: number, illness: Illness, trace: string[]) {
  const random: Random = randomOf(seed, "proxy");
  const files = new Map<string, Stored>();
  let isWell = false;
  let sentBytes = 0;
  let requests = 0;
  let begun = 0;
  let crept = 0;
  /** Number of events for which a page may store the file once more: it did not learn of its file, or was told that it is gone. */
  let reasons = 0;
  let leave: (nth: number) => boolean = () => false;
  return { fetch, heal, beginCalls, assertAffordable, assertWhole, assertStoredOnce };

  function heal(): void {
    isWell = true;
  }

  /** Begins the calls of one page. `leaveAt` returns true at the request at which the page is left. */
  function beginCalls(calls: number, leaveAt: (nth: number) => boolean): void {
    sentBytes = requests = 0;
    // two tabs may begin before one of them has kept its id
    reasons += calls - 1;
    leave = leaveAt;
  }

  async function fetch(request: Request): Promise<Response> {
    requests += 1;
    if (requests > ENDLESS) return refusal(403, "endless");
    const body = new Uint8Array(await request.arrayBuffer());
    sentBytes += body.length;
    const fault: Fault = isWell ? "none" : weighted(random, faults);
    trace.push(`${request.method} ${request.headers.get("upload-offset") ?? ""}+${body.length}: ${fault}`);
    if (leave(requests)) reasons += request.method === "POST" ? 1 : 0;
    return answerTo(request, body, fault);
  }

  function answerTo(request: Request, body: Uint8Array, fault: Fault): Response | Promise<Response> {
    const id = new URL(request.url).pathname.split("/")[3] ?? `file-${++begun}`;
    const offset = files.get(id)?.offset ?? 0;
    if (illness !== "none" && request.method !== "POST") return illAnswer(request, id);
    switch (fault) {
      case "request lost":
        return Promise.reject(new TypeError("fetch failed"));
      case "not found":
        reasons += 1;
        return refusal(404, "not_found");
      case "nonsense":
        return new Response("<h1>Sign in</h1>");
      case "busy":
        return refusal(503, "busy");
      case "asks for a day":
        return refusal(429, "busy", "86400");
      case "silent":
        return new Promise(() => {});
      case "takes nothing":
        return Response.json({ id, offset });
      case "stands elsewhere":
        return Response.json({ id, offset: between(random, -1, SIZE + 1) });
      case "forgets":
        reasons += 1;
        files.delete(id);
        return refusal(404, "not_found");
      default: {
        const answer = store(request, id, body);
        if (fault === "none") return answer;
        reasons += request.method === "POST" ? 1 : 0;
        return Promise.reject(new TypeError("fetch failed"));
      }
    }
  }

  function illAnswer({ method }: Request, id: string): Response {
    reasons += 1;
    if (illness === "forgetful") files.delete(id);
    if (illness === "forgetful") return refusal(404, "not_found");
    if (illness === "creeping")
      return Response.json({ id, offset: PART + (method === "GET" ? crept : ++crept) });
    return Response.json({ id, offset: illness === "swaying" && method === "PATCH" ? 0 : PART });
  }

  function store(request: Request, id: string, body: Uint8Array): Response {
    const known = files.get(id);
    if (request.method !== "POST" && !known) return refusal(404, "not_found");
    const file = known ?? { parts: [], offset: 0 };
    if (request.method !== "GET") {
      if (Number(request.headers.get("upload-offset") ?? 0) !== file.offset)
        return refusal(409, "upload_offset");
      files.set(id, file);
      file.parts.push(body);
      file.offset += body.length;
    }
    const link = file.offset === SIZE && { url: `https://app.test/v1/media/${id}` };
    return Response.json({ id, offset: file.offset, expiresAt: Date.now() + 86_400_000, ...link });
  }

  function assertAffordable(calls: number): void {
    if (requests > ENDLESS) throw new Error("a call does not end");
    const most = calls * (3 * SIZE + PART);
    if (sentBytes > most) throw new Error(`${sentBytes} bytes were sent, and ${most} may be`);
  }

  function assertWhole(id: string): void {
    const { parts, offset } = files.get(id) ?? { parts: [], offset: 0 };
    if (offset !== SIZE || Buffer.compare(Buffer.concat(parts), content) !== 0)
      throw new Error(`${id} is not the file: ${offset} bytes`);
  }

  function assertStoredOnce(): void {
    if (files.size > 1 + reasons) throw new Error(`${files.size} files, and ${reasons} with a reason`);
  }
}

function refusal(status: number, code: string, retryAfter?: string): Response {
  const headers = retryAfter === undefined ? {} : { "retry-after": retryAfter };
  return Response.json({ error: { message: code, code } }, { status, headers });
}
