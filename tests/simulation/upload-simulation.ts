import { createClient, isGatewayError } from "@sluice/core";
import { uploadMedia } from "@sluice/media";
import { memoryStorage } from "@sluice/stores";
import { stoppedClock } from "../../packages/core/test/support/gateway.js";
import { createRandom, pickBetween, pickNth, pickWeighted, type Random } from "./random.js";

/** Size of a part. */
const PART = 8_388_608;
const SIZE = 2 * PART + 4096;
/** Requests of one call after which it counts as endless. */
const ENDLESS = 200;
/** Clock of one call, in milliseconds: five waits of 30 s, and ten minutes for each part that is silent. */
const CALL_MS = 60 * 60_000;

/** The file, and two others of the same name, size and date. */
const content = Uint8Array.from({ length: SIZE }, (_, at) => (at * 31 + (at >> 13)) & 255);
const contents = [content, content.with(0, 1), content.with(SIZE - 1, 1)] as const;
/** Offsets that no state of the file has. */
const OUTSIDE = [-1, 0.5, SIZE + 1, SIZE + PART, Number.MAX_SAFE_INTEGER];
const name = { lastModified: 1_790_000_000_000, type: "video/mp4" };

/**
 * Faults of a request, with their weights. After `response lost` and `forgets`, the proxy stores bytes that no page
 * knows.
 */
const faults = {
  none: 60,
  "request lost": 6,
  "response lost": 6,
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

/**
 * One simulation: a browser with a storage, a user who uploads a file, leaves and comes back, sometimes with another file of
 * the same name, and a proxy with faults.
 */
export async function simulateUploads(
  seed: number,
): Promise<{ readonly trace: string[]; readonly failure?: string }> {
  const random = createRandom(seed, "user");
  const randomFile = createRandom(seed, "files");
  const trace: string[] = [];
  const illness = pickWeighted(random, illnesses);
  const proxy = createProxy(seed, illness, trace);
  const clock = stoppedClock();
  const storage = memoryStorage();
  const picked = new Set<Uint8Array>();
  try {
    for (let visit = 1; visit <= 4; visit += 1) {
      const isLast = visit === 4;
      if (isLast) proxy.heal();
      const result = await visitPage(isLast);
      trace.push(`visit ${visit}: ${result}`);
      if (isLast && illness === "none" && result !== "stored")
        throw new Error(`the proxy is well, and the upload ends: ${result}`);
    }
    proxy.assertStoredOnce(picked.size);
    return { trace };
  } catch (error) {
    return { trace, failure: `${error}` };
  }

  /** A page with a new client and the file picked again. It uploads, and may close during the upload. */
  async function visitPage(stays: boolean): Promise<string> {
    const client = createClient({
      baseURL: "https://app.test",
      fetch: proxy.fetch,
      clock,
      random: createRandom(seed, "jitter"),
      onEvent() {},
    });
    const leave = new AbortController();
    const leavesAt = stays || random() < 0.4 ? Number.POSITIVE_INFINITY : pickBetween(random, 1, 6);
    const bytes =
      randomFile() < 0.7 ? content : (pickNth(contents, pickBetween(randomFile, 0, 2)) ?? content);
    const file = new File([bytes], "clip.mp4", name);
    picked.add(bytes);
    const tabs = stays || random() < 0.8 ? 1 : 2;
    const startedAt = clock.now();
    proxy.beginCalls(tabs, (nth) => {
      if (nth >= leavesAt) leave.abort(new Error("left"));
      return leave.signal.aborted;
    });
    const calls = Array.from({ length: tabs }, () =>
      uploadMedia(client, file, { storage, signal: leave.signal, onProgress: proxy.noteProgress }),
    );
    const settled = await clock.advanceUntil(Promise.allSettled(calls), 4000);
    proxy.assertInside();
    proxy.assertAffordable(tabs);
    if (clock.now() - startedAt > CALL_MS * tabs) throw new Error("a call takes more than an hour");
    return settled.map((each) => getOutcome(each, bytes)).find((outcome) => outcome !== "stored") ?? "stored";
  }

  function getOutcome(result: PromiseSettledResult<{ readonly id: string }>, bytes: Uint8Array): string {
    if (result.status === "fulfilled") {
      proxy.assertWhole(result.value.id, bytes);
      return "stored";
    }
    const { reason } = result;
    if (isGatewayError(reason) && reason.billing !== "none")
      throw new Error(`the outcome is ${reason.billing}`);
    return (reason as Error).message;
  }
}

/**
 * Runs the seeds from `first` on.
 *
 * @param isEnough returns true to stop after a failing seed. @default stops never
 */
export async function searchUploads(first: number, count: number, isEnough: () => boolean = () => false) {
  const counts = new Map<string, number>();
  const failing: { readonly seed: number; readonly failure: string; readonly trace: readonly string[] }[] =
    [];
  let simulations = 0;
  for (let seed = first; seed < first + count; seed += 1) {
    const { failure, trace } = await simulateUploads(seed);
    simulations += 1;
    for (const line of trace) {
      const [, fault] = /^[A-Z]+ .*: (.*)$/.exec(line) ?? [];
      if (fault !== undefined) counts.set(fault, (counts.get(fault) ?? 0) + 1);
    }
    if (failure === undefined) continue;
    failing.push({ seed, failure, trace });
    if (isEnough()) break;
  }
  return { simulations, counts, failing };
}

/** The proxy and the network before it. It counts the bytes that a page sends as money. */
function createProxy(seed: number, illness: Illness, trace: string[]) {
  const random: Random = createRandom(seed, "proxy");
  const files = new Map<string, Stored>();
  let isWell = false;
  let sentBytes = 0;
  let requests = 0;
  let begun = 0;
  let crept = 0;
  /** Maximum number of stored bytes in any response so far. */
  let reported = 0;
  let broken: string | undefined;
  /**
   * Number of events after which a page may store the file once more: it did not learn about its file, or the file was
   * gone.
   */
  let reasons = 0;
  let leave: (nth: number) => boolean = () => false;
  return {
    fetch,
    heal,
    beginCalls,
    noteProgress,
    assertInside,
    assertAffordable,
    assertWhole,
    assertStoredOnce,
  };

  function heal(): void {
    isWell = true;
  }

  /** Begins the calls of one page. `leaveAt` returns true at the request at which the page is left. */
  function beginCalls(calls: number, leaveAt: (nth: number) => boolean): void {
    sentBytes = requests = 0;
    // two tabs may begin before one of them has stored its id
    reasons += calls - 1;
    leave = leaveAt;
  }

  async function fetch(request: Request): Promise<Response> {
    requests += 1;
    if (requests > ENDLESS) return createRefusal(403, "endless");
    const body = new Uint8Array(await request.arrayBuffer());
    sentBytes += body.length;
    const fault: Fault = isWell ? "none" : pickWeighted(random, faults);
    trace.push(`${request.method} ${request.headers.get("upload-offset") ?? ""}+${body.length}: ${fault}`);
    if (leave(requests)) reasons += request.method === "POST" ? 1 : 0;
    noteRange(request, body.length);
    const response = await respondTo(request, body, fault);
    const { offset = 0 } = (response.ok ? await response.clone().json().catch(Object) : {}) as {
      offset?: number;
    };
    if (!OUTSIDE.includes(offset)) reported = Math.max(reported, offset);
    return response;
  }

  /** Notes the bytes that the page shows as stored. */
  function noteProgress({ loadedBytes }: { readonly loadedBytes: number }): void {
    if (!(loadedBytes >= 0 && loadedBytes <= reported))
      broken ??= `${loadedBytes} bytes are shown as stored, and the proxy has reported ${reported}`;
  }

  function noteRange({ method, headers }: Request, length: number): void {
    const from = Number(headers.get("upload-offset") ?? 0);
    const isInside = Number.isInteger(from) && from >= 0 && from + length <= SIZE;
    // an empty part requests the link of a complete file
    if (!isInside || (method !== "GET" && length === 0 && from < SIZE))
      broken ??= `${length} bytes were sent at ${from}, of a file of ${SIZE}`;
  }

  function assertInside(): void {
    if (broken !== undefined) throw new Error(broken);
  }

  function respondTo(request: Request, body: Uint8Array, fault: Fault): Response | Promise<Response> {
    const id = new URL(request.url).pathname.split("/")[3] ?? `file-${++begun}`;
    const offset = files.get(id)?.offset ?? 0;
    if (illness !== "none" && request.method !== "POST") return createFaultyResponse(request, id);
    switch (fault) {
      case "request lost":
        return Promise.reject(new TypeError("fetch failed"));
      case "not found":
        reasons += 1;
        return createRefusal(404, "not_found");
      case "nonsense":
        return new Response("<h1>Sign in</h1>");
      case "busy":
        return createRefusal(503, "busy");
      case "asks for a day":
        return createRefusal(429, "busy", "86400");
      case "silent":
        return new Promise(() => {});
      case "takes nothing":
        return Response.json({ id, offset });
      case "stands elsewhere":
        return Response.json({
          id,
          offset: random() < 0.5 ? pickNth(OUTSIDE, pickBetween(random, 0, 4)) : pickBetween(random, 0, SIZE),
        });
      case "forgets":
        reasons += 1;
        files.delete(id);
        return createRefusal(404, "not_found");
      default: {
        const response = store(request, id, body);
        if (fault === "none") return response;
        reasons += request.method === "POST" ? 1 : 0;
        return Promise.reject(new TypeError("fetch failed"));
      }
    }
  }

  function createFaultyResponse({ method }: Request, id: string): Response {
    reasons += 1;
    if (illness === "forgetful") files.delete(id);
    if (illness === "forgetful") return createRefusal(404, "not_found");
    if (illness === "creeping")
      return Response.json({ id, offset: PART + (method === "GET" ? crept : ++crept) });
    return Response.json({ id, offset: illness === "swaying" && method === "PATCH" ? 0 : PART });
  }

  function store(request: Request, id: string, body: Uint8Array): Response {
    const known = files.get(id);
    if (request.method !== "POST" && !known) return createRefusal(404, "not_found");
    const file = known ?? { parts: [], offset: 0 };
    if (request.method !== "GET") {
      if (Number(request.headers.get("upload-offset") ?? 0) !== file.offset)
        return createRefusal(409, "upload_offset");
      files.set(id, file);
      file.parts.push(body);
      file.offset += body.length;
    }
    const link = file.offset === SIZE && { url: `https://app.test/v1/media/${id}` };
    return Response.json({ id, offset: file.offset, expiresAt: Date.now() + 86_400_000, ...link });
  }

  function assertAffordable(calls: number): void {
    if (requests > ENDLESS) throw new Error("a call does not end");
    const maxBytes = calls * (3 * SIZE + PART);
    if (sentBytes > maxBytes) throw new Error(`${sentBytes} bytes were sent, and ${maxBytes} may be`);
  }

  function assertWhole(id: string, bytes: Uint8Array): void {
    const { parts, offset } = files.get(id) ?? { parts: [], offset: 0 };
    if (offset !== SIZE || Buffer.compare(Buffer.concat(parts), bytes) !== 0)
      throw new Error(`${id} is not the file: ${offset} bytes`);
  }

  function assertStoredOnce(picked: number): void {
    if (files.size > picked + reasons)
      throw new Error(`${files.size} files are stored of ${picked}, and ${reasons} with a reason`);
  }
}

function createRefusal(status: number, code: string, retryAfter?: string): Response {
  const headers = retryAfter === undefined ? {} : { "retry-after": retryAfter };
  return Response.json({ error: { message: code, code } }, { status, headers });
}
