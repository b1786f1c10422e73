import { type Clock, parseVideoTask, type VideoTask } from "@sluice/core";
import { isRecord } from "@sluice/core/extend";
import { models } from "@sluice/core/schemas";
import type { Exchange, Probe, Sender } from "./send.js";

/** An image or a video that the doctor has ordered. */
export interface MediaRun {
  readonly model: string;
  readonly kind: "image" | "video";
  readonly created: Exchange;
  /** Response that refused an image without a size. */
  readonly refused: Exchange | undefined;
  /** Queries of a video task, in order. */
  readonly queries: readonly Exchange[];
  /** Status of the result's URL, fetched without a key. Undefined without a URL. */
  readonly fileStatus: number | undefined;
}

const POLL_MS = 15_000;
const FIRST_POLL_MS = 3000;
const DEADLINE_MS = 30 * 60_000;
/** Maximum number of queries that see a success without a URL (wire, 3.7). */
const MAX_PENDING = 3;
/** Time limit of an image, or of the request that creates a video task. It is long, because an abort does not cancel the charge. */
const CREATE_MS = 10 * 60_000;
const PROMPT = "A calm sea at dawn.";

type MediaRequest = Readonly<Record<string, unknown>> & { readonly model: string };

/** Returns the kind of a model. Undefined for an unknown model, and for one that the doctor cannot order by its id. */
export function findKind(model: string): (typeof KINDS)[number] | undefined {
  const row = Object.values(models).find(({ id }) => id === model);
  return KINDS.find((kind) => kind === row?.kind);
}

const KINDS = ["chat", "image", "video"] as const;

/** Creates the cheapest request for a model: one image, or the shortest and smallest video. */
export function draftMedia(model: string): MediaRequest {
  const row = Object.values(models).find(({ id }) => id === model);
  if (row?.kind !== "video") return { model, prompt: PROMPT };
  const { min } = row.duration;
  if (row.family === "beta")
    return { model, input: { prompt: PROMPT }, parameters: { resolution: "480P", duration: min } };
  return { model, content: [{ type: "text", text: PROMPT }], resolution: "480p", duration: min };
}

/** Requests one image, and again with a size if a request without a size is refused. */
export async function runImage(
  sender: Sender,
  model: string,
  fetch: (request: Request) => Promise<Response>,
): Promise<MediaRun> {
  const body = draftMedia(model);
  const first = await sender.send(post("/v1/images/generations", body));
  const row = Object.values(models).find(({ id }) => id === model);
  const isRefused = first.status === 400 || first.status === 422;
  const created =
    isRefused && row?.kind === "image"
      ? await sender.send(post("/v1/images/generations", { ...body, size: row.sizes[0] }))
      : first;
  const [image] = readImages(created);
  return {
    model,
    kind: "image",
    created,
    refused: isRefused ? first : undefined,
    queries: [],
    fileStatus: await fetchFile(image?.["url"], fetch),
  };
}

/** Starts one video, and queries its task until the end, at most for 30 minutes. */
export async function runVideo(
  sender: Sender,
  model: string,
  {
    clock,
    signal,
    fetch,
    print,
  }: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly fetch: (request: Request) => Promise<Response>;
    /** Tells the user about a task that is paid for. */
    readonly print: (text: string) => void;
  },
): Promise<MediaRun> {
  const created = await sender.send(post("/v1/video/generations", draftMedia(model)));
  const queries: Exchange[] = [];
  const id = isRecord(created.json) ? (created.json["id"] ?? created.json["task_id"]) : undefined;
  let task: VideoTask | undefined;
  const deadline = clock.now() + DEADLINE_MS;
  if (created.status === 200 && typeof id === "string") print(`The video task of ${model} is ${id}.`);
  while (created.status === 200 && typeof id === "string" && clock.now() < deadline && !isEnded()) {
    await clock.sleep(queries.length === 0 ? FIRST_POLL_MS : POLL_MS, signal);
    const path = `/v1/video/generations/${encodeURIComponent(id)}`;
    const query = await sender.send({ method: "GET", path, key: "own" });
    queries.push(query);
    task = readTask(query, model);
  }
  const url = task?.state === "succeeded" ? task.url : undefined;
  return {
    model,
    kind: "video",
    created,
    refused: undefined,
    queries,
    fileStatus: await fetchFile(url, fetch),
  };

  function isEnded(): boolean {
    if (task?.state === "succeeded" || task?.state === "failed") return true;
    const pending = queries.filter((query) => readTask(query, model)?.state === "result-pending");
    return pending.length > MAX_PENDING;
  }
}

/** Reads the response to a query as the client does. Undefined if the client cannot read it. */
export function readTask({ status, json }: Exchange, model: string): VideoTask | undefined {
  if (status !== 200) return undefined;
  try {
    return parseVideoTask(json, { model });
  } catch {
    return undefined;
  }
}

/** Returns the entries of an image response. */
export function readImages({ json }: Exchange): readonly Readonly<Record<string, unknown>>[] {
  return isRecord(json) && Array.isArray(json["data"]) ? json["data"].filter(isRecord) : [];
}

function post(path: string, body: object): Probe {
  return { method: "POST", path, key: "own", body, limitMs: CREATE_MS };
}

/** Fetches the first byte of a file without a key. Returns the status, or 0 without a response. */
async function fetchFile(
  url: unknown,
  fetch: (request: Request) => Promise<Response>,
): Promise<number | undefined> {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  try {
    const response = await fetch(new Request(url, { headers: { range: "bytes=0-0" } }));
    await response.body?.cancel();
    return response.status;
  } catch {
    return 0;
  }
}
